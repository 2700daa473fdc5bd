-- Why: operators credit, refund, suspend and revoke without writing SQL, and every act of theirs leaves a line that
-- nobody takes back. `pennyblack_operator` reads all wallets and can act only through the functions below, each of
-- which writes its line in the transaction of the act: there is no act without a line.

create table pb.audit_log (
  id uuid primary key default gen_random_uuid(),
  number bigint generated always as identity unique,
  at timestamptz not null default clock_timestamp(),
  operator text not null check (length(operator) between 1 and 255),
  act text not null check (act in ('credit', 'top_up', 'refund', 'suspend', 'resume', 'revoke_key', 'create_wallet', 'delete_account', 'close_notice')),
  wallet_id uuid,
  target text not null check (length(target) between 1 and 255),
  reason text not null check (length(reason) between 1 and 500),
  outcome text not null,
  details jsonb not null default '{}'
);

create index audit_by_wallet on pb.audit_log (wallet_id, number desc);

create function pb.refuse_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'this table only grows' using errcode = 'restrict_violation';
end
$$;

create trigger audit_only_grows before update or delete on pb.audit_log
  for each row execute function pb.refuse_change();
create trigger audit_is_not_emptied before truncate on pb.audit_log
  for each statement execute function pb.refuse_change();

-- What the last reconciliations found, for whoever asks between two of them.
create table pb.reconciliations (
  at timestamptz primary key,
  differences bigint not null check (differences >= 0),
  checks jsonb not null
);

create function pb.note_act(
  the_operator text, the_act text, the_wallet uuid, the_target text, the_reason text, the_outcome text,
  the_details jsonb default '{}'
) returns void
language sql set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.audit_log (operator, act, wallet_id, target, reason, outcome, details)
  values (the_operator, the_act, the_wallet, the_target, the_reason, the_outcome, the_details);
end;

-- Money into a wallet, once per reference: an invoice that was paid some other way, or a gift of ours. The gate knows
-- wallet and amount; that an invoice is not a promotion only the table of manual credits knows.
create function pb.operator_credit(
  the_operator text, the_reason text, the_wallet uuid, the_amount bigint, the_kind text, the_reference text,
  the_transfer uuid
) returns table (outcome text, balance_micros bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  select t.outcome, t.balance_micros into outcome, balance_micros
  from pb.top_up(
    array['manual:' || the_reference], array[the_wallet], array[the_amount], array[the_transfer],
    case the_kind when 'invoice' then 'top_up' else 'credit' end::pb.transfer_kind
  ) t;
  if outcome = 'credited' then
    insert into pb.manual_credits (reference, wallet_id, kind, amount_micros, reason, operator)
    values (the_reference, the_wallet, the_kind, the_amount, the_reason, the_operator);
  elsif outcome = 'repeated' and not exists (
    select from pb.manual_credits m where m.reference = the_reference and m.kind = the_kind
  ) then
    outcome := 'conflicting';
  end if;
  if outcome <> 'unknown_wallet' then
    -- What was owed has been settled first.
    select w.credited_micros - w.debited_micros into balance_micros from pb.wallets w where w.id = the_wallet;
    perform pb.note_act(
      the_operator, 'credit', the_wallet, the_reference, the_reason, outcome,
      jsonb_build_object('amount_micros', the_amount, 'kind', the_kind)
    );
  end if;
  return next;
end
$$;

-- The price of a captured search, given back at most once. What a caller quotes is the Request-Id alone.
create function pb.operator_refund(the_operator text, the_reason text, the_search uuid, the_transfer uuid)
returns table (outcome text, balance_micros bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  the_wallet uuid := (select s.wallet_id from pb.searches s where s.id = the_search);
begin
  select r.outcome, r.balance_micros into outcome, balance_micros
  from pb.refund(array[the_search], array[the_wallet], array[the_transfer], array[the_reason]) r;
  perform pb.note_act(the_operator, 'refund', the_wallet, the_search::text, the_reason, outcome);
  return next;
end
$$;

create function pb.operator_suspend(the_operator text, the_reason text, the_wallet uuid, is_suspended boolean)
returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was_found boolean := pb.suspend_wallet(the_wallet, is_suspended);
begin
  if was_found then
    perform pb.note_act(
      the_operator, case when is_suspended then 'suspend' else 'resume' end, the_wallet, the_wallet::text, the_reason, 'done'
    );
  end if;
  return was_found;
end
$$;

-- 'revoked', 'repeated' or 'unknown_key'.
create function pb.operator_revoke_key(
  the_operator text, the_reason text, the_key uuid, the_cause text default 'operator'
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  the_wallet uuid := (select k.wallet_id from pb.keys k where k.id = the_key);
  outcome text;
begin
  if the_wallet is null then
    return 'unknown_key';
  end if;
  outcome := case when pb.revoke_key(the_wallet, the_key, the_cause) then 'revoked' else 'repeated' end;
  perform pb.note_act(the_operator, 'revoke_key', the_wallet, the_key::text, the_reason, outcome);
  return outcome;
end
$$;

revoke all on function
  pb.refuse_change, pb.note_act, pb.operator_credit, pb.operator_refund, pb.operator_suspend, pb.operator_revoke_key
  from public;

grant usage on schema pb to pennyblack_operator;
grant execute on function
  pb.operator_credit, pb.operator_refund, pb.operator_suspend, pb.operator_revoke_key, pb.applied_migrations
  to pennyblack_operator;
grant select (id, name, credited_micros, debited_micros, held_micros, suspended_at, created_at)
  on pb.wallets to pennyblack_operator;
grant select (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
  on pb.transfers to pennyblack_operator;
grant select (id, wallet_id, mode, name, start, scopes, expires_at, revoked_at, created_at)
  on pb.keys to pennyblack_operator;
grant select on pb.audit_log, pb.reconciliations to pennyblack_operator;

create policy every_wallet on pb.wallets for select to pennyblack_operator using (true);
create policy every_transfer on pb.transfers for select to pennyblack_operator using (true);
create policy every_key on pb.keys for select to pennyblack_operator using (true);

-- For margins: what upstreams cost and brought, and what the ledger says was charged.
grant select on pb.upstream_days to pennyblack_operator;
grant select (day, charged_micros) on pb.usage_days to pennyblack_operator;
create policy every_day on pb.usage_days for select to pennyblack_operator using (true);

-- Whose wallets they are.
grant select (account_id) on pb.wallets to pennyblack_operator;
grant select on pb.accounts, pb.people, pb.members to pennyblack_operator;
