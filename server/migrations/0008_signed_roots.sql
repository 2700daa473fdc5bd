-- Digests of closed hours are only evidence if they are signed with a key that the database does not contain. The worker
-- now builds a Merkle tree over the digests of each hour and signs its root. See server/src/wallet/evidence.

-- The hashes of an hour's tree, 32 bytes each. Level 0 has the leaves in the order of the wallet ids. The proof of one
-- wallet reads one hash per level, so the values are stored uncompressed, which allows reading a part of them.
create table pb.hour_trees (
  hour timestamptz not null references pb.ledger_hours,
  level smallint not null check (level >= 0),
  hashes bytea not null check (octet_length(hashes) > 0 and octet_length(hashes) % 32 = 0),
  primary key (hour, level)
);

alter table pb.hour_trees alter column hashes set storage external;

-- The root of the tree over the roots of a day's hours.
create table pb.ledger_days (
  day date primary key,
  root bytea not null check (octet_length(root) = 32),
  signed text not null,
  signed_at timestamptz not null default clock_timestamp()
);
