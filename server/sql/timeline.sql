-- The fence against an old primary. A promotion increases the timeline, so a server that has seen a later one must not use
-- this database: it was replaced, and what it accepts is lost. The check is part of the statements that move money, because
-- a pooler can move an open connection to another server. server/src/db/fence.ts has the other half.

-- Raises an error if the caller has seen a later timeline. NULL: it has seen none. Records the timeline in the caller's
-- transaction.
create or replace function pb.require_timeline(min_timeline integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  own_timeline integer := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
begin
  if own_timeline < min_timeline then
    raise exception 'this database is on timeline %, and timeline % exists', own_timeline, min_timeline
      using errcode = 'PB001';
  end if;
  if not exists (select from pb.timelines t where t.timeline = own_timeline) then
    insert into pb.timelines (timeline, system_identifier)
      select own_timeline, system_identifier from pg_control_system()
      on conflict do nothing;
  end if;
end
$$;

-- The latest timeline that a replica knows of.
create or replace function pb.read_replica_timeline() returns integer
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select greatest(
    (select max(t.timeline) from pb.timelines t join pg_control_system() s using (system_identifier)),
    (select min_recovery_end_timeline from pg_control_recovery())
  );
end;
