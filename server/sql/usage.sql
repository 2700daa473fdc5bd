-- Why: an owner asks what was searched, by which key, what for and how it ended, over a year, in a moment; and an operator
-- asks what an upstream costs against what it brings. pb.searches answers neither fast: it has no index by wallet and ten
-- million rows a day. So searches are counted by hour and by day, once each, behind the sweeper's watermark, where no
-- search changes any more.
--
-- What never became a hold is in no table: refusals and calls to upstreams are counted by each server in memory and
-- written every few seconds. A server that dies loses its last few seconds of those, and nothing of what was held.

-- One row: how often, in this hour, a key's searches of one category ended in one way. `was_held` tells searches that
-- were held, which are counted from pb.searches, from requests that were refused before a hold or replayed after one,
-- which servers report. No category is '', so that it can be part of the key.
--
-- The counts are in the index of the key, so that a wallet's year, tens of thousands of rows strewn among those of others,
-- is read from the index alone. That needs pages that vacuum has seen: it comes by early.
create table pb.usage_hours (
  wallet_id uuid not null,
  hour timestamptz not null check (extract(epoch from hour)::bigint % 3600 = 0),
  key_id uuid not null,
  mode pb.key_mode not null check (mode <> 'mgmt'),
  category text not null,
  outcome text not null check (outcome <> ''),
  was_held boolean not null,
  searches bigint not null check (searches >= 0),
  charged_micros bigint not null check (charged_micros >= 0),
  primary key (wallet_id, hour, key_id, mode, category, outcome, was_held) include (searches, charged_micros),
  constraint only_live_successes_charge
    check (charged_micros = 0 or (was_held and mode = 'live' and outcome = 'ok'))
) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02);

-- The recount reads one hour of all wallets.
create index usage_hours_by_hour on pb.usage_hours using brin (hour) with (pages_per_range = 16, autosummarize = on);

-- The same by UTC day, so that a year reads few rows.
create table pb.usage_days (
  wallet_id uuid not null,
  day date not null,
  key_id uuid not null,
  mode pb.key_mode not null check (mode <> 'mgmt'),
  category text not null,
  outcome text not null check (outcome <> ''),
  was_held boolean not null,
  searches bigint not null check (searches >= 0),
  charged_micros bigint not null check (charged_micros >= 0),
  primary key (wallet_id, day, key_id, mode, category, outcome, was_held) include (searches, charged_micros),
  constraint only_live_successes_charge
    check (charged_micros = 0 or (was_held and mode = 'live' and outcome = 'ok'))
) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02);

-- Every search held before this moment is counted. It moves in the transaction that counts.
create table pb.usage_watermark (
  single_row boolean primary key default true check (single_row),
  counted_before timestamptz not null
);

-- From the first search there is. Its id bears the time of a server's clock, at most a day off.
insert into pb.usage_watermark (counted_before)
select least(
  w.settled_before,
  (select to_timestamp(('x' || left(replace(s.id::text, '-', ''), 12))::bit(48)::bigint / 1000) - interval '1 day'
   from pb.searches s order by s.id limit 1)
)
from pb.sweep_watermark w;

-- What the searches held in a stretch of time come to. A hold that is still pending behind the sweeper's watermark
-- appeared late: it is left to the recount. An id is at most a day off the moment of its hold, for pb.hold refuses others.
create function pb.count_searches(since timestamptz, until timestamptz)
returns table (
  wallet_id uuid, hour timestamptz, key_id uuid, mode pb.key_mode, category text, outcome text,
  searches bigint, charged_micros bigint
)
language plpgsql stable
-- The block range index on held_at finds the stretch; a plan for any stretch would not know which partitions to skip.
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_indexscan = off set work_mem = '64MB' as $$
#variable_conflict use_column
declare
  first_id uuid := pb.uuid_floor(since - interval '1 day');
  last_id uuid := pb.uuid_floor(until + interval '1 day');
begin
  return query
  select s.wallet_id, date_trunc('hour', s.held_at, 'utc'), s.key_id, s.mode, coalesce(s.category, ''),
    case s.state when 'captured' then 'ok' when 'expired' then 'expired' else coalesce(s.outcome, 'released') end,
    count(*), coalesce(sum(s.price_micros) filter (where s.state = 'captured'), 0)::bigint
  from pb.searches s
  where s.id >= first_id and s.id <= last_id and s.held_at >= since and s.held_at < until and s.state <> 'pending'
  group by 1, 2, 3, 4, 5, 6;
end
$$;

-- Counts the next stretch, at most `longest`, up to where every search is settled. Rows and watermark are one
-- transaction: killed, it has counted nothing; and of two at once one finds the watermark locked and leaves.
create function pb.roll_up_usage(longest interval default '1 hour', out searches bigint, out is_done boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  since timestamptz;
  until timestamptz;
begin
  searches := 0;
  is_done := true;
  select w.counted_before into since from pb.usage_watermark w for update skip locked;
  if since is null then
    return;
  end if;
  select least(w.settled_before, since + longest), w.settled_before <= since + longest into until, is_done
  from pb.sweep_watermark w;
  if until <= since then
    return;
  end if;

  with counted as materialized (
    select * from pb.count_searches(since, until)
  ), hours as (
    insert into pb.usage_hours as u
    select c.wallet_id, c.hour, c.key_id, c.mode, c.category, c.outcome, true, c.searches, c.charged_micros
    from counted c
    on conflict (wallet_id, hour, key_id, mode, category, outcome, was_held) do update
    set searches = u.searches + excluded.searches, charged_micros = u.charged_micros + excluded.charged_micros
  ), days as (
    insert into pb.usage_days as u
    select c.wallet_id, pb.utc_day(c.hour), c.key_id, c.mode, c.category, c.outcome, true,
      sum(c.searches)::bigint, sum(c.charged_micros)::bigint
    from counted c
    group by 1, 2, 3, 4, 5, 6
    on conflict (wallet_id, day, key_id, mode, category, outcome, was_held) do update
    set searches = u.searches + excluded.searches, charged_micros = u.charged_micros + excluded.charged_micros
  )
  select coalesce(sum(c.searches), 0)::bigint into searches from counted c;

  update pb.usage_watermark set counted_before = until;
end
$$;

-- Counts one hour again and puts right what differs; says how many rows did. What differs is a hold that became visible
-- only after its hour was counted: after a commit that hung, or a clock that was set back.
create function pb.recount_usage(the_hour timestamptz) returns integer
language plpgsql security definer
-- It waits for a roll-up of an hour; the pool's own patience is for the locks of searches.
set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '60s' as $$
#variable_conflict use_column
declare
  counted_before timestamptz;
  d record;
  corrected integer := 0;
begin
  select w.counted_before into counted_before from pb.usage_watermark w for update;
  if counted_before <= the_hour then
    return 0;
  end if;
  for d in
    select k.wallet_id, k.key_id, k.mode, k.category, k.outcome,
      coalesce(t.searches, 0) - coalesce(u.searches, 0) as searches,
      coalesce(t.charged_micros, 0) - coalesce(u.charged_micros, 0) as charged_micros
    from pb.count_searches(the_hour, least(the_hour + interval '1 hour', counted_before)) t
    full join (select * from pb.usage_hours where hour = the_hour and was_held) u
      on (u.wallet_id, u.key_id, u.mode, u.category, u.outcome) = (t.wallet_id, t.key_id, t.mode, t.category, t.outcome),
    lateral (
      select coalesce(t.wallet_id, u.wallet_id) as wallet_id, coalesce(t.key_id, u.key_id) as key_id,
        coalesce(t.mode, u.mode) as mode, coalesce(t.category, u.category) as category,
        coalesce(t.outcome, u.outcome) as outcome
    ) k
    where (t.searches, t.charged_micros) is distinct from (u.searches, u.charged_micros)
  loop
    -- Not one insert with "on conflict": a difference below zero would fail the check before the conflict is seen.
    insert into pb.usage_hours
    values (d.wallet_id, the_hour, d.key_id, d.mode, d.category, d.outcome, true, 0, 0) on conflict do nothing;
    insert into pb.usage_days
    values (d.wallet_id, pb.utc_day(the_hour), d.key_id, d.mode, d.category, d.outcome, true, 0, 0) on conflict do nothing;
    update pb.usage_hours u
    set searches = u.searches + d.searches, charged_micros = u.charged_micros + d.charged_micros
    where (u.wallet_id, u.hour, u.key_id, u.mode, u.category, u.outcome, u.was_held)
      = (d.wallet_id, the_hour, d.key_id, d.mode, d.category, d.outcome, true);
    update pb.usage_days u
    set searches = u.searches + d.searches, charged_micros = u.charged_micros + d.charged_micros
    where (u.wallet_id, u.day, u.key_id, u.mode, u.category, u.outcome, u.was_held)
      = (d.wallet_id, pb.utc_day(the_hour), d.key_id, d.mode, d.category, d.outcome, true);
    corrected := corrected + 1;
  end loop;
  return corrected;
end
$$;

-- What calls to an upstream came to on a UTC day of the servers' clocks. `outcome` is ok or why it failed; what was
-- charged for its answers stands with the ok ones.
create table pb.upstream_days (
  day date not null,
  provider text not null check (length(provider) between 1 and 64),
  outcome text not null check (length(outcome) between 1 and 64),
  calls bigint not null check (calls >= 0),
  cost_micros bigint not null check (cost_micros >= 0),
  revenue_micros bigint not null check (revenue_micros >= 0),
  primary key (day, provider, outcome)
) with (fillfactor = 50);

-- The last batch each server process wrote, so that one whose answer was lost can be sent again and counts once.
create table pb.tally_writers (
  id uuid primary key,
  last_batch bigint not null,
  seen_at timestamptz not null
);

-- Adds what a server has counted since its last batch. Rows are taken in one order, so that two servers do not deadlock.
create function pb.write_tally(writer uuid, batch bigint, refusals jsonb, upstreams jsonb) returns void
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
  select r.day, r.provider, r.outcome, r.calls, r.cost_micros, r.revenue_micros
  from jsonb_to_recordset(upstreams)
    as r (day date, provider text, outcome text, calls bigint, cost_micros bigint, revenue_micros bigint)
  order by 1, 2, 3
  on conflict (day, provider, outcome) do update
  set calls = u.calls + excluded.calls, cost_micros = u.cost_micros + excluded.cost_micros,
    revenue_micros = u.revenue_micros + excluded.revenue_micros;
end
$$;

-- How far usage is counted, for every tenant's answer.
create function pb.usage_as_of() returns timestamptz
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select counted_before from pb.usage_watermark;
end;

-- Top-ups, credits and refunds are few among many searches: with this, a list of them alone does not walk the others.
-- Captures are not in it, so a search pays nothing for it.
create index transfers_but_captures on pb.transfers (wallet_id, id desc) where kind <> 'capture';

grant execute on function pb.write_tally to pennyblack_ledger;
grant execute on function pb.usage_as_of to pennyblack_tenant;
grant select (wallet_id, hour, key_id, mode, category, outcome, was_held, searches, charged_micros)
  on pb.usage_hours to pennyblack_tenant;
grant select (wallet_id, day, key_id, mode, category, outcome, was_held, searches, charged_micros)
  on pb.usage_days to pennyblack_tenant;

alter table pb.usage_hours enable row level security;
alter table pb.usage_days enable row level security;

-- The sub-select is asked once for a statement, the bare function once for a row.
create policy own_usage_hours on pb.usage_hours for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));
create policy own_usage_days on pb.usage_days for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));
