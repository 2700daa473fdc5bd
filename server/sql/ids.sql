-- Identifiers, UTC periods and formatting shared by the other files.

-- The smallest UUIDv7 of a moment. Two of them bound a range of time in the space of ids.
-- Not STRICT and independent of the session's time zone, so that PostgreSQL inlines it.
create or replace function pb.uuid_floor(moment timestamptz) returns uuid immutable parallel safe language sql
  return (
    lpad(to_hex((extract(epoch from moment at time zone 'utc') * 1000)::bigint), 12, '0') || repeat('0', 20)
  )::uuid;

-- The time in a UUIDv7.
create or replace function pb.uuid_time(id uuid) returns timestamptz immutable parallel safe language sql
  return to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0);

-- A UUIDv7 of the current time, for rows whose id determines their partition.
create or replace function pb.new_uuid() returns uuid volatile language sql set search_path = pg_catalog, pg_temp
begin atomic
  select (
    lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
    || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14)
  )::uuid;
end;

create or replace function pb.utc_day(moment timestamptz) returns date immutable strict parallel safe language sql
  return (moment at time zone 'utc')::date;

create or replace function pb.utc_month(moment timestamptz) returns date immutable strict parallel safe language sql
  return date_trunc('month', moment at time zone 'utc')::date;

-- An amount as the API formats it: "4.99".
create or replace function pb.usd(micros bigint) returns text immutable strict language sql
  return micros / 1000000 || '.' || regexp_replace(lpad((micros % 1000000)::text, 6, '0'), '0{1,4}$', '');

create or replace function pb.iso_time(moment timestamptz) returns text stable strict language sql
  return to_char(moment at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
