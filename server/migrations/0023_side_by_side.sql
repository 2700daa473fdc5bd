-- Why: during an upgrade servers of two versions run on one database, and one of the older version may have to start again
-- on the newer schema, or be put back. It cannot know whether what was added breaks it; the schema can say so.

-- A server that was built for this migration, or a later one, works on this schema. A migration that takes away what an
-- older server needs puts another name here.
create function pb.serves_since() returns text
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
return '0017_operators';

grant execute on function pb.serves_since to pennyblack_ledger;
