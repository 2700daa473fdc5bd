-- The limits of keys, and shared budgets. Each change runs under the wallet lock.

-- The limits of a key after p_changes. p_limits and the result have total, day, month, end_user, end_user_period and shared (ids of
-- budgets); p_changes has budget, end_user_limit and budgets. A limit that is not in p_changes does not change; null removes it.
create or replace function pb.merge_key_limits(p_limits jsonb, p_changes jsonb) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp
return jsonb_strip_nulls(
  p_limits
  || case jsonb_typeof(p_changes -> 'budget')
    when 'object' then p_changes -> 'budget'
    when 'null' then '{"total": null, "day": null, "month": null}'
    else '{}' end
  || case when p_changes ? 'end_user_limit' then jsonb_build_object(
    'end_user', p_changes #> '{end_user_limit,amount}', 'end_user_period', p_changes #> '{end_user_limit,period}'
  ) else '{}' end
  || case when p_changes ? 'budgets' then jsonb_build_object('shared', nullif(p_changes -> 'budgets', '[]')) else '{}' end
);

-- The limits of a key, in the format of pb.merge_key_limits.
create or replace function pb.read_key_limits(p_id uuid) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (
    select coalesce(jsonb_object_agg(f.name, f.value), '{}') || jsonb_strip_nulls(jsonb_build_object('shared', (
      select jsonb_agg(s.budget_id order by s.position) from pb.key_limit_budgets s
      where s.limits_id = p_id and s.position > 4
    )))
    from pb.key_limit_budgets l
    cross join lateral (select * from pb.budgets g where g.id = l.budget_id offset 0) b
    cross join lateral (values
      (case when b.per_end_user then 'end_user' else coalesce(b.period, 'total') end, to_jsonb(b.amount_micros)),
      (case when b.per_end_user then 'end_user_period' end, to_jsonb(b.period))
    ) f (name, value)
    where l.limits_id = p_id and l.position <= 4 and f.name is not null
  );
end
$$;

-- Archives the budget at this position.
create or replace function pb.remove_budget(p_limits uuid, p_position integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  removed uuid;
begin
  delete from pb.key_limit_budgets l where l.limits_id = p_limits and l.position = p_position
  returning l.budget_id into removed;
  update pb.budgets b set archived_at = clock_timestamp() where b.id = removed;
end
$$;

-- Sets the amount of a budget. The open window gets it at once, plus the raise of `b` until that ends. next_alert_micros = 0 makes
-- pb.emit_budget_warnings compute the next warning, even if only the alerts have changed.
create or replace function pb.set_budget_amount(b pb.budgets, p_amount bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update pb.budgets f set amount_micros = p_amount where f.id = b.id;
  update pb.budget_windows w
  set limit_micros = p_amount + case when b.raise_ends_at > clock_timestamp() then b.raise_micros else 0 end,
    next_alert_micros = case
      when b.name is not null and b.mode = 'live' and (w.resets_at is null or w.resets_at > clock_timestamp()) then 0
    end
  where w.wallet_id = b.wallet_id and w.mode = b.mode and w.budget_id = b.id and w.subject = '' and not b.per_end_user;
end
$$;

-- Sets the budget at this position. A different period creates a new budget and archives the old one.
create or replace function pb.set_budget(
  p_wallet uuid, p_mode pb.key_mode, p_limits uuid, p_position integer, p_amount bigint, p_period text,
  p_per_end_user boolean
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  b pb.budgets;
begin
  select g.* into b
  from pb.key_limit_budgets l cross join lateral (select * from pb.budgets f where f.id = l.budget_id offset 0) g
  where l.limits_id = p_limits and l.position = p_position;
  if b.id is null or b.period is distinct from p_period then
    perform pb.remove_budget(p_limits, p_position);
    b.id := gen_random_uuid();
    insert into pb.budgets (id, wallet_id, mode, amount_micros, period, per_end_user)
    values (b.id, p_wallet, p_mode, p_amount, p_period, p_per_end_user);
    insert into pb.key_limit_budgets (limits_id, wallet_id, mode, budget_id, position)
    values (p_limits, p_wallet, p_mode, b.id, p_position);
  elsif b.amount_micros <> p_amount then
    perform pb.set_budget_amount(b, p_amount);
  end if;
end
$$;

-- Creates the limits of a key, or changes them for every key that shares them. Returns their id, or NULL without limits, so that
-- searches take the fast path again. p_limits: see pb.merge_key_limits. The caller has locked the wallet.
create or replace function pb.save_key_limits(p_wallet uuid, p_id uuid, p_mode pb.key_mode, p_limits jsonb) returns uuid
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  v_limits uuid := coalesce(p_id, gen_random_uuid());
  wanted record;
begin
  if p_id is null and p_limits = '{}' then
    return null;
  end if;
  insert into pb.key_limits (id, wallet_id, mode) values (v_limits, p_wallet, p_mode) on conflict do nothing;
  for wanted in
    select * from (values
      (1, 'total', null, false), (2, 'day', 'day', false), (3, 'month', 'month', false),
      (4, 'end_user', p_limits ->> 'end_user_period', true)
    ) f (position, name, period, per_end_user)
  loop
    if p_limits -> wanted.name is null then
      perform pb.remove_budget(v_limits, wanted.position);
    else
      perform pb.set_budget(
        p_wallet, p_mode, v_limits, wanted.position, (p_limits ->> wanted.name)::bigint, wanted.period, wanted.per_end_user
      );
    end if;
  end loop;
  delete from pb.key_limit_budgets l where l.limits_id = v_limits and l.position > 4;
  insert into pb.key_limit_budgets (limits_id, wallet_id, mode, budget_id, position)
  select v_limits, p_wallet, p_mode, shared.id::uuid, 4 + shared.number
  from jsonb_array_elements_text(p_limits -> 'shared') with ordinality shared (id, number);
  if p_limits = '{}' then
    update pb.keys k set limits_id = null where k.wallet_id = p_wallet and k.limits_id = p_id;
    delete from pb.key_limits l where l.id = v_limits;
    return null;
  end if;
  return v_limits;
end
$$;

-- Whether a key of this mode can name these budgets, a JSON array of ids.
create or replace function pb.are_own_budgets(p_mode pb.key_mode, p_budgets jsonb) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select not exists (
    select from jsonb_array_elements_text(case jsonb_typeof(p_budgets) when 'array' then p_budgets end) given (id)
    where not exists (
      select from pb.budgets b
      where b.id = given.id::uuid and b.wallet_id = pb.own_wallet() and b.mode = p_mode and b.name is not null
        and b.archived_at is null
    )
  );
end;

-- The settings of a shared budget for the list of changes.
create or replace function pb.budget_settings(b pb.budgets) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return jsonb_build_object(
    'name', b.name, 'mode', b.mode, 'amount', pb.usd(b.amount_micros), 'period', coalesce(b.period, 'total'),
    'per', case when b.per_end_user then 'end_user' else 'wallet' end, 'alerts', b.alerts,
    'external_id', b.external_id
  );
end
$$;

-- Whether another budget of the wallet has this external id. An archived budget no longer has it.
create or replace function pb.is_budget_id_taken(b pb.budgets) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select exists (
    select from pb.budgets f
    where f.wallet_id = pb.own_wallet() and f.mode = b.mode and f.external_id = b.external_id and f.archived_at is null
      and f.id is distinct from b.id
  );
end;

-- p_options: external_id, mode, name, amount_micros, period, per_end_user and alerts, which the server has validated. A wallet has at
-- most 1,000 shared budgets.
create or replace function pb.create_own_budget(p_actor uuid, new_id uuid, p_options jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
  b pb.budgets := jsonb_populate_record(null::pb.budgets, p_options);
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  refusal := pb.check_manager(p_actor);
  if refusal is not null then
    return refusal;
  elsif (
    select count(*) >= 1000 from pb.budgets f
    where f.wallet_id = pb.own_wallet() and f.name is not null and f.archived_at is null
  ) then
    return 'budget_limit_reached';
  elsif pb.is_budget_id_taken(b) then
    return 'external_id_taken';
  end if;
  insert into pb.budgets (id, wallet_id, mode, name, amount_micros, period, per_end_user, alerts, external_id)
  values (new_id, pb.own_wallet(), b.mode, b.name, b.amount_micros, b.period, b.per_end_user, b.alerts,
    b.external_id);
  perform pb.record_own_change(p_actor, 'budget.create', new_id::text, p_after => pb.budget_settings(b));
  return 'done';
end
$$;

-- p_changes: external_id, name, amount_micros, alerts; omitted fields do not change.
create or replace function pb.change_own_budget(p_actor uuid, p_budget uuid, p_changes jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
  b pb.budgets;
  changed pb.budgets;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  refusal := pb.check_manager(p_actor);
  if refusal is not null then
    return refusal;
  end if;
  select * into b from pb.budgets f where f.id = p_budget and f.wallet_id = pb.own_wallet() and f.name is not null;
  if not found or b.archived_at is not null then
    return 'not_found';
  end if;
  changed := jsonb_populate_record(b, p_changes);
  if b.per_end_user and cardinality(changed.alerts) > 0 then
    return 'alerts_per_end_user';
  elsif pb.is_budget_id_taken(changed) then
    return 'external_id_taken';
  end if;
  update pb.budgets f set name = changed.name, alerts = changed.alerts, external_id = changed.external_id
  where f.id = p_budget;
  perform pb.set_budget_amount(changed, changed.amount_micros);
  perform pb.record_own_change(
    p_actor, 'budget.change', p_budget::text, pb.budget_settings(b), pb.budget_settings(changed)
  );
  return 'done';
end
$$;

-- Archives a budget that no active key names. Archiving it again changes nothing.
create or replace function pb.archive_own_budget(p_actor uuid, p_budget uuid) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
  b pb.budgets;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  refusal := pb.check_manager(p_actor);
  if refusal is not null then
    return refusal;
  end if;
  select * into b from pb.budgets f where f.id = p_budget and f.wallet_id = pb.own_wallet() and f.name is not null;
  if not found then
    return 'not_found';
  elsif b.archived_at is not null then
    return 'done';
  elsif exists (
    select from pb.key_limit_budgets l
    join pb.keys k on k.wallet_id = l.wallet_id and k.limits_id = l.limits_id and k.revoked_at is null
    where l.budget_id = p_budget
  ) then
    return 'budget_in_use';
  end if;
  -- Those of revoked keys.
  delete from pb.key_limit_budgets l where l.budget_id = p_budget;
  update pb.budgets f set archived_at = clock_timestamp() where f.id = p_budget;
  perform pb.record_own_change(p_actor, 'budget.archive', p_budget::text, pb.budget_settings(b));
  return 'done';
end
$$;
