-- Why: an owner asks what became of each search, newest first, and an operator how an upstream did hour by hour.
--
-- pb.searches has no index by wallet, because every search would pay for it. What was charged is found through its entry in
-- pb.transfers, which has one. What ended without a charge has an outcome, and test searches cost nothing: an index of each
-- alone has no row of a search that succeeds, and a capture stays a HOT update. So from now on all that ends unpaid gets an
-- outcome, also where nobody gave one.

-- As in 0003, and with the outcome.
create or replace function pb.settle_unpaid(
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
    set state = last_state, settled_at = now_at, outcome = coalesce(s.outcome, last_state::text)
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

-- "on only": the old days would have to be read whole, while every search waits. The newest partitions get the indexes here,
-- as far back as 256 MB of rows go, which is a second; later ones get them when they are made. The list says since when
-- it knows. To reach further back, for each older day, newest first, and the same for searches_of_tests:
--   create index concurrently on pb.searches_20300131 (wallet_id, id desc) where outcome is not null and mode = 'live';
--   alter index pb.searches_unpaid attach partition pb.<its name>;
create index searches_unpaid on only pb.searches (wallet_id, id desc)
  where outcome is not null and mode = 'live';
create index searches_of_tests on only pb.searches (wallet_id, id desc) where mode = 'test';

do $$
declare
  the_partition regclass;
  budget bigint := 256 * 1024 * 1024;
begin
  for the_partition in
    select i.inhrelid from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'pb.searches'::regclass order by c.relname desc
  loop
    budget := budget - pg_relation_size(the_partition);
    exit when budget < 0;
    execute format(
      'create index %1$I on %2$s (wallet_id, id desc) where outcome is not null and mode = ''live'';
       alter index pb.searches_unpaid attach partition pb.%1$I;
       create index %3$I on %2$s (wallet_id, id desc) where mode = ''test'';
       alter index pb.searches_of_tests attach partition pb.%3$I',
      replace(the_partition::text, 'pb.', '') || '_unpaid', the_partition,
      replace(the_partition::text, 'pb.', '') || '_of_tests'
    );
  end loop;
end
$$;

-- Since when every search that has ended is in the indexes: the day after the last partition that lacks one, or the day of
-- the first partition there is.
create function pb.searches_listed_since() returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  with days as (
    select to_date(right(c.relname, 8), 'YYYYMMDD') as day, (
      select count(*) from pg_index x join pg_inherits xi on xi.inhrelid = x.indexrelid
      where x.indrelid = c.oid and x.indisvalid
        and xi.inhparent in ('pb.searches_unpaid'::regclass, 'pb.searches_of_tests'::regclass)
    ) = 2 as is_listed
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'pb.searches'::regclass
  )
  select coalesce(max(day) filter (where not is_listed) + 1, min(day))::timestamp at time zone 'utc' from days;
end;

-- The newest searches of the wallet below one id and from another on: live ones that ended unpaid, or test ones. Behind
-- row-level security PostgreSQL cannot tell how rare those are, and would rather walk everybody's searches by the primary
-- key; but only its own index holds all that is asked for here, and no other kind of scan is left.
create function pb.own_search_ids(the_mode pb.key_mode, before uuid, since uuid, most bigint) returns setof uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_indexscan = off set enable_bitmapscan = off as $$
begin
  if the_mode = 'test' then
    return query
    select s.id from pb.searches s
    where s.wallet_id = (select pb.own_wallet()) and s.mode = 'test' and s.id < before and s.id >= since
    order by s.id desc limit most;
  else
    return query
    select s.id from pb.searches s
    where s.wallet_id = (select pb.own_wallet()) and s.mode = 'live' and s.outcome is not null
      and s.id < before and s.id >= since
    order by s.id desc limit most;
  end if;
end
$$;

-- A wallet's runs, newest first. A search that spends from an open run changes none of these columns.
create index runs_by_age on pb.run_budgets (wallet_id, opened_at desc, id desc);

grant execute on function pb.searches_listed_since, pb.own_search_ids to pennyblack_tenant;
grant select
  (id, wallet_id, key_id, mode, state, price_micros, held_at, settled_at, run_budget_id, category, outcome)
  on pb.searches to pennyblack_tenant;
grant select (wallet_id, name, id, max_micros, spent_micros, opened_at, expires_at)
  on pb.run_budgets to pennyblack_tenant;

alter table pb.searches enable row level security;
alter table pb.run_budgets enable row level security;

create policy own_searches on pb.searches for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));
create policy own_runs on pb.run_budgets for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

-- How an upstream did, hour by hour of the servers' clocks: calls by how they ended and how long they took, as the upper
-- bound of a class of durations. `was_open`: after one of these calls others were asked before it for a while.
create table pb.upstream_hours (
  hour timestamptz not null check (extract(epoch from hour)::bigint % 3600 = 0),
  provider text not null check (length(provider) between 1 and 64),
  outcome text not null check (length(outcome) between 1 and 64),
  up_to_ms integer not null check (up_to_ms > 0),
  calls bigint not null check (calls >= 0),
  was_open boolean not null,
  primary key (hour, provider, outcome, up_to_ms)
) with (fillfactor = 50);

-- As in 0012, and with the hours. A server of the version before reports days alone.
create or replace function pb.write_tally(writer uuid, batch bigint, refusals jsonb, upstreams jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
begin
  insert into pb.tally_writers as w values (writer, batch, clock_timestamp())
  on conflict (id) do update set last_batch = excluded.last_batch, seen_at = excluded.seen_at
  where w.last_batch < excluded.last_batch;
  if not found then
    return;
  end if;
  delete from pb.tally_writers where seen_at < clock_timestamp() - interval '1 day';

  insert into pb.usage_hours as u
  select r.wallet_id, r.hour, r.key_id, r.mode, '', r.outcome, false, r.searches, 0
  from jsonb_to_recordset(refusals)
    as r (wallet_id uuid, hour timestamptz, key_id uuid, mode pb.key_mode, outcome text, searches bigint)
  order by 1, 2, 3, 4, 6
  on conflict (wallet_id, hour, key_id, mode, category, outcome, was_held) do update
  set searches = u.searches + excluded.searches;

  insert into pb.usage_days as u
  select r.wallet_id, pb.utc_day(r.hour), r.key_id, r.mode, '', r.outcome, false, sum(r.searches)::bigint, 0
  from jsonb_to_recordset(refusals)
    as r (wallet_id uuid, hour timestamptz, key_id uuid, mode pb.key_mode, outcome text, searches bigint)
  group by 1, 2, 3, 4, 6
  order by 1, 2, 3, 4, 6
  on conflict (wallet_id, day, key_id, mode, category, outcome, was_held) do update
  set searches = u.searches + excluded.searches;

  insert into pb.upstream_days as u
  select r.day, r.provider, r.outcome, sum(r.calls)::bigint, sum(r.cost_micros)::bigint, sum(r.revenue_micros)::bigint
  from jsonb_to_recordset(upstreams)
    as r (day date, provider text, outcome text, calls bigint, cost_micros bigint, revenue_micros bigint)
  group by 1, 2, 3
  order by 1, 2, 3
  on conflict (day, provider, outcome) do update
  set calls = u.calls + excluded.calls, cost_micros = u.cost_micros + excluded.cost_micros,
    revenue_micros = u.revenue_micros + excluded.revenue_micros;

  insert into pb.upstream_hours as u
  select r.hour, r.provider, r.outcome, r.up_to_ms, sum(r.calls)::bigint, bool_or(r.was_open)
  from jsonb_to_recordset(upstreams)
    as r (hour timestamptz, provider text, outcome text, up_to_ms integer, calls bigint, was_open boolean)
  where r.up_to_ms is not null
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (hour, provider, outcome, up_to_ms) do update
  set calls = u.calls + excluded.calls, was_open = u.was_open or excluded.was_open;
  delete from pb.upstream_hours where hour < clock_timestamp() - interval '7 days';
end
$$;

-- Every sweep moves the watermark, so that its row also tells when a worker was last at work.
alter table pb.sweep_watermark add column swept_at timestamptz;

create function pb.note_sweep() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.swept_at := clock_timestamp();
  return new;
end
$$;

create trigger sweep_is_noted before update on pb.sweep_watermark for each row execute function pb.note_sweep();

-- What an operator asks the database about itself. The oldest hold in flight is looked for behind the watermark, among so
-- many searches that a sweeper which has not come for hours does not make the question a burden of its own.
create function pb.operator_health(
  out oldest_pending_s integer, out swept_at timestamptz, out partition_days integer,
  out connections integer, out most_connections integer, out bytes bigint
)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  since timestamptz;
begin
  select w.settled_before, w.swept_at into since, swept_at from pb.sweep_watermark w;
  oldest_pending_s := (
    select extract(epoch from clock_timestamp() - min(s.held_at))
    from (
      select f.held_at, f.state from pb.searches f
      where f.id >= pb.uuid_floor(since - interval '1 minute') order by f.id limit 100000
    ) s
    where s.state = 'pending'
  );
  partition_days := pb.partition_days_ahead();
  connections := (select sum(numbackends) from pg_stat_database);
  most_connections := current_setting('max_connections');
  bytes := pg_database_size(current_database());
end
$$;

revoke all on function pb.note_sweep, pb.operator_health from public;
grant execute on function pb.operator_health to pennyblack_operator;
grant select on pb.upstream_hours to pennyblack_operator;
