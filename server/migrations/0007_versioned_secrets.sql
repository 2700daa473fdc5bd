-- PENNYBLACK_SECRET had no versions, so a retry across its rotation was charged again. The fingerprint of a claim was an
-- HMAC of the query alone: with the database and the secret, a dictionary of queries showed which wallets searched for
-- them. It is now keyed by the Idempotency-Key as well.

-- Scheme 1: the fingerprint of earlier releases. Scheme 2: keyed by the Idempotency-Key. The constraints are not
-- validated: that would scan the table under its exclusive lock, and existing rows have the defaults.
alter table pb.idempotency add column scheme smallint not null default 1;
alter table pb.idempotency add column secret_version smallint not null default 1;
alter table pb.idempotency add constraint known_scheme check (scheme in (1, 2)) not valid;
alter table pb.idempotency add constraint secret_version_is_one_byte
  check (secret_version between 1 and 255) not valid;

-- The version of the secret under which servers write. The check value is an HMAC under that version, by which a server
-- notices that its secret differs; NULL until the first rotation. Claims of the previous versions are looked up for a day.
create table pb.secret_state (
  single_row boolean primary key default true check (single_row),
  writing_version smallint not null check (writing_version between 1 and 255),
  check_value bytea check (octet_length(check_value) = 32),
  previous_versions smallint[] not null default '{}' check (writing_version <> all (previous_versions)),
  changed_at timestamptz not null default clock_timestamp(),
  changed_by text
);

insert into pb.secret_state (writing_version) values (1);

-- The versions that each server and worker process lists, reported every few seconds.
create table pb.secret_reports (
  process_id uuid primary key,
  versions smallint[] not null,
  check_values bytea[] not null,
  seen_at timestamptz not null,
  has_stopped boolean not null,
  constraint one_check_value_per_version check (cardinality(versions) = cardinality(check_values))
);
