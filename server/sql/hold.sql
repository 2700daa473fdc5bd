-- pb.hold decides whether a search may spend its price, and puts the price on hold. The check and the update are in one
-- transaction under the wallet lock; otherwise two searches could spend the same cent.
--
-- A batch is decided in order of arrival and must give the same results as its items would one by one. An item that is
-- refused, replayed or already held takes nothing from the next one. pb.hold_each reads the facts about all items and windows,
-- decides wallet by wallet while variables track how much the batch has taken so far, and writes once. A wallet can have several
-- windows and claims, so these are counted in arrays indexed by a dense rank.
--
-- Money that a wallet owes cannot be spent. owed_micros is that amount, returned with 'insufficient_balance'.
--
-- Order of refusals (part of the API contract): key, account, idempotency, wallet (402), budgets of the key, those per end user
-- last, run (403). A search is accepted only if all its windows have room, and only then counts in any of them.
--
-- Each hold compares the end of a raise of a shared budget with the time, so no job has to end it.
--
-- A test search is free but spends the price as play money, which is counted separately because each window has a mode.
--
-- A key with a limit per end user refuses a search without an end user. Otherwise a caller could avoid the limit by omitting the
-- header.
--
-- `budgets` lists the windows of an item in the order above, each with the amount spent without this search, and `spent_budget` is
-- the budget that refuses it. Both name only shared budgets by id; other budgets are limits of the key.
--
-- Three paths, from fast to slow. Below full load most batches hold a single search, and per-statement overhead
-- dominates.
--   1. One new live search without run or limits (pb.hold_one): takes the money first, then checks the key and the
--      Idempotency-Key, and returns the money if the search may not be held.
--   2. The wallets of a batch whose searches are all new, have no run or limits, and are certain to be held (pb.hold_plain).
--   3. All searches of the other wallets, decided one by one (pb.hold_each).
--
-- Each server generates its search ids and sets sent_before when it resends a batch. Only then are existing
-- searches looked up, because that query locks every partition. If an id that is declared new exists, the primary key
-- of pb.searches rejects the whole batch.
--
-- One locked wallet must not delay every wallet of the batch for long. A server therefore first sets lock_wait_ms, a lock
-- timeout shorter than the session's. If that expires, it resends the batch with skip_locked. Items of wallets that another
-- transaction has locked then return 'busy' and change nothing, and the other items are decided.
--
-- The planner settings fix one plan per function, with index look-ups per item, which is planned once per connection. Otherwise
-- PostgreSQL would reuse a plan made while a table was small, or plan every call again, which costs more than running it.
-- Conditions on a key other than its id are outside of a subquery with OFFSET 0, because the planner could otherwise use them
-- to choose another index and scan all keys of a wallet.

-- The facts about each item, by wallet and in order of arrival. Items without a wallet were skipped or are already held, and are
-- omitted. OFFSET 0 forces an index look-up per item. With statistics from an empty table, a plain join would read the whole
-- table for every item, and the plan would stay in use after the table has grown.
create or replace function pb.read_hold_facts(
  search_ids uuid[], wallet_ids uuid[], key_ids uuid[], idempotency_hmacs bytea[], fingerprints bytea[],
  sent_before boolean, now_at timestamptz
)
returns table (
  item integer, search_id uuid, wallet_id uuid, mode pb.key_mode, is_skewed boolean, is_repeated boolean, holder uuid,
  is_held boolean, key_fault text, balance_micros bigint, held_micros bigint, owed_micros bigint, fingerprint bytea,
  claim_number integer, claimed_fingerprint bytea, stored_answer bytea
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  -- The id contains the server's time; the sweeper and the partitions rely on it being off by at most a day.
  oldest_id uuid := pb.uuid_floor(now_at - interval '1 day');
  newest_id uuid := pb.uuid_floor(now_at + interval '1 day');
  known_ids uuid[];
  known_wallets uuid[];
  known_held boolean[];
begin
  if sent_before then
    -- EXECUTE plans the query for these ids and prunes partitions.
    execute 'select array_agg(s.id), array_agg(s.wallet_id), array_agg(s.state = ''pending'' and s.expires_at > $2)
      from pb.searches s where s.id = any ($1)'
    into known_ids, known_wallets, known_held using search_ids, now_at;
  end if;
  return query
    select b.item::integer, b.search_id, b.wallet_id, k.mode, b.search_id < oldest_id or b.search_id > newest_id,
      count(*) over (partition by b.search_id) > 1, known_wallets[array_position(known_ids, b.search_id)],
      known_held[array_position(known_ids, b.search_id)],
      case
        when w.id is null or k.id is null then 'api_key_invalid'
        when k.revoked_at is not null then 'api_key_revoked'
        when k.expires_at <= now_at then 'api_key_expired'
        when w.suspended_at is not null then 'account_suspended'
      end,
      w.credited_micros - w.debited_micros, w.held_micros, w.owed_micros, b.fingerprint,
      dense_rank() over (order by b.wallet_id, k.mode, b.idempotency_hmac)::integer, c.fingerprint, c.answer
    from unnest(search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints) with ordinality
      as b (search_id, wallet_id, key_id, idempotency_hmac, fingerprint, item)
    left join lateral (select * from pb.wallets f where f.id = b.wallet_id offset 0) w on true
    left join lateral (select * from pb.keys f where f.id = b.key_id offset 0) k
      on k.wallet_id = b.wallet_id and k.mode <> 'mgmt'
    left join lateral (
      select * from pb.idempotency f where f.wallet_id = b.wallet_id and f.key_hmac = b.idempotency_hmac offset 0
    ) c on c.mode = k.mode and c.claimed_at > now_at - interval '24 hours'
    where b.wallet_id is not null
    order by b.wallet_id, b.item;
end
$$;

-- The windows that the items would spend from. Items with the same window share its number. spending[number] is its state, and
-- item_windows[item] has the numbers of an item, separated by commas, in the order in which windows refuse. A window that is
-- missing or has ended has no id. A window ends only after its resets_at, so setting the clock back resets nothing.
create or replace function pb.read_windows(
  wallet_ids uuid[], key_ids uuid[], run_names text[], end_users text[], now_at timestamptz,
  out spending pb.spending[], out item_windows text[]
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  day_end timestamptz := (pb.utc_day(now_at) + 1)::timestamp at time zone 'utc';
  week_end timestamptz := (date_trunc('week', now_at at time zone 'utc') + interval '7 days') at time zone 'utc';
  month_end timestamptz := (pb.utc_month(now_at) + interval '1 month') at time zone 'utc';
  r record;
begin
  for r in
    select n.item, dense_rank() over (order by n.wallet_id, n.mode, n.budget_id, n.subject) as number,
      row(
        n.kind, w.id, n.wallet_id, n.mode, n.budget_id, n.name, n.period, n.subject, coalesce(n.amount_micros, w.limit_micros),
        coalesce(w.spent_micros, 0), case when w.id is null then n.ends_at else w.resets_at end, coalesce(w.spent_micros, 0)
      )::pb.spending as state
    from (
      select b.item, b.wallet_id, k.mode, l.*
      from unnest(wallet_ids, key_ids, run_names, end_users) with ordinality
        as b (wallet_id, key_id, run_name, end_user, item)
      cross join lateral (select * from pb.keys f where f.id = b.key_id offset 0) k
      cross join lateral (
        select f.position, g.id as budget_id, g.name, g.period,
          g.amount_micros + case when g.raise_ends_at > now_at then g.raise_micros else 0 end as amount_micros,
          case when g.per_end_user then b.end_user else '' end as subject,
          case when g.per_end_user then 'end_user' else coalesce(g.period, 'total') end as kind,
          case g.period when 'day' then day_end when 'week' then week_end when 'month' then month_end end as ends_at
        from pb.key_limit_budgets f
        cross join lateral (select * from pb.budgets h where h.id = f.budget_id offset 0) g
        where f.limits_id = k.limits_id
        union all
        select 100, null, null, null, null, b.run_name, 'run', null where b.run_name is not null
        offset 0
      ) l
      where k.wallet_id = b.wallet_id and k.mode <> 'mgmt'
    ) n
    -- In two parts, because "is not distinct from" uses no index.
    left join lateral (
      select * from pb.budget_windows f
      where f.wallet_id = n.wallet_id and f.mode = n.mode and f.budget_id = n.budget_id and f.subject = n.subject
      union all
      select * from pb.budget_windows f
      where n.budget_id is null and f.wallet_id = n.wallet_id and f.mode = n.mode and f.budget_id is null
        and f.subject = n.subject
      offset 0
    ) w on w.resets_at is null or w.resets_at > now_at
    order by n.item, n.kind = 'run', n.kind = 'end_user', n.position
  loop
    spending[r.number] := r.state;
    item_windows[r.item] := concat_ws(',', item_windows[r.item], r.number);
  end loop;
end
$$;

-- The outcome of one item, without access to tables: the reason to refuse a new search, the final state of an existing one
-- ('held' if it is pending), or NULL if the price is to be held. `i`: a row of pb.read_hold_facts. `claimed`: the fingerprint of
-- the claim on its Idempotency-Key. `numbers`: its windows. A window without a subject is a limit per end user for a search that
-- names none.
create or replace function pb.decide_hold(
  i record, claimed bytea, held bigint, spending pb.spending[], numbers integer[], run_max bigint,
  out outcome text, out owed_micros bigint, out limit_micros bigint, out spent_micros bigint, out resets_at timestamptz,
  out answer bytea, out budgets jsonb, out spent_budget jsonb
)
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  own_micros bigint := case when i.holder = i.wallet_id and i.is_held then pb.price_micros() else 0 end;
  n integer;
  w pb.spending;
  full_window pb.spending;
begin
  foreach n in array coalesce(numbers, '{}') loop
    w := spending[n];
    w.max_micros := coalesce(w.max_micros, run_max);
    if full_window.kind is null and (w.subject is null or w.taken_micros + pb.price_micros() > w.max_micros) then
      full_window := w;
    end if;
    if w.subject is not null then
      budgets := coalesce(budgets, '[]') || jsonb_build_object(
        'limit', w.kind, 'max', w.max_micros::text, 'spent', greatest(w.taken_micros - own_micros, 0)::text,
        'resetsAt', w.resets_at, 'budgetId', case when w.name is not null then w.budget_id end
      );
    end if;
  end loop;

  outcome := case
    when i.is_skewed then 'clock_skewed'
    when i.holder <> i.wallet_id then 'id_taken'
    when i.holder is not null then case when i.is_held then 'held' else 'lost' end
    when i.key_fault is not null then i.key_fault
    when claimed <> i.fingerprint then 'idempotency_key_reused'
    when i.stored_answer is not null then 'replayed'
    when claimed is not null then 'idempotency_in_progress'
    when i.mode = 'live' and pb.price_micros() > i.balance_micros - i.owed_micros then 'insufficient_balance'
    -- Money on hold pays the debt first when it is released.
    when i.mode = 'live' and pb.price_micros() > i.balance_micros - held - i.owed_micros then 'balance_reserved'
    when full_window.kind = 'run' then 'run_budget_spent'
    when full_window.kind = 'end_user' and full_window.subject is null then 'end_user_required'
    when full_window.kind = 'end_user' then 'end_user_budget_spent'
    when full_window.kind is not null then 'key_budget_spent'
  end;
  if outcome = 'replayed' then
    answer := i.stored_answer;
  elsif outcome = 'insufficient_balance' then
    owed_micros := i.owed_micros;
  elsif outcome in ('run_budget_spent', 'end_user_budget_spent', 'key_budget_spent') then
    limit_micros := full_window.max_micros;
    spent_micros := full_window.taken_micros;
    resets_at := full_window.resets_at;
    if full_window.kind <> 'run' then
      spent_budget := jsonb_build_object(
        'id', case when full_window.name is not null then full_window.budget_id end, 'name', full_window.name,
        'period', coalesce(full_window.period, 'total')
      );
    end if;
  end if;
end
$$;

-- Writes the accepted items, which are those with a mode. `held_windows`: the ids of each item's windows, separated by
-- commas.
create or replace function pb.write_holds(
  search_ids uuid[], wallet_ids uuid[], key_ids uuid[], idempotency_hmacs bytea[], fingerprints bytea[], categories text[],
  end_users text[], held_modes pb.key_mode[], held_windows text[], spending pb.spending[],
  now_at timestamptz
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  live_wallets uuid[] := array(
    select a.wallet_id from unnest(wallet_ids, held_modes) as a (wallet_id, mode) where a.mode = 'live'
  );
begin
  update pb.wallets w
  set held_micros = w.held_micros + cardinality(array_positions(live_wallets, w.id)) * pb.price_micros()
  where w.id = any (live_wallets);

  if spending is not null then
    -- A conflict is the same window, which continues, or one that has ended.
    insert into pb.budget_windows as b
      (id, wallet_id, mode, budget_id, subject, limit_micros, spent_micros, opened_at, resets_at, next_alert_micros)
    select w.id, w.wallet_id, w.mode, w.budget_id, w.subject, case when w.kind <> 'end_user' then w.max_micros end,
      w.taken_micros - w.spent_micros, now_at, w.resets_at,
      case when w.name is not null and w.kind <> 'end_user' and w.mode = 'live' then 0 end
    from unnest(spending) w where w.taken_micros > w.spent_micros
    on conflict (wallet_id, mode, budget_id, subject) do update
    set spent_micros = excluded.spent_micros + case when b.id = excluded.id then b.spent_micros else 0 end,
        opened_at = case when b.id = excluded.id then b.opened_at else excluded.opened_at end,
        next_alert_micros = case
          when b.id = excluded.id and b.limit_micros = excluded.limit_micros then b.next_alert_micros
          else excluded.next_alert_micros
        end,
        alerted_percent = case when b.id = excluded.id then b.alerted_percent else 0 end,
        id = excluded.id, limit_micros = excluded.limit_micros, resets_at = excluded.resets_at;
  end if;

  if idempotency_hmacs is not null then
    insert into pb.idempotency
      (wallet_id, mode, key_hmac, fingerprint, search_id, claimed_at)
    select a.wallet_id, a.mode, a.hmac, a.fingerprint, a.search_id, now_at
    from unnest(wallet_ids, held_modes, idempotency_hmacs, fingerprints, search_ids)
      as a (wallet_id, mode, hmac, fingerprint, search_id)
    where a.mode is not null and a.hmac is not null;
  end if;

  insert into pb.searches
    (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, window_ids, idempotency_hmac, category, end_user)
  select a.search_id, a.wallet_id, a.key_id, a.mode, case a.mode when 'live' then pb.price_micros() else 0 end,
    'pending', now_at, now_at + interval '60 seconds', ('{' || a.windows || '}')::bigint[], a.hmac, a.category, a.end_user
  from unnest(
    search_ids, wallet_ids, key_ids, held_modes, held_windows, idempotency_hmacs, categories, end_users
  ) as a (search_id, wallet_id, key_id, mode, windows, hmac, category, end_user)
  where a.mode is not null;
end
$$;

-- Decides each item separately. The caller has locked the wallets and expired stale claims.
create or replace function pb.hold_each(
  search_ids uuid[], wallet_ids uuid[], key_ids uuid[], idempotency_hmacs bytea[], fingerprints bytea[], run_names text[],
  run_maxes bigint[], run_ttls integer[], categories text[], sent_before boolean, now_at timestamptz,
  end_users text[]
)
returns table (
  item integer, outcome text, balance_micros bigint, owed_micros bigint, limit_micros bigint, spent_micros bigint,
  resets_at timestamptz, answer bytea, budgets jsonb, spent_budget jsonb
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  i record;
  n integer;
  this_wallet uuid;
  held bigint;
  claims bytea[];  -- fingerprints of accepted items, by claim number
  spending pb.spending[];
  item_windows text[];
  numbers integer[];
  held_modes pb.key_mode[] := array_fill(null::pb.key_mode, array[cardinality(search_ids)]);
  held_windows text[] := array_fill(null::text, array[cardinality(search_ids)]);
begin
  if run_names is not null or exists (select from pb.keys k where k.id = any (key_ids) and k.limits_id is not null) then
    select r.* into spending, item_windows from pb.read_windows(wallet_ids, key_ids, run_names, end_users, now_at) r;
  end if;
  for i in select * from pb.read_hold_facts(
    search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, sent_before, now_at
  ) loop
    held := case when i.wallet_id = this_wallet then held else i.held_micros end;
    this_wallet := i.wallet_id;
    item := i.item;
    balance_micros := i.balance_micros;
    if i.is_repeated and i.holder is null then
      select a.wallet_id, true into i.holder, i.is_held
      from unnest(search_ids, wallet_ids, held_modes) as a (search_id, wallet_id, mode)
      where a.search_id = i.search_id and a.mode is not null;
    end if;
    numbers := ('{' || item_windows[i.item] || '}')::integer[];
    select d.* into outcome, owed_micros, limit_micros, spent_micros, resets_at, answer, budgets, spent_budget
    from pb.decide_hold(
      i, coalesce(claims[i.claim_number], i.claimed_fingerprint), held, spending, numbers, run_maxes[i.item]
    ) d;
    if outcome is null then
      outcome := 'held';
      held := held + case i.mode when 'live' then pb.price_micros() else 0 end;
      held_modes[i.item] := i.mode;
      claims[i.claim_number] := i.fingerprint;
      foreach n in array coalesce(numbers, '{}') loop
        -- The first accepted item opens a window.
        if spending[n].id is null then
          spending[n].id := nextval('pb.budget_windows_id_seq');
          if spending[n].kind = 'run' then
            spending[n].max_micros := run_maxes[i.item];
            spending[n].resets_at := now_at + make_interval(secs => run_ttls[i.item]);
          end if;
        end if;
        spending[n].taken_micros := spending[n].taken_micros + pb.price_micros();
        held_windows[i.item] := concat_ws(',', held_windows[i.item], spending[n].id);
      end loop;
    end if;
    return next;
  end loop;
  if idempotency_hmacs is not null then
    perform pb.delete_old_claims(wallet_ids, idempotency_hmacs, held_modes, now_at);
  end if;
  perform pb.write_holds(
    search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, categories, end_users, held_modes,
    held_windows, spending, now_at
  );
end
$$;

-- Holds one new live search without run or limits. Takes the money first, which locks the wallet, and returns it if the key may
-- not spend or the Idempotency-Key is claimed. Returns the balance, or NULL if the search is not held.
create or replace function pb.hold_one(
  p_search uuid, p_wallet uuid, p_key uuid, p_hmac bytea, p_fingerprint bytea, p_category text,
  p_end_user text, skip_locked boolean
) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  balance bigint;
  now_at timestamptz;
begin
  update pb.wallets w set held_micros = w.held_micros + pb.price_micros()
  where w.id = case
      when skip_locked then (select f.id from pb.wallets f where f.id = p_wallet for no key update skip locked)
      else p_wallet
    end
    and w.suspended_at is null
    and w.credited_micros - w.debited_micros - w.held_micros - w.owed_micros >= pb.price_micros()
  returning w.credited_micros - w.debited_micros into balance;
  if not found then
    return null;
  end if;
  -- The wallet is locked now, so key and claim are read in their final state.
  now_at := clock_timestamp();
  insert into pb.searches
    (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, idempotency_hmac, category, end_user)
  select p_search, k.wallet_id, k.id, 'live', pb.price_micros(), 'pending', now_at, now_at + interval '60 seconds', p_hmac,
    p_category, p_end_user
  from (select * from pb.keys f where f.id = p_key offset 0) k
  where k.wallet_id = p_wallet and k.mode = 'live'
    and k.revoked_at is null and k.limits_id is null and (k.expires_at is null or k.expires_at > now_at)
    and p_search between pb.uuid_floor(now_at - interval '1 day') and pb.uuid_floor(now_at + interval '1 day')
    and not exists (select from pb.idempotency c where c.wallet_id = p_wallet and c.key_hmac = p_hmac);
  if not found then
    update pb.wallets w set held_micros = w.held_micros - pb.price_micros() where w.id = p_wallet;
    return null;
  end if;
  if p_hmac is not null then
    insert into pb.idempotency (wallet_id, mode, key_hmac, fingerprint, search_id, claimed_at)
    values (p_wallet, 'live', p_hmac, p_fingerprint, p_search, now_at);
  end if;
  return balance;
end
$$;

-- Holds the searches of wallets that need no decision, because all their searches in the batch are new and have no run, limits or
-- claimed Idempotency-Key, and the money covers all of them. Returns the mode of each search, with NULL for those that are not
-- held, or NULL if no search is held. The caller has locked the wallets.
create or replace function pb.hold_plain(
  search_ids uuid[], wallet_ids uuid[], key_ids uuid[], idempotency_hmacs bytea[], fingerprints bytea[], run_names text[],
  categories text[], now_at timestamptz, end_users text[]
) returns pb.key_mode[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  oldest_id uuid := pb.uuid_floor(now_at - interval '1 day');
  newest_id uuid := pb.uuid_floor(now_at + interval '1 day');
  claimants uuid[] := '{}';
  modes pb.key_mode[];
begin
  if num_nulls(variadic run_names) = 0 then
    return null;
  end if;
  if idempotency_hmacs is not null then
    claimants := array(
      select b.wallet_id from unnest(wallet_ids, idempotency_hmacs) as b (wallet_id, hmac)
      cross join lateral (
        select from pb.idempotency f where f.wallet_id = b.wallet_id and f.key_hmac = b.hmac offset 0
      ) claim
      union all
      select b.wallet_id from unnest(wallet_ids, idempotency_hmacs) as b (wallet_id, hmac)
      where b.hmac is not null group by b.wallet_id, b.hmac having count(*) > 1
    );
  end if;
  modes := array(
    select case
      when bool_and(f.is_plain) over own
        and count(*) filter (where f.mode = 'live') over own * pb.price_micros() <= f.available then f.mode
    end
    from (
      select b.item, b.wallet_id, k.mode,
        w.credited_micros - w.debited_micros - w.held_micros - w.owed_micros as available,
        coalesce(
          k.wallet_id = b.wallet_id and w.suspended_at is null and b.run_name is null and b.wallet_id <> all (claimants)
            and k.mode <> 'mgmt' and k.revoked_at is null and k.limits_id is null
            and (k.expires_at is null or k.expires_at > now_at) and b.search_id between oldest_id and newest_id,
          false
        ) as is_plain
      from unnest(search_ids, wallet_ids, key_ids, run_names) with ordinality
        as b (search_id, wallet_id, key_id, run_name, item)
      left join lateral (select * from pb.wallets f where f.id = b.wallet_id offset 0) w on true
      left join lateral (select * from pb.keys f where f.id = b.key_id offset 0) k on true
    ) f
    window own as (partition by f.wallet_id)
    order by f.item
  );
  if num_nonnulls(variadic modes) = 0 then
    return null;
  end if;
  perform pb.write_holds(
    search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, categories, end_users, modes, null, null,
    now_at
  );
  return modes;
end
$$;

-- Holds the price of each search, or returns why not.
create or replace function pb.hold(
  search_ids uuid[], wallet_ids uuid[], key_ids uuid[], idempotency_hmacs bytea[], fingerprints bytea[], run_names text[],
  run_maxes bigint[], run_ttls integer[], categories text[] default null, sent_before boolean default true,
  skip_locked boolean default false, lock_wait_ms integer default null, expected_timeline text default null,
  end_users text[] default null
)
returns table (
  item integer, outcome text, balance_micros bigint, owed_micros bigint, limit_micros bigint, spent_micros bigint,
  resets_at timestamptz, answer bytea, budgets jsonb, spent_budget jsonb
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  now_at timestamptz;
  modes pb.key_mode[];
begin
  perform pb.require_timeline(expected_timeline),
    case when lock_wait_ms is not null then set_config('lock_timeout', lock_wait_ms::text, true) end;
  if cardinality(search_ids) = 1 and not sent_before and run_names is null then
    balance_micros := pb.hold_one(
      search_ids[1], wallet_ids[1], key_ids[1], idempotency_hmacs[1], fingerprints[1], categories[1], end_users[1],
      skip_locked
    );
    if balance_micros is not null then
      item := 1;
      outcome := 'held';
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
  if not sent_before then
    modes := pb.hold_plain(
      search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, run_names, categories, now_at, end_users
    );
  end if;
  if modes is not null or skip_locked then
    return query
      select b.item::integer, case when b.wallet_id is null then 'busy' else 'held' end, w.credited_micros - w.debited_micros,
        null::bigint, null::bigint, null::bigint, null::timestamptz, null::bytea, null::jsonb, null::jsonb
      from unnest(wallet_ids, modes) with ordinality as b (wallet_id, mode, item)
      left join lateral (select * from pb.wallets f where f.id = b.wallet_id offset 0) w on true
      where b.wallet_id is null or b.mode is not null;
    if num_nulls(variadic modes) = 0 then
      return;
    end if;
    wallet_ids := array(
      select case when b.mode is null then b.wallet_id end
      from unnest(wallet_ids, modes) with ordinality as b (wallet_id, mode, item) order by b.item
    );
  end if;
  if idempotency_hmacs is not null then
    perform pb.take_over_claims(search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, now_at);
  end if;
  return query select * from pb.hold_each(
    search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, run_names, run_maxes, run_ttls, categories, sent_before,
    now_at, end_users
  );
end
$$;
