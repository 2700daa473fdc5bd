-- Daily partitions of searches, transfers, and refused and replayed requests.

-- Creates the missing partitions of a range of days and returns how many it created.
create or replace function pb.make_partitions(first_day date, last_day date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  each_day date;
  parent text;
  partition_name text;
  created integer := 0;
begin
  for each_day in select generate_series(first_day, last_day, interval '1 day')::date loop
    foreach parent in array array['searches', 'transfers', 'unheld_requests'] loop
      partition_name := parent || '_' || to_char(each_day, 'YYYYMMDD');
      if to_regclass('pb.' || partition_name) is null then
        -- Created separately and then attached: CREATE TABLE ... PARTITION OF takes a lock that blocks every search
        -- while it waits for the longest reader. Each search row is updated once; the fillfactor keeps that HOT.
        execute format(
          'create table pb.%I (like pb.%I including all) with (fillfactor = %s)',
          partition_name, parent, case parent when 'searches' then 70 else 100 end
        );
        execute format(
          'alter table pb.%I attach partition pb.%I for values from (%L) to (%L)',
          parent, partition_name,
          pb.uuid_floor(each_day::timestamp at time zone 'utc'),
          pb.uuid_floor((each_day + 1)::timestamp at time zone 'utc')
        );
        -- A TRUNCATE trigger of the parent does not apply to its partitions.
        if parent = 'transfers' then
          execute format(
            'create trigger transfers_no_truncate before truncate on pb.%I '
            'for each statement execute function pb.forbid_change()', partition_name
          );
        end if;
        created := created + 1;
      end if;
    end loop;
  end loop;
  return created;
end
$$;

-- The number of days from tomorrow that have a partition. An alert watches it.
create or replace function pb.partition_days_ahead() returns integer stable language sql
  set search_path = pg_catalog, pg_temp
  begin atomic
  select count(*)::integer
  from generate_series(1, 60) as ahead
  where to_regclass(
    'pb.searches_' || to_char((clock_timestamp() at time zone 'utc')::date + ahead::integer, 'YYYYMMDD')
  ) is not null;
  end;
