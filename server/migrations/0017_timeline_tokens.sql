-- Two nodes that are promoted from the same timeline get the same number, so a timeline is also identified by a token. See
-- server/sql/timeline.sql.
alter table pb.timelines add column token uuid not null default gen_random_uuid();
