-- Usage counts. Searches are counted behind the sweeper's watermark, where they no longer change.

-- Counts the searches held in a range of time. A hold that is still pending became visible late, and the recount adds it.
-- An id is at most a day off the time of its hold, because pb.hold refuses others. The BRIN index on held_at finds the
-- range, while a generic plan could not prune partitions.
create or replace function pb.count_searches(since timestamptz, until timestamptz)
returns table (
  wallet_id uuid, hour timestamptz, key_id uuid, mode pb.key_mode, category text, outcome text,
  searches bigint, charged_micros bigint
)
language plpgsql stable
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

-- Counts the searches held in a range of time by end user and day. Searches without an end user are not counted, nor are those of
-- accounts deleted since, whose counts were deleted with the account.
create or replace function pb.count_end_users(since timestamptz, until timestamptz)
returns table (
  wallet_id uuid, day date, mode pb.key_mode, end_user text, searches bigint, charged_micros bigint
)
language plpgsql stable
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_indexscan = off set work_mem = '64MB' as $$
#variable_conflict use_column
declare
  first_id uuid := pb.uuid_floor(since - interval '1 day');
  last_id uuid := pb.uuid_floor(until + interval '1 day');
  deleted uuid[] := array(
    select w.id from pb.accounts a join pb.wallets w on w.account_id = a.id where a.deleted_at >= since
  );
begin
  return query
  select s.wallet_id, pb.utc_day(s.held_at), s.mode, s.end_user,
    count(*), coalesce(sum(s.price_micros) filter (where s.state = 'captured'), 0)::bigint
  from pb.searches s
  where s.id >= first_id and s.id <= last_id and s.held_at >= since and s.held_at < until and s.state <> 'pending'
    and s.end_user is not null and s.wallet_id <> all (deleted)
  group by 1, 2, 3, 4;
end
$$;

-- Counts the charged searches held in a range of time by UTC day and by the time from the request to the charge. A search whose
-- server did not report its steps counts from its hold, as in lists.
create or replace function pb.count_latencies(since timestamptz, until timestamptz)
returns table (day date, up_to_ms integer, searches bigint, slow_searches bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_indexscan = off set work_mem = '64MB' as $$
#variable_conflict use_column
declare
  first_id uuid := pb.uuid_floor(since - interval '1 day');
  last_id uuid := pb.uuid_floor(until + interval '1 day');
begin
  return query
  select pb.utc_day(s.held_at),
    case when t.ms <= 100 then t.ms when t.ms <= 1000 then (t.ms + 9) / 10 * 10 else (t.ms + 99) / 100 * 100 end,
    count(*), count(*) filter (where t.ms - s.upstream_ms > 100)
  from pb.searches s, lateral (
    select greatest(
      coalesce(s.auth_ms + s.hold_ms, 0) + round(extract(epoch from s.settled_at - s.held_at) * 1000)::integer, 1
    ) as ms
  ) t
  where s.id >= first_id and s.id <= last_id and s.held_at >= since and s.held_at < until
    and s.state = 'captured' and s.mode = 'live'
  group by 1, 2;
end
$$;

-- Deletes counts that no page shows any longer, after the reports of killed servers were used.
create or replace function pb.delete_old_counts() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.mark_killed_servers();
  delete from pb.tally_writers where seen_at < clock_timestamp() - interval '1 day';
  delete from pb.upstream_hours where hour < clock_timestamp() - interval '7 days';
  delete from pb.abandoned_calls where since < clock_timestamp() - interval '1 day';
end
$$;

-- Counts the next range, at most max_range, up to the sweeper's watermark. Rows and watermark are one transaction. If
-- another worker is counting, the watermark is locked and this call does nothing. Old counts are deleted with the last range.
create or replace function pb.roll_up_usage(
  max_range interval default '1 hour', out searches bigint, out is_done boolean
)
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
  select least(w.settled_before, since + max_range), w.settled_before <= since + max_range into until, is_done
  from pb.sweep_watermark w;
  if is_done then
    perform pb.delete_old_counts();
  end if;
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

  insert into pb.usage_end_users as u
  select * from pb.count_end_users(since, until)
  on conflict (wallet_id, day, mode, end_user) do update
  set searches = u.searches + excluded.searches, charged_micros = u.charged_micros + excluded.charged_micros;

  insert into pb.latency_days as l
  select * from pb.count_latencies(since, until)
  on conflict (day, up_to_ms) do update
  set searches = l.searches + excluded.searches, slow_searches = l.slow_searches + excluded.slow_searches;

  update pb.usage_watermark set counted_before = until;
end
$$;

-- Counts one hour again, corrects the rows that differ, and returns how many did. A difference is a hold that became
-- visible after its hour was counted, after a commit that hung or a clock that was set back. The lock timeout is long
-- because a roll-up of an hour may be running.
create or replace function pb.recount_usage(p_hour timestamptz) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '60s' as $$
#variable_conflict use_column
declare
  counted_before timestamptz;
  d record;
  corrected integer := 0;
begin
  select w.counted_before into counted_before from pb.usage_watermark w for update;
  if counted_before <= p_hour then
    return 0;
  end if;
  for d in
    select k.wallet_id, k.key_id, k.mode, k.category, k.outcome,
      coalesce(t.searches, 0) - coalesce(u.searches, 0) as searches,
      coalesce(t.charged_micros, 0) - coalesce(u.charged_micros, 0) as charged_micros
    from pb.count_searches(p_hour, least(p_hour + interval '1 hour', counted_before)) t
    full join (select * from pb.usage_hours where hour = p_hour and was_held) u
      on (u.wallet_id, u.key_id, u.mode, u.category, u.outcome)
        = (t.wallet_id, t.key_id, t.mode, t.category, t.outcome),
    lateral (
      select coalesce(t.wallet_id, u.wallet_id) as wallet_id, coalesce(t.key_id, u.key_id) as key_id,
        coalesce(t.mode, u.mode) as mode, coalesce(t.category, u.category) as category,
        coalesce(t.outcome, u.outcome) as outcome
    ) k
    where (t.searches, t.charged_micros) is distinct from (u.searches, u.charged_micros)
  loop
    -- Not INSERT ... ON CONFLICT: a negative difference would violate the check before the conflict is found.
    insert into pb.usage_hours
    values (d.wallet_id, p_hour, d.key_id, d.mode, d.category, d.outcome, true, 0, 0) on conflict do nothing;
    insert into pb.usage_days
    values (d.wallet_id, pb.utc_day(p_hour), d.key_id, d.mode, d.category, d.outcome, true, 0, 0)
    on conflict do nothing;
    update pb.usage_hours u
    set searches = u.searches + d.searches, charged_micros = u.charged_micros + d.charged_micros
    where (u.wallet_id, u.hour, u.key_id, u.mode, u.category, u.outcome, u.was_held)
      = (d.wallet_id, p_hour, d.key_id, d.mode, d.category, d.outcome, true);
    update pb.usage_days u
    set searches = u.searches + d.searches, charged_micros = u.charged_micros + d.charged_micros
    where (u.wallet_id, u.day, u.key_id, u.mode, u.category, u.outcome, u.was_held)
      = (d.wallet_id, pb.utc_day(p_hour), d.key_id, d.mode, d.category, d.outcome, true);
    corrected := corrected + 1;
  end loop;
  -- End users and latencies have no hours, so their whole day is counted again.
  if corrected > 0 then
    delete from pb.latency_days l where l.day = pb.utc_day(p_hour);
    insert into pb.latency_days
    select * from pb.count_latencies(
      date_trunc('day', p_hour, 'utc'), least(date_trunc('day', p_hour, 'utc') + interval '1 day', counted_before)
    );
    delete from pb.usage_end_users u where u.day = pb.utc_day(p_hour);
    insert into pb.usage_end_users
    select * from pb.count_end_users(
      date_trunc('day', p_hour, 'utc'), least(date_trunc('day', p_hour, 'utc') + interval '1 day', counted_before)
    );
  end if;
  return corrected;
end
$$;

-- Adds the calls to upstreams and their costs, for pb.write_tally.
create or replace function pb.count_calls(upstreams jsonb, wallets jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  insert into pb.upstream_days as u (day, provider, outcome, calls, cost_micros, revenue_micros, paid_cost_micros)
  select r.day, r.provider, r.outcome, sum(r.calls)::bigint, sum(r.cost_micros)::bigint, sum(r.revenue_micros)::bigint,
    sum(r.paid_cost_micros)::bigint
  from jsonb_to_recordset(upstreams) as r (
    day date, provider text, outcome text, calls bigint, cost_micros bigint, revenue_micros bigint, paid_cost_micros bigint
  )
  group by 1, 2, 3
  order by 1, 2, 3
  on conflict (day, provider, outcome) do update
  set calls = u.calls + excluded.calls, cost_micros = u.cost_micros + excluded.cost_micros,
    revenue_micros = u.revenue_micros + excluded.revenue_micros,
    paid_cost_micros = u.paid_cost_micros + excluded.paid_cost_micros;

  insert into pb.upstream_hours as u
  select r.hour, r.provider, r.outcome, r.up_to_ms, sum(r.calls)::bigint, bool_or(r.was_open)
  from jsonb_to_recordset(upstreams)
    as r (hour timestamptz, provider text, outcome text, up_to_ms integer, calls bigint, was_open boolean)
  where r.up_to_ms is not null
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (hour, provider, outcome, up_to_ms) do update
  set calls = u.calls + excluded.calls, was_open = u.was_open or excluded.was_open;

  insert into pb.upstream_wallet_days as u
  select r.day, r.wallet_id, r.provider, r.calls, r.cost_micros, r.paid_calls, r.paid_cost_micros, r.abandoned_calls,
    r.abandoned_cost_micros
  from jsonb_to_recordset(wallets) as r (
    day date, wallet_id uuid, provider text, calls bigint, cost_micros bigint, paid_calls bigint,
    paid_cost_micros bigint, abandoned_calls bigint, abandoned_cost_micros bigint
  )
  order by 1, 2, 3
  on conflict (day, wallet_id, provider) do update
  set calls = u.calls + excluded.calls, cost_micros = u.cost_micros + excluded.cost_micros,
    paid_calls = u.paid_calls + excluded.paid_calls, paid_cost_micros = u.paid_cost_micros + excluded.paid_cost_micros,
    abandoned_calls = u.abandoned_calls + excluded.abandoned_calls,
    abandoned_cost_micros = u.abandoned_cost_micros + excluded.abandoned_cost_micros;

  insert into pb.abandoned_calls as a
  select date_bin('5 minutes', clock_timestamp(), timestamptz 'epoch'), r.wallet_id, sum(r.abandoned_calls)::bigint,
    sum(r.abandoned_cost_micros)::bigint, sum(r.paid_calls)::bigint
  from jsonb_to_recordset(wallets)
    as r (wallet_id uuid, abandoned_calls bigint, abandoned_cost_micros bigint, paid_calls bigint)
  group by r.wallet_id
  having sum(r.abandoned_calls) > 0
  order by r.wallet_id
  on conflict (since, wallet_id) do update
  set calls = a.calls + excluded.calls, cost_micros = a.cost_micros + excluded.cost_micros,
    paid_calls = a.paid_calls + excluded.paid_calls;
end
$$;

-- The cost of each upstream in the current UTC day and month, for the servers' cost caps.
create or replace function pb.upstream_costs()
returns table (provider text, day date, day_micros bigint, month_micros bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select u.provider, t.today, coalesce(sum(u.cost_micros) filter (where u.day = t.today), 0)::bigint,
    sum(u.cost_micros)::bigint
  from (select pb.utc_day(clock_timestamp()) as today) t
  join pb.upstream_days u on u.day between date_trunc('month', t.today)::date and t.today
  group by u.provider, t.today;
end;

-- Adds counts of refusals and replays. Rows are written in a fixed order, so that two servers do not deadlock.
create or replace function pb.count_unheld(counts jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  insert into pb.usage_hours as u
  select r.wallet_id, r.hour, r.key_id, r.mode, '', r.outcome, false, sum(r.searches)::bigint, 0
  from jsonb_to_recordset(counts)
    as r (wallet_id uuid, hour timestamptz, key_id uuid, mode pb.key_mode, outcome text, searches bigint)
  group by 1, 2, 3, 4, 6
  order by 1, 2, 3, 4, 6
  on conflict (wallet_id, hour, key_id, mode, category, outcome, was_held) do update
  set searches = u.searches + excluded.searches;

  insert into pb.usage_days as u
  select r.wallet_id, pb.utc_day(r.hour), r.key_id, r.mode, '', r.outcome, false, sum(r.searches)::bigint, 0
  from jsonb_to_recordset(counts)
    as r (wallet_id uuid, hour timestamptz, key_id uuid, mode pb.key_mode, outcome text, searches bigint)
  group by 1, 2, 3, 4, 6
  order by 1, 2, 3, 4, 6
  on conflict (wallet_id, day, key_id, mode, category, outcome, was_held) do update
  set searches = u.searches + excluded.searches;
end
$$;

-- Stores single refusals and replays, and counts them in the same transaction, so that a list never has more rows than its count. A
-- batch that is sent twice changes nothing the second time, because the id of a request is unique.
create or replace function pb.write_requests(writer uuid, requests jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  stored jsonb;
begin
  insert into pb.tally_writers values (writer, 0, clock_timestamp()) on conflict (id) do nothing;
  with inserted as (
    insert into pb.unheld_requests (id, wallet_id, key_id, mode, outcome, run, end_user, transport)
    select r.id, r.wallet_id, r.key_id, r.mode, r.outcome, r.run, r.end_user, r.transport
    from jsonb_to_recordset(requests) as r (
      id uuid, wallet_id uuid, key_id uuid, mode pb.key_mode, outcome text, run text, end_user text, transport text
    )
    on conflict (id) do nothing
    returning wallet_id, key_id, mode, outcome, date_trunc('hour', pb.uuid_time(id), 'utc') as hour, 1 as searches
  )
  select coalesce(jsonb_agg(i), '[]') into stored from inserted i;
  perform pb.count_unheld(stored);
end
$$;

-- Drops the days of refusals and replays that are no longer listed, and returns how many. Their readers and writers wait for
-- it, but searches do not.
create or replace function pb.drop_old_requests() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '400ms' as $$
declare
  partition_name text;
  dropped integer := 0;
begin
  for partition_name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'pb.unheld_requests'::regclass
      and right(c.relname, 8) < to_char(pb.requests_listed_since() at time zone 'utc', 'YYYYMMDD')
  loop
    execute format('drop table pb.%I', partition_name);
    dropped := dropped + 1;
  end loop;
  return dropped;
end
$$;

-- Marks the hours in which a server was killed, which may have lost its last counts. A running process reports every few
-- seconds.
create or replace function pb.mark_killed_servers() returns void
language sql set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.incomplete_hours
  select distinct date_trunc('hour', r.seen_at + n.later, 'utc')
  from pb.process_reports r
  join pb.tally_writers w on w.id = r.process_id
  cross join (values (interval '0'), (interval '10 seconds')) n (later)
  where r.seen_at < clock_timestamp() - interval '2 minutes'
  on conflict do nothing;
end;

-- Whether all refusals and replays in a range of time are counted. Otherwise there may be more than were counted.
create or replace function pb.are_requests_complete(since timestamptz, until timestamptz) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select not exists (
    select from pb.incomplete_hours h where h.hour > since - interval '1 hour' and h.hour < until
  );
end;

-- Adds the counts of a server since its last batch. `incomplete` are the hours in which it could not count all requests.
create or replace function pb.write_tally(
  writer uuid, batch bigint, refusals jsonb, upstreams jsonb, wallets jsonb, incomplete timestamptz[]
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
begin
  insert into pb.tally_writers as w values (writer, batch, clock_timestamp())
  on conflict (id) do update set last_batch = excluded.last_batch, seen_at = excluded.seen_at
  where w.last_batch < excluded.last_batch;
  if not found then
    return;
  end if;

  perform pb.count_unheld(refusals);
  insert into pb.incomplete_hours select unnest(incomplete) on conflict do nothing;
  perform pb.count_calls(upstreams, wallets);
end
$$;

-- The time up to which usage is counted.
create or replace function pb.usage_as_of() returns timestamptz
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select counted_before from pb.usage_watermark;
end;
