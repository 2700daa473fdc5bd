-- Ends of a hold without a charge: pending -> released | expired. A final state never changes.

-- Ends pending searches without a charge and returns what they held: to the wallet, which first pays what it owes, to the
-- key budget for the periods the hold was counted in, to the end user's limit and to the run. A test search returns play
-- money to the latter three.
-- It also deletes the idempotency claim, so that a retry can run. Every search that ends here gets an outcome, which the
-- index searches_unpaid needs. The caller has locked the wallets; a search of another wallet is skipped. Returns the number
-- of searches that ended.
create or replace function pb.settle_unpaid(
  search_ids uuid[], wallet_ids uuid[], last_state pb.search_state, now_at timestamptz,
  held_until timestamptz default 'infinity'
) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  ended integer;
  debtors uuid[];
  test_runs uuid[];
  end_user_budgets uuid[];
  first_id uuid := (select id from unnest(search_ids) id order by id limit 1);
  last_id uuid := (select id from unnest(search_ids) id order by id desc limit 1);
begin
  with settled as (
    update pb.searches s
    set state = last_state, settled_at = now_at, outcome = coalesce(s.outcome, last_state::text)
    where s.id = any (search_ids) and s.id between first_id and last_id
      and coalesce((s.id, s.wallet_id) in (select * from unnest(search_ids, wallet_ids)), false)
      and s.state = 'pending' and s.expires_at <= held_until
    returning s.*
  ), wallet_back as (
    update pb.wallets w set held_micros = w.held_micros - back.micros
    from (select wallet_id, sum(price_micros)::bigint as micros from settled group by wallet_id) back
    where w.id = back.wallet_id
    returning w.id, w.owed_micros
  ), key_budget_back as (
    update pb.key_budgets b
    set total_spent_micros = b.total_spent_micros - back.total,
        day_spent_micros = b.day_spent_micros - back.of_day,
        month_spent_micros = b.month_spent_micros - back.of_month
    from (
      select s.key_budget_id as id,
        sum(p.micros)::bigint as total,
        coalesce(sum(p.micros) filter (where pb.utc_day(s.held_at) = k.day), 0)::bigint as of_day,
        coalesce(sum(p.micros) filter (where pb.utc_month(s.held_at) = k.month), 0)::bigint as of_month
      from settled s join pb.key_budgets k on k.id = s.key_budget_id
      cross join lateral (
        select case s.mode when 'test' then pb.price_micros() else s.price_micros end as micros
      ) p
      group by s.key_budget_id
    ) back
    where b.id = back.id
  ), run_back as (
    update pb.run_budgets r set spent_micros = r.spent_micros - back.micros
    from (
      select run_budget_id as id, sum(price_micros)::bigint as micros
      from settled where run_budget_id is not null and mode = 'live' group by run_budget_id
    ) back
    where r.id = back.id
  ), claims_freed as (
    delete from pb.idempotency c using settled s
    where c.wallet_id = s.wallet_id and c.mode = s.mode and c.key_hmac = s.idempotency_hmac
      and c.search_id = s.id
  )
  select count(*)::integer, (select array_agg(b.id) from wallet_back b where b.owed_micros > 0),
    array_agg(run_budget_id) filter (where run_budget_id is not null and mode = 'test'),
    array_agg(end_user_budget_id) filter (where end_user_budget_id is not null)
  into ended, debtors, test_runs, end_user_budgets from settled;
  if test_runs is not null then
    update pb.test_run_budgets r set spent_micros = r.spent_micros - back.micros
    from (select id, count(*) * pb.price_micros() as micros from unnest(test_runs) id group by id) back
    where r.id = back.id;
  end if;
  if end_user_budgets is not null then
    update pb.end_user_budgets e set spent_micros = e.spent_micros - back.micros
    from (select id, count(*) * pb.price_micros() as micros from unnest(end_user_budgets) id group by id) back
    where e.id = back.id;
  end if;
  if debtors is not null then
    perform pb.settle_debts(debtors);
  end if;
  return ended;
end
$$;

-- Releases the holds of searches that failed, and records why. skip_locked and lock_wait_ms: see pb.hold. The state of a
-- skipped search is 'busy'.
drop function if exists pb.release(uuid[], uuid[], text[]);
drop function if exists pb.release(uuid[], uuid[], text[], boolean, integer);
drop function if exists pb.release(uuid[], uuid[], text[], boolean, integer, integer);
create or replace function pb.release(
  search_ids uuid[], wallet_ids uuid[], outcomes text[] default null, skip_locked boolean default false,
  lock_wait_ms integer default null, expected_timeline text default null
)
returns table (item integer, state text, balance_micros bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  first_id uuid := (select id from unnest(search_ids) id order by id limit 1);
  last_id uuid := (select id from unnest(search_ids) id order by id desc limit 1);
  now_at timestamptz;
  busy_ids uuid[];
begin
  perform pb.require_timeline(expected_timeline);
  if lock_wait_ms is not null then
    perform set_config('lock_timeout', lock_wait_ms::text, true);
  end if;
  if skip_locked then
    busy_ids := pb.lock_free_wallets(wallet_ids);
    if cardinality(busy_ids) > 0 then
      return query
        select i.item::integer, 'busy', null::bigint
        from unnest(wallet_ids) with ordinality as i (wallet_id, item) where i.wallet_id = any (busy_ids);
      return query
        select free.items[r.item], r.state, r.balance_micros
        from (
          select array_agg(i.item::integer order by i.item) as items,
            array_agg(i.search_id order by i.item) as search_ids, array_agg(i.wallet_id order by i.item) as wallet_ids,
            array_agg(i.outcome order by i.item) as outcomes
          from unnest(search_ids, wallet_ids, outcomes) with ordinality as i (search_id, wallet_id, outcome, item)
          where i.wallet_id <> all (busy_ids)
        ) free, pb.release(free.search_ids, free.wallet_ids, free.outcomes) r
        where free.items is not null;
      return;
    end if;
  else
    perform pb.lock_wallets(wallet_ids);
  end if;
  now_at := clock_timestamp();
  -- Only for pending searches: the outcome of a search that has ended is final.
  if outcomes is not null then
    update pb.searches s
    set outcome = outcomes[array_position(search_ids, s.id)]
    where s.id = any (search_ids) and s.id between first_id and last_id
      and coalesce((s.id, s.wallet_id) in (select * from unnest(search_ids, wallet_ids)), false)
      and s.state = 'pending';
  end if;
  perform pb.settle_unpaid(search_ids, wallet_ids, 'released', now_at);
  return query select * from pb.search_states(search_ids, wallet_ids, now_at);
end
$$;
