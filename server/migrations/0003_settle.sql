-- Why: the end of a hold. pending -> captured | released | expired, and a last state never changes. Money moves
-- only for the rows that the conditional update returned, so a call that is sent twice moves it once.
--
-- Lock order everywhere: wallets in ascending id, then their budgets, then their searches. All work on a
-- wallet's money happens under the lock of its row, so what is read after that lock is final.
--
-- The planner settings on each function keep one plan for good: index look-ups per item, planned once per
-- connection. Without them a plan made while a table was small is kept while it grows, or every call is planned
-- anew, which costs more than running it. "id = any (ids) and id between the first and the last" is the form that
-- both finds the partition and looks up each id; joined with the batch instead, it becomes a walk of the range.
-- (That is also why "in" is wrapped in coalesce: bare, it would be made a join.)

create function pb.lock_wallets(wallet_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from pb.wallets w where w.id = any (wallet_ids) order by w.id for no key update;
end
$$;

-- Ends pending searches without a charge and gives back what they held: to the wallet, to the key's budget for
-- the periods the hold was counted in, to the run, and the Idempotency-Key to whoever tries again.
-- The caller holds the locks of the wallets it names; a search of another wallet is left alone. Says how many it
-- ended.
create function pb.settle_unpaid(
  search_ids uuid[], wallet_ids uuid[], last_state pb.search_state, now_at timestamptz,
  held_until timestamptz default 'infinity'
) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  ended integer;
  first_id uuid := (select id from unnest(search_ids) id order by id limit 1);
  last_id uuid := (select id from unnest(search_ids) id order by id desc limit 1);
begin
  with settled as (
    update pb.searches s
    set state = last_state, settled_at = now_at
    where s.id = any (search_ids) and s.id between first_id and last_id
      and coalesce((s.id, s.wallet_id) in (select * from unnest(search_ids, wallet_ids)), false)
      and s.state = 'pending' and s.expires_at <= held_until
    returning s.*
  ), wallet_back as (
    update pb.wallets w set held_micros = w.held_micros - back.micros
    from (select wallet_id, sum(price_micros)::bigint as micros from settled group by wallet_id) back
    where w.id = back.wallet_id
  ), key_budget_back as (
    update pb.key_budgets b
    set total_spent_micros = b.total_spent_micros - back.total,
        day_spent_micros = b.day_spent_micros - back.of_day,
        month_spent_micros = b.month_spent_micros - back.of_month
    from (
      select s.key_budget_id as id,
        sum(s.price_micros)::bigint as total,
        coalesce(sum(s.price_micros) filter (where pb.utc_day(s.held_at) = k.day), 0)::bigint as of_day,
        coalesce(sum(s.price_micros) filter (where pb.utc_month(s.held_at) = k.month), 0)::bigint as of_month
      from settled s join pb.key_budgets k on k.id = s.key_budget_id
      group by s.key_budget_id
    ) back
    where b.id = back.id
  ), run_back as (
    update pb.run_budgets r set spent_micros = r.spent_micros - back.micros
    from (
      select run_budget_id as id, sum(price_micros)::bigint as micros
      from settled where run_budget_id is not null group by run_budget_id
    ) back
    where r.id = back.id
  ), claims_freed as (
    delete from pb.idempotency c using settled s
    where c.wallet_id = s.wallet_id and c.mode = s.mode and c.key_hmac = s.idempotency_hmac
      and c.search_id = s.id
  )
  select count(*)::integer into ended from settled;
  return ended;
end
$$;

create function pb.utc_day(moment timestamptz) returns date immutable strict parallel safe language sql
  return (moment at time zone 'utc')::date;

create function pb.utc_month(moment timestamptz) returns date immutable strict parallel safe language sql
  return date_trunc('month', moment at time zone 'utc')::date;

-- What became of each search of a batch, in the batch's order, and its wallet's balance.
create function pb.search_states(search_ids uuid[], wallet_ids uuid[], now_at timestamptz)
returns table (item integer, state text, balance_micros bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  first_id uuid := (select id from unnest(search_ids) id order by id limit 1);
  last_id uuid := (select id from unnest(search_ids) id order by id desc limit 1);
begin
  return query
    select i.item::integer,
      case
        when s.state is null then 'unknown'
        -- Its life is over and nothing can capture it any more; the sweeper only has not come by yet.
        when s.state = 'pending' and s.expires_at <= now_at then 'expired'
        else s.state::text
      end,
      w.credited_micros - w.debited_micros
    from unnest(search_ids, wallet_ids) with ordinality as i (search_id, wallet_id, item)
    -- "offset 0" keeps this a look-up per item.
    left join lateral (
      select f.state, f.expires_at from pb.searches f
      where f.id = i.search_id and f.id between first_id and last_id and f.wallet_id = i.wallet_id offset 0
    ) s on true
    left join pb.wallets w on w.id = i.wallet_id;
end
$$;

-- Charges a batch of searches that worked. The ledger entry and the stored answer are written with the state,
-- or none of them is. A hold whose life is over is not captured, however late its sweeper is.
create function pb.capture(search_ids uuid[], wallet_ids uuid[], answers bytea[])
returns table (item integer, state text, balance_micros bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  first_id uuid := (select id from unnest(search_ids) id order by id limit 1);
  last_id uuid := (select id from unnest(search_ids) id order by id desc limit 1);
  now_at timestamptz;
  captured_now integer;
begin
  perform from pb.wallets w where w.id = any (wallet_ids) order by w.id for no key update;
  now_at := clock_timestamp();

  with captured as (
    update pb.searches s
    set state = 'captured', settled_at = now_at
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
    -- The first mention of an id is nearly always the only one; searching for the pair each time is quadratic.
    update pb.idempotency c set answer = case
      when wallet_ids[array_position(search_ids, p.id)] = p.wallet_id then answers[array_position(search_ids, p.id)]
      else (
        select i.answer from unnest(search_ids, wallet_ids, answers) as i (search_id, wallet_id, answer)
        where i.search_id = p.id and i.wallet_id = p.wallet_id limit 1
      )
    end
    from captured p
    where p.idempotency_hmac is not null
      and c.wallet_id = p.wallet_id and c.mode = p.mode and c.key_hmac = p.idempotency_hmac
      and c.search_id = p.id
  ), charged as (
    update pb.wallets w
    set debited_micros = w.debited_micros + paid.micros, held_micros = w.held_micros - paid.micros
    from (select wallet_id, sum(price_micros)::bigint as micros from captured group by wallet_id) paid
    where w.id = paid.wallet_id and paid.micros > 0
  )
  select count(*) into captured_now from captured;

  -- Nearly always all of them: then there is nothing left to look up.
  if captured_now = cardinality(search_ids) then
    return query
      select i.item::integer, 'captured', w.credited_micros - w.debited_micros
      from unnest(wallet_ids) with ordinality as i (wallet_id, item) join pb.wallets w on w.id = i.wallet_id;
  else
    return query select * from pb.search_states(search_ids, wallet_ids, now_at);
  end if;
end
$$;

-- Gives back a batch of holds whose searches failed.
create function pb.release(search_ids uuid[], wallet_ids uuid[])
returns table (item integer, state text, balance_micros bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_at timestamptz;
begin
  perform pb.lock_wallets(wallet_ids);
  now_at := clock_timestamp();
  perform pb.settle_unpaid(search_ids, wallet_ids, 'released', now_at);
  return query select * from pb.search_states(search_ids, wallet_ids, now_at);
end
$$;

-- The sweeper: ends up to `most` holds whose life is over by the database's clock, oldest first. It looks behind a
-- watermark: the oldest hold still pending, or two minutes ago, which leaves a commit a minute longer than a hold's
-- life to become visible. A hold that appears behind it all the same, after a commit that hung or a clock that was set
-- back, is found by the thorough pass over two days.
create function pb.expire(most integer, is_thorough boolean default false) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_at timestamptz := clock_timestamp();
  since timestamptz := case
    when is_thorough then now_at - interval '2 days' else (select settled_before from pb.sweep_watermark) end;
  -- A hold's id is at most a day older than the hold itself: pb.hold refuses a server whose clock is further off.
  first_id uuid := pb.uuid_floor(since - interval '1 day');
  overdue_ids uuid[];
  overdue_wallets uuid[];
  ended integer;
begin
  select array_agg(o.id), array_agg(o.wallet_id) into overdue_ids, overdue_wallets
  from (
    select s.id, s.wallet_id from pb.searches s
    where s.id >= first_id and s.held_at >= since and s.state = 'pending' and s.expires_at <= now_at
    order by s.held_at limit most
  ) o;

  perform pb.lock_wallets(overdue_wallets);
  ended := pb.settle_unpaid(overdue_ids, overdue_wallets, 'expired', now_at, held_until => now_at);

  update pb.sweep_watermark
  set settled_before = least(
    now_at - interval '2 minutes',
    coalesce((
      select min(s.held_at) from pb.searches s
      where s.id >= first_id and s.held_at >= since and s.state = 'pending'
    ), 'infinity')
  )
  where settled_before < now_at - interval '2 minutes';
  return ended;
end
$$;
