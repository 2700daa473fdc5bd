-- The fence against an old primary. A promotion increases the timeline, so a server that has seen a later one must not use
-- this database: it was replaced, and what it accepts is lost. The check is part of the statements that move money, because
-- a pooler can move an open connection to another server. server/src/db/fence.ts has the other half.

-- Raises an error if the caller has seen a later timeline. NULL: it has seen none.
create or replace function pb.require_timeline(least_timeline integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  own_timeline integer := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
begin
  if own_timeline < least_timeline then
    raise exception 'this database is on timeline %, and timeline % exists', own_timeline, least_timeline
      using errcode = 'PB001';
  end if;
end
$$;
