-- The list of changes. Every function that changes something for an operator or an owner calls one of the pb.record_*
-- functions below in its transaction, so that neither exists without the other:
--
--   pb.record_operator_act    an operator, including an attempt that changed nothing
--   pb.record_own_change      a management key or a person in the console, for the wallet of the transaction
--   pb.record_person_change   a person, for an account
--   pb.record_system_change   an automatic change, such as a webhook that is disabled because it fails
--
-- They write through pb.record_change, which no role but the owner can call.

-- Actions and views of operators.
create or replace view pb.audit_log as
  select c.number, c.id, c.at, c.operator, c.act, c.subject, c.account_id, c.wallet_id, c.reason, c.outcome, c.before, c.after
  from pb.changes c where c.operator is not null;

-- sha256(salt || before || ' ' || after). The salt prevents erased values from being found by trial.
create or replace function pb.values_digest(p_salt bytea, p_before jsonb, p_after jsonb) returns bytea
language sql immutable set search_path = pg_catalog, pg_temp
begin atomic
  select sha256(
    p_salt || convert_to(concat_ws(' ', pb.line_text(p_before::text), pb.line_text(p_after::text)), 'UTF8')
  );
end;

-- A key or a signing secret can be part of a text that a person entered.
create or replace function pb.without_secrets(p_values jsonb) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp
begin atomic
  select regexp_replace(p_values::text, '(pb_(live|test|mgmt)_|whsec_)[\w+/]{16,}', '\1...', 'g')::jsonb;
end;

-- Returns the members of p_values that are missing or different in p_others, or NULL.
create or replace function pb.differing(p_values jsonb, p_others jsonb) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_object_agg(v.key, v.value) from jsonb_each(p_values) v
  where v.value is distinct from p_others -> v.key and v.value <> 'null';
end;

-- Writes one row, with the values that differ. An attempt without effect is for operators only.
create or replace function pb.record_change(
  p_actor text, p_operator text, p_actor_id uuid, p_act text, p_subject text, p_account uuid, p_wallet uuid,
  p_reason text, p_outcome text, p_before jsonb, p_after jsonb, has_effect boolean
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_account uuid := coalesce(p_account, (select w.account_id from pb.wallets w where w.id = p_wallet));
  v_before jsonb := pb.without_secrets(pb.differing(p_before, p_after));
  v_after jsonb := pb.without_secrets(pb.differing(p_after, p_before));
  v_salt bytea := case when v_before is not null or v_after is not null then uuid_send(gen_random_uuid()) end;
begin
  insert into pb.changes (
    actor, operator, actor_id, act, subject, account_id, wallet_id, reason, outcome, before, after, salt, values_digest,
    visibility
  )
  select p_actor, p_operator, p_actor_id, p_act, p_subject, v_account, p_wallet, p_reason, p_outcome, v_before, v_after,
    v_salt, pb.values_digest(v_salt, v_before, v_after),
    case when has_effect and v_account is not null then a.visibility else 'operator' end
  from (values (p_act)) given (act) left join pb.acts a on a.act = given.act;
end
$$;

create or replace function pb.record_operator_act(
  p_operator text, p_reason text, p_act text, p_subject text, p_wallet uuid default null, p_outcome text default 'done',
  p_before jsonb default null, p_after jsonb default null, p_account uuid default null
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.record_change(
    'operator', p_operator, null, p_act, p_subject, p_account, p_wallet, p_reason, p_outcome, p_before, p_after,
    p_outcome in ('done', 'refunded', 'revoked', 'booked', 'requested', 'rejected', 'deleted', 'closed')
  );
end
$$;

-- p_actor is a key of the wallet or a session. If a session ends between its authentication and the change, the change fails with
-- PB020.
create or replace function pb.record_own_change(
  p_actor uuid, p_act text, p_subject text, p_before jsonb default null, p_after jsonb default null
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  is_key boolean := exists (select from pb.keys k where k.id = p_actor and k.wallet_id = pb.own_wallet());
  v_actor uuid := case when is_key then p_actor else (select s.person_id from pb.sessions s where s.id = p_actor) end;
begin
  if v_actor is null then
    raise exception 'the session has ended' using errcode = 'PB020';
  end if;
  perform pb.record_change(
    case when is_key then 'key' else 'person' end, null, v_actor, p_act, p_subject, null, pb.own_wallet(), null, 'done',
    p_before, p_after, true
  );
end
$$;

create or replace function pb.record_person_change(
  p_person uuid, p_account uuid, p_act text, p_subject text, p_before jsonb default null, p_after jsonb default null,
  p_wallet uuid default null
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.record_change(
    'person', null, p_person, p_act, p_subject, p_account, p_wallet, null, 'done', p_before, p_after, true
  );
end
$$;

create or replace function pb.record_system_change(
  p_wallet uuid, p_act text, p_subject text, p_reason text, p_before jsonb default null, p_after jsonb default null
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.record_change(
    'system', null, null, p_act, p_subject, null, p_wallet, p_reason, 'done', p_before, p_after, true
  );
end
$$;

-- The address of a person whom the list of changes of the transaction's wallet names, as its owners see it. A person who has
-- left the account is still named.
create or replace function pb.name_person(p_person uuid) returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select p.email from pb.people p
  where p.id = p_person and exists (
    select from pb.changes c
    where (c.actor_id = p.id or c.subject = p.id::text) and c.visibility = 'owner'
      and c.account_id = (select w.account_id from pb.wallets w where w.id = pb.own_wallet())
      and (c.wallet_id is null or c.wallet_id = pb.own_wallet())
  );
end;

-- The owner changes the approval limit without a command.
create or replace function pb.record_approval_limit() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.record_operator_act(
    session_user, null, 'approval_limit.change', 'approval_limit',
    p_before => jsonb_build_object('limit', pb.usd(old.limit_micros)),
    p_after => jsonb_build_object('limit', pb.usd(new.limit_micros))
  );
  return null;
end
$$;

-- The only change of a row: values of a deleted account are erased.
create or replace function pb.guard_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'UPDATE' and to_jsonb(new) = to_jsonb(old) || '{"before": null, "after": null, "salt": null}'
    and exists (select from pb.accounts a where a.id = old.account_id and a.deleted_at is not null)
  then
    return new;
  end if;
  raise exception 'this table is append-only' using errcode = 'restrict_violation';
end
$$;
