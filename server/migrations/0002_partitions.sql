-- Why: searches and transfers grow by the day and are dropped by the day. They are partitioned by id, not by a
-- time column, so that the id alone stays unique: with unique (id, created_at) the same id would insert twice
-- around midnight.

-- The smallest UUIDv7 of a moment. Two of them bound a day, or any other stretch of time, in the space of ids.
create function pb.uuid_floor(moment timestamptz) returns uuid immutable strict parallel safe language sql
  return (lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;

-- Makes the partitions of a stretch of days where they are missing and says how many it made.
create function pb.make_partitions(first_day date, last_day date) returns integer
language plpgsql as $$
declare
  the_day date;
  parent text;
  partition_name text;
  made integer := 0;
begin
  for the_day in select generate_series(first_day, last_day, interval '1 day')::date loop
    foreach parent in array array['searches', 'transfers'] loop
      partition_name := parent || '_' || to_char(the_day, 'YYYYMMDD');
      if to_regclass('pb.' || partition_name) is null then
        -- Made apart and then attached: "create table ... partition of" locks out every search while it waits for
        -- the longest reader. A search's row is updated once: room for that keeps the update HOT.
        execute format(
          'create table pb.%I (like pb.%I including all) with (fillfactor = %s)',
          partition_name, parent, case parent when 'searches' then 70 else 100 end
        );
        execute format(
          'alter table pb.%I attach partition pb.%I for values from (%L) to (%L)',
          parent, partition_name,
          pb.uuid_floor(the_day::timestamp at time zone 'utc'),
          pb.uuid_floor((the_day + 1)::timestamp at time zone 'utc')
        );
        made := made + 1;
      end if;
    end loop;
  end loop;
  return made;
end
$$;

-- How many whole days from today have their partitions: what the alert watches.
create function pb.partition_days_ahead() returns integer stable language sql
  set search_path = pg_catalog, pg_temp
  begin atomic
  select count(*)::integer
  from generate_series(1, 60) as ahead
  where to_regclass(
    'pb.searches_' || to_char((clock_timestamp() at time zone 'utc')::date + ahead::integer, 'YYYYMMDD')
  ) is not null;
  end;

-- Two days back, because a server whose clock is hours behind still mints ids of yesterday.
select pb.make_partitions(
  (clock_timestamp() at time zone 'utc')::date - 2,
  (clock_timestamp() at time zone 'utc')::date + 14
);
