-- Ends holds without a charge: pending -> released | expired. A final state never changes.

-- Ends pending searches without a charge. Returns their money to the wallet, which first pays its debt, and to the windows they
-- were counted in. A window that has been replaced has another id and does not change. A test search returns play money to its
-- windows.
-- It also deletes the idempotency claim, so that a retry can run. Every search that ends here gets an outcome, which the
-- index searches_unpaid needs. The caller has locked the wallets. A search of another wallet is skipped. Returns the number of
-- searches that ended.
--
-- Rows are found by "= any (array)" or by look-ups with OFFSET 0, as explained at pb.read_hold_facts.
create or replace function pb.settle_unpaid(
  search_ids uuid[], wallet_ids uuid[], last_state pb.search_state, now_at timestamptz,
  held_until timestamptz default 'infinity'
) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  ended integer;
  live_wallets uuid[];
  debtors uuid[];
  windows bigint[];
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
  ), claims_freed as (
    delete from pb.idempotency c using settled s
    cross join lateral (
      select f.ctid as place from pb.idempotency f
      where f.wallet_id = s.wallet_id and f.mode = s.mode and f.key_hmac = s.idempotency_hmac and f.search_id = s.id
      offset 0
    ) claim
    where c.ctid = claim.place
  )
  select count(*)::integer, array_agg(s.wallet_id) filter (where s.price_micros > 0),
    (select array_agg(w.id) from settled f cross join lateral unnest(f.window_ids) as w (id))
  into ended, live_wallets, windows from settled s;

  with wallet_back as (
    update pb.wallets w
    set held_micros = w.held_micros - cardinality(array_positions(live_wallets, w.id)) * pb.price_micros()
    where w.id = any (live_wallets)
    returning w.id, w.owed_micros
  )
  select array_agg(b.id) into debtors from wallet_back b where b.owed_micros > 0;
  if windows is not null then
    update pb.budget_windows w
    set spent_micros = w.spent_micros - cardinality(array_positions(windows, w.id)) * pb.price_micros()
    where w.id = any (windows);
  end if;
  if debtors is not null then
    perform pb.settle_debts(debtors);
  end if;
  return ended;
end
$$;

-- Releases the holds of searches that failed, and records the reason and the duration (`step_ms` and `p_upstreams`: see
-- pb.capture). skip_locked and lock_wait_ms: see pb.hold. The state of a skipped search is 'busy'.
create or replace function pb.release(
  search_ids uuid[], wallet_ids uuid[], outcomes text[] default null, skip_locked boolean default false,
  lock_wait_ms integer default null, expected_timeline text default null, step_ms smallint[] default null,
  p_upstreams text[] default null
)
returns table (item integer, state text, balance_micros bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  first_id uuid := (select id from unnest(search_ids) id order by id limit 1);
  last_id uuid := (select id from unnest(search_ids) id order by id desc limit 1);
  now_at timestamptz;
begin
  perform pb.require_timeline(expected_timeline),
    case when lock_wait_ms is not null then set_config('lock_timeout', lock_wait_ms::text, true) end;
  if skip_locked then
    wallet_ids := pb.skip_locked_wallets(wallet_ids);
  else
    perform from pb.wallets w where w.id = any (wallet_ids) order by w.id for no key update;
  end if;
  now_at := clock_timestamp();
  -- Only for pending searches, because the outcome of a search that has ended is final.
  if outcomes is not null then
    update pb.searches s
    set outcome = outcomes[array_position(search_ids, s.id)],
      (auth_ms, hold_ms, upstream_ms, rank_ms, upstreams) = (
        select step_ms[4 * i - 3], step_ms[4 * i - 2], step_ms[4 * i - 1], step_ms[4 * i], p_upstreams[i]
        from (select array_position(search_ids, s.id) as i offset 0) found
      )
    where s.id = any (search_ids) and s.id between first_id and last_id
      and coalesce((s.id, s.wallet_id) in (select * from unnest(search_ids, wallet_ids)), false)
      and s.state = 'pending';
  end if;
  perform pb.settle_unpaid(search_ids, wallet_ids, 'released', now_at);
  return query select * from pb.search_states(search_ids, wallet_ids, now_at);
end
$$;
