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
