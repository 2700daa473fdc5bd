-- pb.hold decides whether a search may spend its price, and puts the price on hold. The check and the update are in one
-- transaction under the wallet lock; otherwise two searches could spend the same cent.
--
-- A batch is decided in order of arrival and must give the same results as its items would one by one: an item that is
-- refused, replayed or already held takes nothing from the next one. No decision involves two wallets, so pb.hold_each
-- processes wallet by wallet and keeps what the batch has taken so far in variables. Budgets, runs and claims, of which
-- a wallet can have several, are counted in arrays indexed by a dense rank.
--
-- Money that a wallet owes is not available. For 'insufficient_balance', spent_micros is the amount owed: a column of its
-- own would change the result type, which prepared statements of the previous release reject.
--
-- Order of refusals (part of the API contract): key, account, idempotency, wallet (402), key budget, end user, run budget
-- (403).
--
-- A test search costs nothing, and spends the price as play money against its run and key budget. Play money has counters
-- of its own: a key budget has the mode of its keys, and test runs are in pb.test_run_budgets.
--
-- A key budget can limit what each end user spends. A search without an end user is then refused, because a limit that can
-- be avoided by leaving a header out is none.
--
-- An item with a run or a key budget has one more row for each limit, before the row with its outcome. Their outcome is the
-- limit: 'run', 'total', 'day', 'month' or 'end_user'. spent_micros is the amount spent without this search. Additional columns would
-- change the result type. Servers of the previous release use the last row of an item.
--
-- Three paths, from fast to slow. Below full load most batches hold a single search, and per-statement overhead
-- dominates.
--   1. One new search without Idempotency-Key or run: takes the money first, then checks the key, and returns the money
--      if the key may not spend.
--   2. A batch of new searches without Idempotency-Keys, runs and key budgets that all succeed: one statement.
--   3. Everything else: pb.hold_each.
--
-- A server generates search ids itself and knows which ones it sends again. Only then (sent_before) are existing
-- searches looked up, because that query locks every partition. If an id that is declared new exists, the primary key
-- of pb.searches rejects the whole batch.
--
-- One locked wallet must not delay every wallet of the batch for long. So a server first sets lock_wait_ms, a lock
-- timeout shorter than the session's. If that expires, it sends the batch again with skip_locked: the items of wallets
-- that another transaction has locked are returned as 'busy' and change nothing, and the others are decided.
--
-- The planner settings fix one plan per function: index look-ups per item, planned once per connection. Otherwise a
-- plan made while a table was small is reused after it has grown, or every call is planned again, which costs more than
-- running it. Joins on keys use "is not distinct from" for the wallet, because with "=" the planner may use the index
-- by wallet and scan all keys of a wallet.

-- Decides each item on its own. The caller has locked the wallets. The next release drops the functions with eleven and
-- thirteen arguments, which a call of the previous pb.hold can still use that waits for a lock during the upgrade.
create or replace function pb.hold_each(
  search_ids uuid[],
  wallet_ids uuid[],
  key_ids uuid[],
  idempotency_hmacs bytea[],
  fingerprints bytea[],
  run_names text[],
  run_maxes bigint[],
  run_ttls integer[],
  categories text[],
  sent_before boolean,
  now_at timestamptz,
  secret_versions smallint[],
  other_claims bytea[],
  end_users text[]
)
returns table (
  item integer, outcome text, balance_micros bigint,
  limit_micros bigint, spent_micros bigint, resets_at timestamptz, answer bytea
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  size integer := cardinality(search_ids);
  today date;
  this_month date;
  -- The id contains the server's time; the sweeper and the partitions rely on it being off by at most a day.
  oldest_id uuid;
  newest_id uuid;

  has_claims boolean := cardinality(array_remove(idempotency_hmacs, null)) > 0;
  -- Servers of releases without versions send fingerprints of scheme 1. Only those of one scheme are compared.
  v_scheme smallint := case when secret_versions is null then 1 else 2 end;
  has_runs boolean := cardinality(array_remove(run_names, null)) > 0;
  has_budgets boolean;

  items refcursor;
  i record;  -- columns that do not apply to an item are NULL, and NULL comparisons refuse nothing
  price bigint;
  this_wallet uuid;
  balance bigint;
  held bigint;
  owed bigint;
  known_ids uuid[];
  known_wallets uuid[];
  known_held boolean[];
  held_by uuid;
  still_held boolean;
  claimed bytea;
  claim_fingerprint bytea[];
  counted bigint;  -- the price, if this search is held already and therefore counted
  budget_spent bigint;
  budget_taken bigint[];
  run_id uuid[];
  run_max bigint[];
  run_expires timestamptz[];
  run_taken bigint[];
  -- End users of the batch that have a limit, by budget and id.
  end_user_names text[] := '{}';
  end_user_number integer;
  end_user_id uuid;
  end_user_spent bigint;
  period_end timestamptz;
  end_user_ids uuid[];
  end_user_resets timestamptz[];
  end_user_taken bigint[];  -- with the amount spent before the batch

  -- Accepted items, indexed by item number. An item without a mode was not accepted.
  held_modes pb.key_mode[] := array_fill(null::pb.key_mode, array[size]);
  held_budgets uuid[] := array_fill(null::uuid, array[size]);
  held_runs uuid[] := array_fill(null::uuid, array[size]);
  held_end_users uuid[] := array_fill(null::uuid, array[size]);
  has_test_runs boolean := false;
begin
  oldest_id := pb.uuid_floor(now_at - interval '1 day');
  newest_id := pb.uuid_floor(now_at + interval '1 day');

  has_budgets := exists (select from pb.keys k where k.id = any (key_ids) and k.budget_id is not null);
  today := pb.utc_day(now_at);
  this_month := pb.utc_month(now_at);
  if other_claims is not null then
    select c.idempotency_hmacs, c.fingerprints, c.secret_versions
    into idempotency_hmacs, fingerprints, secret_versions
    from pb.use_existing_claims(
      wallet_ids, other_claims, now_at, idempotency_hmacs, fingerprints, secret_versions
    ) c;
  end if;
  if has_claims then
    perform pb.take_over_claims(search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, v_scheme, now_at);
  end if;
  if sent_before then
    -- After take_over_claims, which ends searches. EXECUTE plans the query for these ids and prunes partitions.
    execute 'select array_agg(s.id), array_agg(s.wallet_id), array_agg(s.state = ''pending'' and s.expires_at > $2)
      from pb.searches s where s.id = any ($1)'
    into known_ids, known_wallets, known_held using search_ids, now_at;
  end if;
  open items no scroll for
    select b.*, w.id is not null and k.id is not null as known,
      w.credited_micros - w.debited_micros as balance, w.held_micros as held, w.owed_micros as owed,
      w.suspended_at is not null as suspended, k.mode, k.revoked_at is not null as revoked,
      k.expires_at is not null and k.expires_at <= now_at as key_expired,
      count(*) over (partition by b.search_id) > 1 as is_repeated,
      case when c.scheme = v_scheme then c.fingerprint when c.scheme is not null then b.fingerprint end
        as claimed_fingerprint,
      c.answer as stored_answer,
      k.budget_id, g.total_limit_micros, g.day_limit_micros, g.month_limit_micros,
      g.total_spent_micros as total_spent,
      case when g.day = today then g.day_spent_micros else 0 end as day_spent,
      case when g.month = this_month then g.month_spent_micros else 0 end as month_spent,
      g.end_user_limit_micros, g.end_user_period,
      r.id as open_run, r.max_micros as open_run_max, r.spent_micros as open_run_spent,
      r.expires_at as open_run_expires,
      dense_rank() over (order by k.budget_id) as budget_number,
      dense_rank() over (order by b.wallet_id, k.mode, b.idempotency_hmac) as claim_number,
      dense_rank() over (order by b.wallet_id, k.mode, b.run_name) as run_number
    from unnest(
      search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, run_names, run_maxes, run_ttls, end_users
    ) with ordinality as b (
      search_id, wallet_id, key_id, idempotency_hmac, fingerprint, run_name, run_max, run_ttl, end_user, item
    )
    -- OFFSET 0 forces an index look-up per item. With statistics of an empty table, a plain join reads the whole table for
    -- every item, and the plan stays after the table has grown.
    left join lateral (select * from pb.wallets f where f.id = b.wallet_id offset 0) w on true
    left join lateral (select * from pb.keys f where f.id = b.key_id offset 0) k
      on k.wallet_id = b.wallet_id and k.mode <> 'mgmt'
    left join lateral (select * from pb.key_budgets f where f.id = k.budget_id offset 0) g on g.wallet_id = b.wallet_id
    left join lateral (
      select * from pb.run_budgets f where f.wallet_id = b.wallet_id and f.name = b.run_name offset 0
    ) r on r.expires_at > now_at
    left join lateral (
      select * from pb.idempotency f where f.wallet_id = b.wallet_id and f.key_hmac = b.idempotency_hmac offset 0
    ) c on c.mode = k.mode and c.claimed_at > now_at - interval '24 hours'
    order by b.wallet_id, b.item;

  loop
    fetch items into i;
    exit when not found;
    if i.wallet_id is distinct from this_wallet then
      this_wallet := i.wallet_id;
      balance := i.balance;
      held := i.held;
      owed := i.owed;
    end if;
    item := i.item;
    balance_micros := balance;
    price := case i.mode when 'live' then pb.price_micros() else 0 end;
    answer := null;
    held_by := known_wallets[array_position(known_ids, i.search_id)];
    still_held := known_held[array_position(known_ids, i.search_id)];
    if i.is_repeated and held_by is null then
      select a.wallet_id, true into held_by, still_held
      from unnest(search_ids, wallet_ids, held_modes) as a (search_id, wallet_id, mode)
      where a.search_id = i.search_id and a.mode is not null;
    end if;

    -- Not joined above, because every live search would pay for another table.
    if i.mode = 'test' and i.run_name is not null then
      select r.id, r.max_micros, r.spent_micros, r.expires_at
      into i.open_run, i.open_run_max, i.open_run_spent, i.open_run_expires
      from pb.test_run_budgets r
      where r.wallet_id = i.wallet_id and r.name = i.run_name and r.expires_at > now_at;
    end if;

    counted := case when held_by = i.wallet_id and still_held then pb.price_micros() else 0 end;
    if i.budget_id is not null then
      budget_spent := coalesce(budget_taken[i.budget_number], 0) - counted;
      if i.total_limit_micros is not null then
        outcome := 'total';
        limit_micros := i.total_limit_micros;
        spent_micros := greatest(i.total_spent + budget_spent, 0);
        resets_at := null;
        return next;
      end if;
      if i.day_limit_micros is not null then
        outcome := 'day';
        limit_micros := i.day_limit_micros;
        spent_micros := greatest(i.day_spent + budget_spent, 0);
        resets_at := (today + 1)::timestamp at time zone 'utc';
        return next;
      end if;
      if i.month_limit_micros is not null then
        outcome := 'month';
        limit_micros := i.month_limit_micros;
        spent_micros := greatest(i.month_spent + budget_spent, 0);
        resets_at := (this_month + interval '1 month') at time zone 'utc';
        return next;
      end if;
    end if;
    end_user_number := null;
    if i.end_user_limit_micros is not null and i.end_user is not null then
      period_end := case i.end_user_period
        when 'day' then (today + 1)::timestamp at time zone 'utc'
        else (this_month + interval '1 month') at time zone 'utc' end;
      end_user_number := array_position(end_user_names, i.budget_id || i.end_user);
      if end_user_number is null then
        end_user_names := end_user_names || (i.budget_id || i.end_user);
        end_user_number := cardinality(end_user_names);
        select e.id, e.spent_micros into end_user_id, end_user_spent
        from pb.end_user_budgets e
        where e.key_budget_id = i.budget_id and e.end_user = i.end_user and e.resets_at = period_end;
        end_user_ids[end_user_number] := coalesce(end_user_id, gen_random_uuid());
        end_user_resets[end_user_number] := period_end;
        end_user_taken[end_user_number] := coalesce(end_user_spent, 0);
      end if;
      outcome := 'end_user';
      limit_micros := i.end_user_limit_micros;
      spent_micros := greatest(end_user_taken[end_user_number] - counted, 0);
      resets_at := period_end;
      return next;
    end if;
    if i.run_name is not null and i.known then
      outcome := 'run';
      limit_micros := coalesce(i.open_run_max, run_max[i.run_number], i.run_max);
      spent_micros := greatest(coalesce(i.open_run_spent, 0) + coalesce(run_taken[i.run_number], 0) - counted, 0);
      resets_at := coalesce(i.open_run_expires, run_expires[i.run_number]);
      return next;
    end if;
    limit_micros := null;
    spent_micros := null;
    resets_at := null;

    outcome := case
      when i.search_id < oldest_id or i.search_id > newest_id then 'clock_skewed'
      when held_by <> i.wallet_id then 'id_taken'
      when held_by is not null then case when still_held then 'held' else 'lost' end
      when not i.known then 'api_key_invalid'
      when i.revoked then 'api_key_revoked'
      when i.key_expired then 'api_key_expired'
      when i.suspended then 'account_suspended'
    end;

    if has_claims and outcome is null then
      claimed := coalesce(claim_fingerprint[i.claim_number], i.claimed_fingerprint);
      outcome := case
        when claimed <> i.fingerprint then 'idempotency_key_reused'
        when i.stored_answer is not null then 'replayed'
        when claimed is not null then 'idempotency_in_progress'
      end;
      if outcome = 'replayed' then
        answer := i.stored_answer;
      end if;
    end if;

    -- Money on hold pays the debt first when it is released.
    if outcome is null and price > 0 and price > balance - held - owed then
      outcome := case when price > balance - owed then 'insufficient_balance' else 'balance_reserved' end;
      if outcome = 'insufficient_balance' then
        spent_micros := owed;
      end if;
    end if;

    if has_budgets and outcome is null then
      select 'key_budget_spent', p.cap, p.spent, p.resets
      into outcome, limit_micros, spent_micros, resets_at
      from (values
        (i.total_limit_micros, i.total_spent + coalesce(budget_taken[i.budget_number], 0), null::timestamptz),
        (i.day_limit_micros, i.day_spent + coalesce(budget_taken[i.budget_number], 0),
          (today + 1)::timestamp at time zone 'utc'),
        (i.month_limit_micros, i.month_spent + coalesce(budget_taken[i.budget_number], 0),
          (this_month + interval '1 month') at time zone 'utc')
      ) as p (cap, spent, resets)
      where p.spent + pb.price_micros() > p.cap
      limit 1;
    end if;

    if i.end_user_limit_micros is not null and outcome is null then
      limit_micros := i.end_user_limit_micros;
      if i.end_user is null then
        -- Servers of the previous release send no array. They cannot send an end user, nor describe this outcome.
        outcome := case when end_users is null then 'key_budget_spent' else 'end_user_required' end;
        spent_micros := limit_micros;
      elsif end_user_taken[end_user_number] + pb.price_micros() > limit_micros then
        outcome := 'end_user_budget_spent';
        spent_micros := end_user_taken[end_user_number];
        resets_at := end_user_resets[end_user_number];
      else
        limit_micros := null;
      end if;
    end if;

    if has_runs and outcome is null then
      limit_micros := coalesce(i.open_run_max, run_max[i.run_number], i.run_max);
      spent_micros := coalesce(i.open_run_spent, 0) + coalesce(run_taken[i.run_number], 0);
      if spent_micros + pb.price_micros() > limit_micros then
        outcome := 'run_budget_spent';
        resets_at := coalesce(i.open_run_expires, run_expires[i.run_number]);
      else
        limit_micros := null;
        spent_micros := null;
      end if;
    end if;

    if outcome is null then
      outcome := 'held';
      held := held + price;
      held_modes[i.item] := i.mode;
      if has_claims then
        claim_fingerprint[i.claim_number] := i.fingerprint;
      end if;
      if has_budgets then
        budget_taken[i.budget_number] := coalesce(budget_taken[i.budget_number], 0) + pb.price_micros();
        held_budgets[i.item] := i.budget_id;
      end if;
      if end_user_number is not null then
        end_user_taken[end_user_number] := end_user_taken[end_user_number] + pb.price_micros();
        held_end_users[i.item] := end_user_ids[end_user_number];
      end if;
      if has_runs then
        if i.run_name is not null and run_id[i.run_number] is null then
          run_id[i.run_number] := coalesce(i.open_run, gen_random_uuid());
          run_max[i.run_number] := coalesce(i.open_run_max, i.run_max);
          run_expires[i.run_number] := coalesce(i.open_run_expires, now_at + make_interval(secs => i.run_ttl));
        end if;
        run_taken[i.run_number] := coalesce(run_taken[i.run_number], 0) + pb.price_micros();
        held_runs[i.item] := run_id[i.run_number];
        has_test_runs := has_test_runs or (i.mode = 'test' and i.run_name is not null);
      end if;
    end if;
    return next;
  end loop;
  close items;

  update pb.wallets w set held_micros = w.held_micros + taken.micros
  from (
    select a.wallet_id, count(*) * pb.price_micros() as micros
    from unnest(wallet_ids, held_modes) as a (wallet_id, mode) where a.mode = 'live' group by a.wallet_id
  ) taken
  where w.id = taken.wallet_id;

  if has_budgets then
    update pb.key_budgets g
    set total_spent_micros = g.total_spent_micros + taken.micros,
        day_spent_micros = taken.micros + case when g.day = today then g.day_spent_micros else 0 end,
        day = today,
        month_spent_micros = taken.micros + case when g.month = this_month then g.month_spent_micros else 0 end,
        month = this_month
    from (
      select a.budget_id, count(*) * pb.price_micros() as micros
      from unnest(held_budgets) as a (budget_id) where a.budget_id is not null group by a.budget_id
    ) taken
    where g.id = taken.budget_id;
  end if;

  if has_runs then
    -- A conflict is either the open run, which continues, or an expired run of the same name.
    insert into pb.run_budgets as r (wallet_id, name, id, max_micros, spent_micros, opened_at, expires_at)
    select a.wallet_id, a.run_name, a.run, o.run_max, count(*) * pb.price_micros(), now_at, o.run_expires
    from unnest(wallet_ids, run_names, held_runs, held_modes) as a (wallet_id, run_name, run, mode)
    join unnest(run_id, run_max, run_expires) as o (run, run_max, run_expires) on o.run = a.run
    where a.mode = 'live'
    group by a.wallet_id, a.run_name, a.run, o.run_max, o.run_expires
    on conflict (wallet_id, name) do update
    set spent_micros = excluded.spent_micros + case when r.id = excluded.id then r.spent_micros else 0 end,
        opened_at = case when r.id = excluded.id then r.opened_at else excluded.opened_at end,
        id = excluded.id, max_micros = excluded.max_micros, expires_at = excluded.expires_at;
  end if;
  if has_test_runs then
    insert into pb.test_run_budgets as r (wallet_id, name, id, max_micros, spent_micros, opened_at, expires_at)
    select a.wallet_id, a.run_name, a.run, o.run_max, count(*) * pb.price_micros(), now_at, o.run_expires
    from unnest(wallet_ids, run_names, held_runs, held_modes) as a (wallet_id, run_name, run, mode)
    join unnest(run_id, run_max, run_expires) as o (run, run_max, run_expires) on o.run = a.run
    where a.mode = 'test'
    group by a.wallet_id, a.run_name, a.run, o.run_max, o.run_expires
    on conflict (wallet_id, name) do update
    set spent_micros = excluded.spent_micros + case when r.id = excluded.id then r.spent_micros else 0 end,
        opened_at = case when r.id = excluded.id then r.opened_at else excluded.opened_at end,
        id = excluded.id, max_micros = excluded.max_micros, expires_at = excluded.expires_at;
  end if;

  if end_user_ids is not null then
    -- A conflict is the same period, which continues, or an earlier one.
    insert into pb.end_user_budgets as e (wallet_id, key_budget_id, end_user, id, spent_micros, resets_at)
    select a.wallet_id, a.budget_id, a.end_user, a.id, count(*) * pb.price_micros(), o.resets_at
    from unnest(wallet_ids, held_budgets, end_users, held_end_users) as a (wallet_id, budget_id, end_user, id)
    join unnest(end_user_ids, end_user_resets) as o (id, resets_at) on o.id = a.id
    group by a.wallet_id, a.budget_id, a.end_user, a.id, o.resets_at
    on conflict (key_budget_id, end_user) do update
    set spent_micros = excluded.spent_micros + case when e.id = excluded.id then e.spent_micros else 0 end,
        id = excluded.id, resets_at = excluded.resets_at;
  end if;

  if has_claims then
    -- A conflict is a claim older than a day, whose answer is no longer guaranteed.
    insert into pb.idempotency
      (wallet_id, mode, key_hmac, fingerprint, search_id, claimed_at, scheme, secret_version)
    select a.wallet_id, a.mode, a.hmac, a.fingerprint, a.search_id, now_at, v_scheme, coalesce(a.secret_version, 1)
    from unnest(wallet_ids, held_modes, idempotency_hmacs, fingerprints, search_ids, secret_versions)
      as a (wallet_id, mode, hmac, fingerprint, search_id, secret_version)
    where a.mode is not null and a.hmac is not null
    on conflict (wallet_id, mode, key_hmac) do update
    set fingerprint = excluded.fingerprint, search_id = excluded.search_id, claimed_at = excluded.claimed_at,
        answer = null, scheme = excluded.scheme, secret_version = excluded.secret_version;
  end if;

  insert into pb.searches
    (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at,
     key_budget_id, run_budget_id, idempotency_hmac, category, end_user, end_user_budget_id)
  select a.search_id, a.wallet_id, a.key_id, a.mode, case a.mode when 'live' then pb.price_micros() else 0 end,
    'pending', now_at, now_at + interval '60 seconds', a.budget_id, a.run, a.hmac, a.category, a.end_user,
    a.end_user_budget
  from unnest(
    search_ids, wallet_ids, key_ids, held_modes, held_budgets, held_runs, idempotency_hmacs, categories, end_users,
    held_end_users
  ) as a (search_id, wallet_id, key_id, mode, budget_id, run, hmac, category, end_user, end_user_budget)
  where a.mode is not null;
end
$$;

-- Holds the price of each search, or returns why not.
drop function if exists pb.hold(
  uuid[], uuid[], uuid[], bytea[], bytea[], text[], bigint[], integer[], text[], boolean
);
drop function if exists pb.hold(
  uuid[], uuid[], uuid[], bytea[], bytea[], text[], bigint[], integer[], text[], boolean, boolean, integer
);
drop function if exists pb.hold(
  uuid[], uuid[], uuid[], bytea[], bytea[], text[], bigint[], integer[], text[], boolean, boolean, integer, smallint[],
  bytea[]
);
drop function if exists pb.hold(
  uuid[], uuid[], uuid[], bytea[], bytea[], text[], bigint[], integer[], text[], boolean, boolean, integer, smallint[],
  bytea[], integer
);
drop function if exists pb.hold(
  uuid[], uuid[], uuid[], bytea[], bytea[], text[], bigint[], integer[], text[], boolean, boolean, integer, smallint[],
  bytea[], integer, text[]
);
create or replace function pb.hold(
  search_ids uuid[],
  wallet_ids uuid[],
  key_ids uuid[],
  idempotency_hmacs bytea[],
  fingerprints bytea[],
  run_names text[],
  run_maxes bigint[],
  run_ttls integer[],
  categories text[] default null,
  sent_before boolean default true,
  skip_locked boolean default false,
  lock_wait_ms integer default null,
  secret_versions smallint[] default null,
  other_claims bytea[] default null,
  expected_timeline text default null,
  end_users text[] default null
)
returns table (
  item integer, outcome text, balance_micros bigint,
  limit_micros bigint, spent_micros bigint, resets_at timestamptz, answer bytea
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  now_at timestamptz;
  oldest_id uuid;
  newest_id uuid;
  modes pb.key_mode[];
  busy_ids uuid[];
begin
  perform pb.require_timeline(expected_timeline);
  if lock_wait_ms is not null then
    perform set_config('lock_timeout', lock_wait_ms::text, true);
  end if;
  if cardinality(search_ids) = 1 and not sent_before and idempotency_hmacs is null and run_names is null then
    update pb.wallets w set held_micros = w.held_micros + pb.price_micros()
    where w.id = case
        when skip_locked
        then (select f.id from pb.wallets f where f.id = wallet_ids[1] for no key update skip locked)
        else wallet_ids[1]
      end
      and w.suspended_at is null
      and w.credited_micros - w.debited_micros - w.held_micros - w.owed_micros >= pb.price_micros()
    returning w.credited_micros - w.debited_micros into balance_micros;
    if found then
      -- The wallet is locked now, so the key is read in its final state.
      now_at := clock_timestamp();
      insert into pb.searches
        (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, category, end_user)
      select search_ids[1], k.wallet_id, k.id, 'live', pb.price_micros(), 'pending', now_at,
        now_at + interval '60 seconds', categories[1], end_users[1]
      from pb.keys k
      where k.id = key_ids[1] and k.wallet_id is not distinct from wallet_ids[1] and k.mode = 'live'
        and k.revoked_at is null and k.budget_id is null and (k.expires_at is null or k.expires_at > now_at)
        and search_ids[1] between pb.uuid_floor(now_at - interval '1 day') and pb.uuid_floor(now_at + interval '1 day');
      if found then
        item := 1;
        outcome := 'held';
        return next;
        return;
      end if;
      update pb.wallets w set held_micros = w.held_micros - pb.price_micros() where w.id = wallet_ids[1];
    end if;
  end if;

  if skip_locked then
    busy_ids := pb.lock_free_wallets(wallet_ids);
    if cardinality(busy_ids) > 0 then
      return query
        select b.item::integer, 'busy', null::bigint, null::bigint, null::bigint, null::timestamptz, null::bytea
        from unnest(wallet_ids) with ordinality as b (wallet_id, item) where b.wallet_id = any (busy_ids);
      return query
        select free.items[h.item], h.outcome, h.balance_micros, h.limit_micros, h.spent_micros, h.resets_at, h.answer
        from (
          select array_agg(b.item::integer order by b.item) as items,
            array_agg(b.search_id order by b.item) as search_ids, array_agg(b.wallet_id order by b.item) as wallet_ids,
            array_agg(b.key_id order by b.item) as key_ids, array_agg(b.hmac order by b.item) as hmacs,
            array_agg(b.fingerprint order by b.item) as fingerprints, array_agg(b.run_name order by b.item) as names,
            array_agg(b.run_max order by b.item) as maxes, array_agg(b.run_ttl order by b.item) as ttls,
            array_agg(b.category order by b.item) as categories,
            array_agg(b.version order by b.item) as versions, array_agg(b.other order by b.item) as others,
            array_agg(b.end_user order by b.item) as end_users
          from unnest(
            search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, run_names, run_maxes, run_ttls,
            categories, secret_versions, other_claims, end_users
          ) with ordinality as b (
            search_id, wallet_id, key_id, hmac, fingerprint, run_name, run_max, run_ttl, category, version, other,
            end_user, item
          )
          where b.wallet_id <> all (busy_ids)
        ) free, pb.hold(
          free.search_ids, free.wallet_ids, free.key_ids, free.hmacs, free.fingerprints, free.names, free.maxes,
          free.ttls, free.categories, sent_before,
          secret_versions => case when secret_versions is not null then free.versions end,
          other_claims => case when other_claims is not null then free.others end,
          end_users => case when end_users is not null then free.end_users end
        ) h
        where free.items is not null;
      return;
    end if;
  else
    perform from pb.wallets w where w.id = any (wallet_ids) order by w.id for no key update;
  end if;
  now_at := clock_timestamp();

  if not sent_before
    and coalesce(num_nonnulls(variadic idempotency_hmacs), 0) + coalesce(num_nonnulls(variadic run_names), 0) = 0
  then
    oldest_id := pb.uuid_floor(now_at - interval '1 day');
    newest_id := pb.uuid_floor(now_at + interval '1 day');
    with acceptable as (
      select b.item, b.wallet_id, k.mode,
        w.credited_micros - w.debited_micros - w.held_micros - w.owed_micros as available
      from unnest(search_ids, wallet_ids, key_ids) with ordinality as b (search_id, wallet_id, key_id, item)
      join pb.wallets w on w.id = b.wallet_id
      join pb.keys k on k.id = b.key_id and k.wallet_id is not distinct from b.wallet_id
      where w.suspended_at is null and k.mode <> 'mgmt' and k.revoked_at is null and k.budget_id is null
        and (k.expires_at is null or k.expires_at > now_at)
        and b.search_id between oldest_id and newest_id
    )
    select array_agg(f.mode order by f.item) into modes from acceptable f
    having count(*) = cardinality(search_ids) and not exists (
      select from acceptable g where g.mode = 'live'
      group by g.wallet_id, g.available having count(*) * pb.price_micros() > g.available
    );
  end if;
  if modes is null then
    return query select * from pb.hold_each(
      search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, run_names, run_maxes, run_ttls, categories,
      sent_before, now_at, secret_versions, other_claims, end_users
    );
    return;
  end if;

  update pb.wallets w set held_micros = w.held_micros + taken.micros
  from (
    select a.wallet_id, count(*) * pb.price_micros() as micros
    from unnest(wallet_ids, modes) as a (wallet_id, mode) where a.mode = 'live' group by a.wallet_id
  ) taken
  where w.id = taken.wallet_id;

  insert into pb.searches (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, category, end_user)
  select a.search_id, a.wallet_id, a.key_id, a.mode, case a.mode when 'live' then pb.price_micros() else 0 end,
    'pending', now_at, now_at + interval '60 seconds', a.category, a.end_user
  from unnest(search_ids, wallet_ids, key_ids, modes, categories, end_users)
    as a (search_id, wallet_id, key_id, mode, category, end_user);

  return query
    select b.item::integer, 'held', w.credited_micros - w.debited_micros, null::bigint, null::bigint, null::timestamptz,
      null::bytea
    from unnest(wallet_ids) with ordinality as b (wallet_id, item) join pb.wallets w on w.id = b.wallet_id;
end
$$;
