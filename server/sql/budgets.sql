-- The limits of keys. Each change runs under the wallet lock.

-- The limits of a key, as total, day, month, end_user and end_user_period, after the budget and the end_user_limit of
-- p_changes are applied. A limit that is not in p_changes does not change; null removes one.
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
);

-- The limits of a key, in the format of pb.merge_key_limits.
create or replace function pb.read_key_limits(p_id uuid) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (
    select coalesce(jsonb_object_agg(f.name, f.value), '{}')
    from pb.key_limit_budgets l
    cross join lateral (select * from pb.budgets g where g.id = l.budget_id offset 0) b
    cross join lateral (values
      (case when b.per_end_user then 'end_user' else coalesce(b.period, 'total') end, to_jsonb(b.amount_micros)),
      (case when b.per_end_user then 'end_user_period' end, to_jsonb(b.period))
    ) f (name, value)
    where l.limits_id = p_id and f.name is not null
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

-- Sets the budget at this position. A new amount applies to the open window immediately. A different period is a different budget.
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
    update pb.budgets f set amount_micros = p_amount where f.id = b.id;
    update pb.budget_windows w set limit_micros = p_amount
    where w.wallet_id = p_wallet and w.mode = p_mode and w.budget_id = b.id and w.subject = '';
  end if;
end
$$;

-- Creates the limits of a key, or changes them for every key that shares them, and returns their id. Without limits it is NULL,
-- so that searches take the fast path again. p_limits: see pb.merge_key_limits. The caller has locked the wallet.
create or replace function pb.save_key_limits(p_wallet uuid, p_id uuid, p_mode pb.key_mode, p_limits jsonb) returns uuid
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  limits_id uuid := coalesce(p_id, gen_random_uuid());
  wanted record;
begin
  if p_id is null and p_limits = '{}' then
    return null;
  end if;
  insert into pb.key_limits (id, wallet_id, mode) values (limits_id, p_wallet, p_mode) on conflict do nothing;
  for wanted in
    select * from (values
      (1, 'total', null, false), (2, 'day', 'day', false), (3, 'month', 'month', false),
      (4, 'end_user', p_limits ->> 'end_user_period', true)
    ) f (position, name, period, per_end_user)
  loop
    if p_limits -> wanted.name is null then
      perform pb.remove_budget(limits_id, wanted.position);
    else
      perform pb.set_budget(
        p_wallet, p_mode, limits_id, wanted.position, (p_limits ->> wanted.name)::bigint, wanted.period, wanted.per_end_user
      );
    end if;
  end loop;
  if p_limits = '{}' then
    update pb.keys k set limits_id = null where k.wallet_id = p_wallet and k.limits_id = p_id;
    delete from pb.key_limits l where l.id = limits_id;
    return null;
  end if;
  return limits_id;
end
$$;
