-- Why: an owner asks not only what was spent but what for and what failed. So a search's row says the category that
-- was asked for, when it is held, and why it failed, when it is released. Both are words from our own tables. The query
-- itself is still written nowhere.
--
-- The new arguments have defaults, so that a running server of the version before can go on calling.

-- Not valid: of the rows that exist none has either, and looking at them all would hold up every search.
alter table pb.searches add column category text, add column outcome text;
alter table pb.searches
  add constraint category_is_a_word check (length(category) <= 32) not valid,
  add constraint outcome_is_a_word check (length(outcome) <= 64) not valid;

drop function pb.hold(uuid[], uuid[], uuid[], bytea[], bytea[], text[], bigint[], integer[]);

-- As in 0004, where its rules are told, and with the category written to the row.
create function pb.hold(
  search_ids uuid[],
  wallet_ids uuid[],
  key_ids uuid[],
  idempotency_hmacs bytea[],
  fingerprints bytea[],
  run_names text[],
  run_maxes bigint[],
  run_ttls integer[],
  categories text[] default null
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
  size integer := cardinality(search_ids);
  sorted_ids uuid[] := array(select distinct id from unnest(search_ids) id order by id);
  first_id uuid := sorted_ids[1];
  last_id uuid := sorted_ids[cardinality(sorted_ids)];
  now_at timestamptz;
  today date;
  this_month date;
  -- The id's time is the server's clock; the sweeper and the partitions rely on it being about right.
  oldest_id uuid;
  newest_id uuid;

  has_claims boolean := cardinality(array_remove(idempotency_hmacs, null)) > 0;
  has_runs boolean := cardinality(array_remove(run_names, null)) > 0;
  has_budgets boolean;
  is_plain boolean;

  items refcursor;
  i record;  -- what an item does not have is null there, and null refuses nothing
  price bigint;
  this_wallet uuid;
  balance bigint;
  held bigint;
  held_by uuid;
  still_held boolean;
  claimed bytea;
  claim_fingerprint bytea[];
  budget_taken bigint[];
  run_id uuid[];
  run_max bigint[];
  run_expires timestamptz[];
  run_taken bigint[];

  -- What is to be written, under the item's number. An item without a mode was not accepted.
  a_mode pb.key_mode[] := array_fill(null::pb.key_mode, array[size]);
  a_budget uuid[] := '{}';
  a_run uuid[] := '{}';
begin
  perform from pb.wallets w where w.id = any (wallet_ids) order by w.id for no key update;
  now_at := clock_timestamp();
  oldest_id := pb.uuid_floor(now_at - interval '1 day');
  newest_id := pb.uuid_floor(now_at + interval '1 day');

  has_budgets := exists (select from pb.keys k where k.id = any (key_ids) and k.budget_id is not null);
  is_plain := not (has_claims or has_runs or has_budgets) and cardinality(sorted_ids) = size and not exists (
    select from pb.searches s where s.id = any (search_ids) and s.id between first_id and last_id
  );

  if is_plain then
    open items no scroll for
      select b.*, w.id is not null and k.id is not null as known,
        w.credited_micros - w.debited_micros as balance, w.held_micros as held,
        w.suspended_at is not null as suspended, k.mode, k.revoked_at is not null as revoked,
        k.expires_at is not null and k.expires_at <= now_at as key_expired
      from unnest(search_ids, wallet_ids, key_ids) with ordinality as b (search_id, wallet_id, key_id, item)
      left join pb.wallets w on w.id = b.wallet_id
      -- Not "=": the index by wallet would serve that too, and walk all keys of a wallet to find one.
      left join pb.keys k
        on k.id = b.key_id and k.wallet_id is not distinct from b.wallet_id and k.mode <> 'mgmt'
      order by b.wallet_id, b.item;
  else
    today := pb.utc_day(now_at);
    this_month := pb.utc_month(now_at);
    a_budget := array_fill(null::uuid, array[size]);
    a_run := array_fill(null::uuid, array[size]);
    if has_claims then
      perform pb.take_over_claims(search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, now_at);
    end if;
    open items no scroll for
      select b.*, w.id is not null and k.id is not null as known,
        w.credited_micros - w.debited_micros as balance, w.held_micros as held,
        w.suspended_at is not null as suspended, k.mode, k.revoked_at is not null as revoked,
        k.expires_at is not null and k.expires_at <= now_at as key_expired,
        s.wallet_id as held_by, s.state = 'pending' and s.expires_at > now_at as still_held,
        count(*) over (partition by b.search_id) > 1 as is_repeated,
        c.fingerprint as claimed_fingerprint, c.answer as stored_answer,
        k.budget_id, g.total_limit_micros, g.day_limit_micros, g.month_limit_micros,
        g.total_spent_micros as total_spent,
        case when g.day = today then g.day_spent_micros else 0 end as day_spent,
        case when g.month = this_month then g.month_spent_micros else 0 end as month_spent,
        r.id as open_run, r.max_micros as open_run_max, r.spent_micros as open_run_spent,
        r.expires_at as open_run_expires,
        dense_rank() over (order by k.budget_id) as budget_number,
        dense_rank() over (order by b.wallet_id, k.mode, b.idempotency_hmac) as claim_number,
        dense_rank() over (order by b.wallet_id, b.run_name) as run_number
      from unnest(
        search_ids, wallet_ids, key_ids, idempotency_hmacs, fingerprints, run_names, run_maxes, run_ttls
      ) with ordinality as b (
        search_id, wallet_id, key_id, idempotency_hmac, fingerprint, run_name, run_max, run_ttl, item
      )
      left join pb.wallets w on w.id = b.wallet_id
      left join pb.keys k
        on k.id = b.key_id and k.wallet_id is not distinct from b.wallet_id and k.mode <> 'mgmt'
      -- "offset 0" keeps this a look-up per item; as a plain join it may become a walk of the whole range of ids.
      left join lateral (
        select f.wallet_id, f.state, f.expires_at from pb.searches f
        where f.id = b.search_id and f.id between first_id and last_id offset 0
      ) s on true
      left join pb.key_budgets g on g.id = k.budget_id and g.wallet_id = b.wallet_id
      left join pb.run_budgets r
        on r.wallet_id = b.wallet_id and r.name = b.run_name and r.expires_at > now_at
      left join pb.idempotency c
        on c.wallet_id = b.wallet_id and c.mode = k.mode and c.key_hmac = b.idempotency_hmac
        and c.claimed_at > now_at - interval '24 hours'
      order by b.wallet_id, b.item;
  end if;

  loop
    fetch items into i;
    exit when not found;
    if i.wallet_id is distinct from this_wallet then
      this_wallet := i.wallet_id;
      balance := i.balance;
      held := i.held;
    end if;
    item := i.item;
    balance_micros := balance;
    price := case i.mode when 'live' then 10000 else 0 end;

    if not is_plain then
      limit_micros := null;
      spent_micros := null;
      resets_at := null;
      answer := null;
      held_by := i.held_by;
      still_held := i.still_held;
      if i.is_repeated and held_by is null then
        select a.wallet_id, true into held_by, still_held
        from unnest(search_ids, wallet_ids, a_mode) as a (search_id, wallet_id, mode)
        where a.search_id = i.search_id and a.mode is not null;
      end if;
    end if;

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

    if outcome is null and price > balance - held then
      outcome := case when price > balance then 'insufficient_balance' else 'balance_reserved' end;
    end if;

    if has_budgets and outcome is null and price > 0 then
      select 'key_budget_spent', p.cap, p.spent, p.resets
      into outcome, limit_micros, spent_micros, resets_at
      from (values
        (i.total_limit_micros, i.total_spent + coalesce(budget_taken[i.budget_number], 0), null::timestamptz),
        (i.day_limit_micros, i.day_spent + coalesce(budget_taken[i.budget_number], 0),
          (today + 1)::timestamp at time zone 'utc'),
        (i.month_limit_micros, i.month_spent + coalesce(budget_taken[i.budget_number], 0),
          (this_month + interval '1 month') at time zone 'utc')
      ) as p (cap, spent, resets)
      where p.spent + price > p.cap
      limit 1;
    end if;

    if has_runs and outcome is null and price > 0 then
      limit_micros := coalesce(i.open_run_max, run_max[i.run_number], i.run_max);
      spent_micros := coalesce(i.open_run_spent, 0) + coalesce(run_taken[i.run_number], 0);
      if spent_micros + price > limit_micros then
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
      a_mode[i.item] := i.mode;
      if has_claims then
        claim_fingerprint[i.claim_number] := i.fingerprint;
      end if;
      if has_budgets and price > 0 then
        budget_taken[i.budget_number] := coalesce(budget_taken[i.budget_number], 0) + price;
        a_budget[i.item] := i.budget_id;
      end if;
      if has_runs and price > 0 then
        if i.run_name is not null and run_id[i.run_number] is null then
          run_id[i.run_number] := coalesce(i.open_run, gen_random_uuid());
          run_max[i.run_number] := coalesce(i.open_run_max, i.run_max);
          run_expires[i.run_number] := coalesce(i.open_run_expires, now_at + make_interval(secs => i.run_ttl));
        end if;
        run_taken[i.run_number] := coalesce(run_taken[i.run_number], 0) + price;
        a_run[i.item] := run_id[i.run_number];
      end if;
    end if;
    return next;
  end loop;
  close items;

  update pb.wallets w set held_micros = w.held_micros + taken.micros
  from (
    select a.wallet_id, count(*) * 10000 as micros
    from unnest(wallet_ids, a_mode) as a (wallet_id, mode) where a.mode = 'live' group by a.wallet_id
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
      select a.budget_id, count(*) * 10000 as micros
      from unnest(a_budget) as a (budget_id) where a.budget_id is not null group by a.budget_id
    ) taken
    where g.id = taken.budget_id;
  end if;

  if has_runs then
    -- The conflict is either the open run, which spends on, or one of the same name whose life is over.
    insert into pb.run_budgets as r (wallet_id, name, id, max_micros, spent_micros, opened_at, expires_at)
    select a.wallet_id, a.run_name, a.run, o.run_max, count(*) * 10000, now_at, o.run_expires
    from unnest(wallet_ids, run_names, a_run) as a (wallet_id, run_name, run)
    join unnest(run_id, run_max, run_expires) as o (run, run_max, run_expires) on o.run = a.run
    group by a.wallet_id, a.run_name, a.run, o.run_max, o.run_expires
    on conflict (wallet_id, name) do update
    set spent_micros = excluded.spent_micros + case when r.id = excluded.id then r.spent_micros else 0 end,
        opened_at = case when r.id = excluded.id then r.opened_at else excluded.opened_at end,
        id = excluded.id, max_micros = excluded.max_micros, expires_at = excluded.expires_at;
  end if;

  if has_claims then
    -- The conflict is a claim older than a day: its answer is no longer promised.
    insert into pb.idempotency (wallet_id, mode, key_hmac, fingerprint, search_id, claimed_at)
    select a.wallet_id, a.mode, a.hmac, a.fingerprint, a.search_id, now_at
    from unnest(wallet_ids, a_mode, idempotency_hmacs, fingerprints, search_ids)
      as a (wallet_id, mode, hmac, fingerprint, search_id)
    where a.mode is not null and a.hmac is not null
    on conflict (wallet_id, mode, key_hmac) do update
    set fingerprint = excluded.fingerprint, search_id = excluded.search_id,
        claimed_at = excluded.claimed_at, answer = null;
  end if;

  insert into pb.searches
    (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at,
     key_budget_id, run_budget_id, idempotency_hmac, category)
  select a.search_id, a.wallet_id, a.key_id, a.mode, case a.mode when 'live' then 10000 else 0 end, 'pending',
    now_at, now_at + interval '60 seconds', a.budget_id, a.run, a.hmac, a.category
  from unnest(search_ids, wallet_ids, key_ids, a_mode, a_budget, a_run, idempotency_hmacs, categories)
    as a (search_id, wallet_id, key_id, mode, budget_id, run, hmac, category)
  where a.mode is not null;
end
$$;

drop function pb.release(uuid[], uuid[]);

-- Gives back a batch of holds whose searches failed, and writes down why.
create function pb.release(search_ids uuid[], wallet_ids uuid[], outcomes text[] default null)
returns table (item integer, state text, balance_micros bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  first_id uuid := (select id from unnest(search_ids) id order by id limit 1);
  last_id uuid := (select id from unnest(search_ids) id order by id desc limit 1);
  now_at timestamptz;
begin
  perform pb.lock_wallets(wallet_ids);
  now_at := clock_timestamp();
  -- Only of what is still pending: the reason of a search that has ended is as final as its state.
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

-- Made anew, they are executable by nobody again.
grant execute on function pb.hold, pb.release to pennyblack_ledger;
