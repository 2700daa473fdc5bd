-- Reads of a wallet's searches, newest first.

-- Returns the first day that has a partition. Older searches are archived.
create or replace function pb.searches_listed_since() returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp at time zone 'utc'
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'pb.searches'::regclass;
end;

-- Refusals and replays are listed for 7 days.
create or replace function pb.requests_listed_since() returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select (pb.utc_day(clock_timestamp()) - 7)::timestamp at time zone 'utc';
end;

-- The newest searches of the wallet with ids in [since, before): live searches that ended unpaid, or test searches.
-- Behind row-level security, the planner cannot estimate how rare these are and would scan all searches by primary key. With the
-- other scan types disabled, only the index of these rows is left.
create or replace function pb.own_search_ids(p_mode pb.key_mode, before uuid, since uuid, max_rows bigint)
returns setof uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_indexscan = off set enable_bitmapscan = off as $$
begin
  if p_mode = 'test' then
    return query
    select s.id from pb.searches s
    where s.wallet_id = (select pb.own_wallet()) and s.mode = 'test' and s.id < before and s.id >= since
    order by s.id desc limit max_rows;
  else
    return query
    select s.id from pb.searches s
    where s.wallet_id = (select pb.own_wallet()) and s.mode = 'live' and s.outcome is not null
      and s.id < before and s.id >= since
    order by s.id desc limit max_rows;
  end if;
end
$$;

-- Changes whenever the wallet's money moves, one of its searches ends or one of its requests is refused or replayed, but not
-- for a hold. Open consoles poll it, so it is one statement: the wallet's row, the end of the newest searches
-- that do not change the row for good (unpaid and test searches), and the newest refusal or replay. Twenty of each kind of
-- search, because they can end in another order than they started.
create or replace function pb.own_version(before uuid, since uuid) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  return (
    select concat_ws(' ', w.credited_micros, w.debited_micros, w.owed_micros, ended.last_at, unheld.last_id)
    from pb.wallets w
    cross join (
      select max(s.settled_at) as last_at
      from (
        select id from pb.own_search_ids('live', before, since, 20) id
        union all
        select id from pb.own_search_ids('test', before, since, 20) id
      ) newest
      -- OFFSET 0 forces an index look-up per id.
      cross join lateral (
        select f.settled_at from pb.searches f
        where f.id = newest.id and f.wallet_id = (select pb.own_wallet()) and f.id < before and f.id >= since offset 0
      ) s
    ) ended
    left join lateral (
      select u.id as last_id from pb.unheld_requests u
      where u.wallet_id = (select pb.own_wallet()) and u.id < before and u.id >= since
      order by u.id desc limit 1
    ) unheld on true
    where w.id = (select pb.own_wallet())
  );
end
$$;

-- Usage by end user of the wallet in [p_from, p_to): of the given end users, or of all after a position, in the order of the
-- primary key and at most max_rows. Security definer, because behind row-level security the index is not used for columns
-- whose comparison is not leakproof (enum and text), and a page would read all end users of the range.
create or replace function pb.own_end_user_usage(
  p_from date, p_to date, p_end_users text[], after_day date, after_mode pb.key_mode, after_end_user text, max_rows bigint
)
returns table (day date, mode pb.key_mode, end_user text, searches bigint, charged_micros bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
  if p_end_users is null then
    return query
    select u.day, u.mode, u.end_user, u.searches, u.charged_micros from pb.usage_end_users u
    where u.wallet_id = (select pb.own_wallet()) and u.day >= p_from and u.day < p_to and u.searches > 0
      and (u.day, u.mode, u.end_user) > (coalesce(after_day, p_from - 1), coalesce(after_mode, 'test'), coalesce(after_end_user, ''))
    order by u.day, u.mode, u.end_user limit max_rows;
  else
    -- OFFSET 0 forces an index look-up per end user, mode and day.
    return query
    select u.day, u.mode, u.end_user, u.searches, u.charged_micros
    from generate_series(0, p_to - p_from - 1) days
    cross join unnest(array['live', 'test']::pb.key_mode[]) m
    cross join unnest(p_end_users) e
    cross join lateral (
      select f.day, f.mode, f.end_user, f.searches, f.charged_micros from pb.usage_end_users f
      where f.wallet_id = (select pb.own_wallet()) and f.day = p_from + days and f.mode = m and f.end_user = e
        and f.searches > 0 offset 0
    ) u;
  end if;
end
$$;
