-- The fence against a database that lacks an acknowledged transaction. server/src/db/fence.ts has the other half and explains what
-- a timeline is. The check is part of the statements that move money, because a pooler can move an open connection to another
-- server.

-- Raises PB001 if the database is not on the timeline that the caller expects:
--
--   '2:b'           timeline 2 with the token b
--   '2:b new'       the same, or timeline 2 without a token yet, which becomes b
--   '2:b new 1:a'   the same, if money was moved on 1:a before
--   NULL            any
--
-- The token is written by the first transaction on a timeline, so a synchronous replica has it before anything is acknowledged.
create or replace function pb.require_timeline(expected text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  own_timeline integer := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
  own_token uuid := (select t.token from pb.timelines t where t.timeline = own_timeline);
begin
  if own_token is null then
    own_token := pb.begin_timeline(own_timeline, expected);
  end if;
  if split_part(expected, ' ', 1) <> own_timeline || ':' || own_token then
    raise exception 'this database is on timeline %, and % is expected', own_timeline || ':' || own_token, expected
      using errcode = 'PB001';
  end if;
end
$$;

-- Writes the token of a timeline on which no money has moved yet, and returns the one that is stored.
create or replace function pb.begin_timeline(own_timeline integer, expected text) returns uuid
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  parent text := nullif(split_part(expected, ' ', 3), '');
begin
  if split_part(expected, ' ', 2) <> 'new'
    or not exists (select from pb.timelines t where t.timeline || ':' || t.token = parent) and parent is not null
  then
    raise exception 'no money was moved on timeline % of this database, and % is expected', own_timeline, expected
      using errcode = 'PB001';
  end if;
  insert into pb.timelines (timeline, system_identifier, token)
    select own_timeline, system_identifier,
      case when expected like own_timeline || ':%' then split_part(split_part(expected, ' ', 1), ':', 2)::uuid
        else gen_random_uuid() end
    from pg_control_system()
    on conflict do nothing;
  -- Another transaction may have been first.
  return (select t.token from pb.timelines t where t.timeline = own_timeline);
end
$$;

-- The system identifier, the timeline, the timelines on which money was moved, the role, and the number of replicas that are
-- connected. For a replica, the timeline is the latest that it has seen.
create or replace function pb.read_identity() returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  identifier bigint := (select system_identifier from pg_control_system());
  is_replica boolean := pg_is_in_recovery();
  known integer := (select max(t.timeline) from pb.timelines t where t.system_identifier = identifier);
  history text := (select string_agg(t.timeline || ':' || t.token, ',' order by t.timeline) from pb.timelines t
    where t.system_identifier = identifier);
begin
  return concat_ws(' ', identifier,
    case when is_replica
      then coalesce(greatest(known, (select min_recovery_end_timeline from pg_control_recovery())), 0)
      else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end,
    coalesce(history, ''), case when is_replica then 'replica' else 'primary' end,
    (select count(*) from pg_stat_replication));
end
$$;
