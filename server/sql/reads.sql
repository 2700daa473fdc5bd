-- Reads of a wallet's searches, newest first.

-- The first day that has a partition: older searches are archived.
create or replace function pb.searches_listed_since() returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp at time zone 'utc'
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'pb.searches'::regclass;
end;

-- The newest searches of the wallet with ids in [since, before): live searches that ended unpaid, or test searches.
-- Behind row-level security the planner cannot estimate how rare these are and would scan all searches by primary key;
-- with the other scan types disabled only the index of these rows is left.
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

-- Changes whenever the wallet's money moves or one of its searches ends, but not for a hold. Open consoles read it every
-- second, so it is one statement: the wallet's row, and the end of the newest searches that do not change the row for good
-- (unpaid and test searches). Twenty of each, because they can end in another order than they started.
create or replace function pb.own_version(before uuid, since uuid) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  return (
    select concat_ws(' ', w.credited_micros, w.debited_micros, w.owed_micros, ended.last_at)
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
    where w.id = (select pb.own_wallet())
  );
end
$$;
