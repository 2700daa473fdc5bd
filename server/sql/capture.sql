-- pb.capture charges searches that succeeded: pending -> captured. The state, the ledger entry and the stored answer are
-- written in one transaction. An expired hold is never captured, even if the sweeper has not reached it yet.
--
-- Money moves only for the rows that the conditional update returned, so a capture that is sent twice charges once. The condition
-- "id = any (ids) and id between the first and the last" prunes partitions and looks up each id, whereas a join with the batch
-- would scan the range of ids. "in" is wrapped in coalesce because the planner would otherwise turn it into a join.
-- Claims are looked up one by one (OFFSET 0) and updated by ctid, because a join may scan all of them.

-- The state of each search after a capture or release, with the wallet's balance. 'busy': its wallet was skipped.
create or replace function pb.search_states(search_ids uuid[], wallet_ids uuid[], now_at timestamptz)
returns table (item integer, state text, balance_micros bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  first_id uuid := (select id from unnest(search_ids) id order by id limit 1);
  last_id uuid := (select id from unnest(search_ids) id order by id desc limit 1);
begin
  return query
    select i.item::integer,
      case
        when i.wallet_id is null then 'busy'
        when s.state is null then 'unknown'
        -- Overdue. It can no longer be captured, although the sweeper has not run yet.
        when s.state = 'pending' and s.expires_at <= now_at then 'expired'
        else s.state::text
      end,
      w.credited_micros - w.debited_micros
    from unnest(search_ids, wallet_ids) with ordinality as i (search_id, wallet_id, item)
    -- OFFSET 0 forces an index look-up per item.
    left join lateral (
      select f.state, f.expires_at from pb.searches f
      where f.id = i.search_id and f.id between first_id and last_id and f.wallet_id = i.wallet_id offset 0
    ) s on true
    left join lateral (select * from pb.wallets f where f.id = i.wallet_id offset 0) w on true;
end
$$;

-- Captures one search and stores its answer. Returns the balance, or NULL if the search was not captured.
create or replace function pb.capture_one(
  p_search uuid, p_wallet uuid, p_answer bytea, step_ms smallint[], p_upstreams text, skip_locked boolean
) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz;
  captured record;
  balance bigint;
begin
  if skip_locked then
    perform from pb.wallets w where w.id = p_wallet for no key update skip locked;
  else
    perform from pb.wallets w where w.id = p_wallet for no key update;
  end if;
  if not found then
    return null;
  end if;
  now_at := clock_timestamp();
  update pb.searches s
  set state = 'captured', settled_at = now_at, auth_ms = step_ms[1], hold_ms = step_ms[2], upstream_ms = step_ms[3],
    rank_ms = step_ms[4], upstreams = p_upstreams
  where s.id = p_search and s.wallet_id = p_wallet and s.state = 'pending' and s.expires_at > now_at
  returning s.price_micros, s.mode, s.idempotency_hmac into captured;
  if not found then
    return null;
  end if;
  if p_answer is not null then
    update pb.idempotency c set answer = p_answer
    where c.wallet_id = p_wallet and c.key_hmac = captured.idempotency_hmac and c.mode = captured.mode
      and c.search_id = p_search;
  end if;
  if captured.price_micros > 0 then
    insert into pb.transfers (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
    values (p_search, p_wallet, p_search, 'capture', 'wallet', 'revenue', captured.price_micros, now_at);
    update pb.wallets w
    set debited_micros = w.debited_micros + captured.price_micros, held_micros = w.held_micros - captured.price_micros
    where w.id = p_wallet
    returning w.credited_micros - w.debited_micros into balance;
  else
    select w.credited_micros - w.debited_micros into balance from pb.wallets w where w.id = p_wallet;
  end if;
  return balance;
end
$$;

-- Charges a batch of searches whose wallets the caller has locked, and stores their answers. Returns the number captured.
create or replace function pb.capture_each(
  search_ids uuid[], wallet_ids uuid[], answers bytea, answer_bytes integer[], step_ms smallint[], p_upstreams text[],
  now_at timestamptz
) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  first_id uuid := (select id from unnest(search_ids) id order by id limit 1);
  last_id uuid := (select id from unnest(search_ids) id order by id desc limit 1);
  answer_ends bigint[];
  captured_now integer;
  paid uuid[];  -- the wallet of each live search
begin
  if answers is not null then
    answer_ends := array(select sum(n) over (order by item) from unnest(answer_bytes) with ordinality a (n, item));
  end if;
  with captured as (
    update pb.searches s
    set state = 'captured', settled_at = now_at,
      (auth_ms, hold_ms, upstream_ms, rank_ms, upstreams) = (
        select step_ms[4 * i - 3], step_ms[4 * i - 2], step_ms[4 * i - 1], step_ms[4 * i], p_upstreams[i]
        from (select array_position(search_ids, s.id) as i offset 0) found
      )
    where s.id = any (search_ids) and s.id between first_id and last_id
      and coalesce((s.id, s.wallet_id) in (select * from unnest(search_ids, wallet_ids)), false)
      and s.state = 'pending' and s.expires_at > now_at
    returning s.id, s.wallet_id, s.price_micros, s.mode, s.idempotency_hmac
  ), entries as (
    insert into pb.transfers
      (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
    select id, wallet_id, id, 'capture', 'wallet', 'revenue', price_micros, now_at
    from captured where price_micros > 0
  ), stored as (
    update pb.idempotency c
    set answer = substr(answers, (answer_ends[claim.item] - answer_bytes[claim.item] + 1)::integer, answer_bytes[claim.item])
    from captured p
    cross join lateral (
      select f.ctid as place, i.item
      -- An id nearly always appears once, and searching for the pair every time would be quadratic.
      from (select case
        when wallet_ids[array_position(search_ids, p.id)] = p.wallet_id then array_position(search_ids, p.id)
        else (
          select a.item from unnest(search_ids, wallet_ids) with ordinality as a (search_id, wallet_id, item)
          where a.search_id = p.id and a.wallet_id = p.wallet_id limit 1
        )
      end as item) i
      cross join pb.idempotency f
      where f.wallet_id = p.wallet_id and f.mode = p.mode and f.key_hmac = p.idempotency_hmac and f.search_id = p.id
        and answer_bytes[i.item] is not null
      offset 0
    ) claim
    where c.ctid = claim.place
  )
  select count(*), array_agg(wallet_id) filter (where price_micros > 0) into captured_now, paid from captured;

  update pb.wallets w
  set debited_micros = w.debited_micros + cardinality(array_positions(paid, w.id)) * pb.price_micros(),
    held_micros = w.held_micros - cardinality(array_positions(paid, w.id)) * pb.price_micros()
  where w.id = any (paid);
  return captured_now;
end
$$;

-- Charges searches that succeeded. skip_locked and lock_wait_ms: see pb.hold. The state of a skipped search is 'busy'.
-- `step_ms`: the milliseconds of authentication, hold, upstream and ranking, four numbers for each search.
-- `p_upstreams`: the upstreams queried for each search, see pb.searches.
-- `answers`: all answers concatenated, with their lengths in answer_bytes (NULL for no answer). An array of answers would be sent
-- as text, and parsing that costs more than the rest of the capture.
create or replace function pb.capture(
  search_ids uuid[], wallet_ids uuid[], answers bytea, answer_bytes integer[], skip_locked boolean default false,
  lock_wait_ms integer default null, expected_timeline text default null, step_ms smallint[] default null,
  p_upstreams text[] default null
)
returns table (item integer, state text, balance_micros bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_at timestamptz;
begin
  perform pb.require_timeline(expected_timeline),
    case when lock_wait_ms is not null then set_config('lock_timeout', lock_wait_ms::text, true) end;
  if cardinality(search_ids) = 1 then
    balance_micros := pb.capture_one(search_ids[1], wallet_ids[1], answers, step_ms, p_upstreams[1], skip_locked);
    if balance_micros is not null then
      item := 1;
      state := 'captured';
      return next;
      return;
    end if;
  end if;

  if skip_locked then
    wallet_ids := pb.skip_locked_wallets(wallet_ids);
  else
    perform from pb.wallets w where w.id = any (wallet_ids) order by w.id for no key update;
  end if;
  now_at := clock_timestamp();
  -- Usually all of them are captured, so no states need to be read.
  if pb.capture_each(search_ids, wallet_ids, answers, answer_bytes, step_ms, p_upstreams, now_at) = cardinality(search_ids)
  then
    return query
      select i.item::integer, 'captured', w.credited_micros - w.debited_micros
      from unnest(wallet_ids) with ordinality as i (wallet_id, item)
      cross join lateral (select * from pb.wallets f where f.id = i.wallet_id offset 0) w;
  else
    return query select * from pb.search_states(search_ids, wallet_ids, now_at);
  end if;
end
$$;
