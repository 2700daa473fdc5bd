-- The schema version, which servers compare with their own before they listen.

-- The oldest release that works on this schema, as a version of server/sql. Raise it when a change removes something
-- that an older release needs.
create or replace function pb.serves_since() returns integer
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
return 1;

create or replace function pb.read_schema_version(out version integer, out serves_since integer)
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select v.version, pb.serves_since() from pb.schema_version v;
end;
