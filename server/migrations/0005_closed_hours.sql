-- Reconciliation read every transfer every hour, and the owner of the database could change old entries unnoticed. An
-- hour is now closed once: its entries are verified, summed per wallet and included in a chain of digests per wallet.
-- Later runs read the sums and the entries of the hours that are still open. See server/sql/hours.sql.
--
-- These tables have no foreign keys to wallets and budgets: the check would lock rows that every search updates.

-- Everything before `closed_before` is closed; '-infinity' until the first hour is prepared. New entries other than
-- captures are not stamped before `closing_before`. When every transaction before `closing_xid` has ended, the hours
-- before `closing_before` can be closed. `begun_at` is when the first hour was prepared, and `opening_micros` the total of
-- all wallets in pb.openings at that time.
create table pb.ledger_watermark (
  single_row boolean primary key default true check (single_row),
  closed_before timestamptz not null default '-infinity',
  closing_before timestamptz,
  closing_xid xid8,
  begun_at timestamptz,
  opening_micros bigint not null default 0,
  constraint whole_hours check (
    closed_before = '-infinity'
    or extract(epoch from closed_before)::bigint % 3600 = 0 and extract(epoch from closing_before)::bigint % 3600 = 0
  ),
  constraint closing_after_closed check (closing_before >= closed_before)
);

insert into pb.ledger_watermark default values;

-- A wallet's entries of one hour. Wallets without entries have no row. `owed_micros` is the change of the wallet's debt.
create table pb.wallet_hours (
  hour timestamptz not null check (extract(epoch from hour)::bigint % 3600 = 0),
  wallet_id uuid not null,
  entries bigint not null check (entries > 0),
  credited_micros bigint not null check (credited_micros >= 0),
  debited_micros bigint not null check (debited_micros >= 0),
  owed_micros bigint not null,
  digest bytea not null check (octet_length(digest) = 32),
  primary key (hour, wallet_id)
);

create index wallet_hours_by_wallet on pb.wallet_hours (wallet_id, hour desc);

-- Sums of a wallet's entries of all closed hours. `digest` is the last one of its chain and `hour` the hour it belongs
-- to; before the first one, `hour` is NULL and the digest is 32 zero bytes.
create table pb.wallet_checkpoints (
  wallet_id uuid primary key,
  hour timestamptz,
  entries bigint not null check (entries >= 0),
  credited_micros bigint not null check (credited_micros >= 0),
  debited_micros bigint not null check (debited_micros >= 0),
  owed_micros bigint not null,
  digest bytea not null check (octet_length(digest) = 32)
) with (fillfactor = 50);

-- Captured searches that were held in closed hours: in total, and of the last day and month with a captured search.
create table pb.budget_checkpoints (
  budget_id uuid primary key,
  total_micros bigint not null check (total_micros >= 0),
  day date not null,
  day_micros bigint not null check (day_micros >= 0),
  month date not null,
  month_micros bigint not null check (month_micros >= 0)
) with (fillfactor = 50);

create table pb.run_checkpoints (
  run_id uuid primary key,
  micros bigint not null check (micros > 0)
) with (fillfactor = 50);

-- One row per closed hour, also for an hour without entries. The amounts are the sums over all wallets. `root` and
-- `signed` are filled in later, once.
create table pb.ledger_hours (
  hour timestamptz primary key check (extract(epoch from hour)::bigint % 3600 = 0),
  entries bigint not null check (entries >= 0),
  wallets bigint not null check (wallets >= 0),
  credited_micros bigint not null check (credited_micros >= 0),
  debited_micros bigint not null check (debited_micros >= 0),
  owed_micros bigint not null,
  closed_at timestamptz not null,
  root bytea check (octet_length(root) = 32),
  signed text
);

-- Finds the entries of an hour. Creating it on pb.transfers directly would block captures while all partitions are read.
-- Older partitions have no writers; the statement on pb.transfers only attaches the indexes that exist.
do $$
declare
  partition regclass;
begin
  for partition in
    select i.inhrelid::regclass from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'pb.transfers'::regclass order by c.relname
  loop
    execute format(
      'create index on %s using brin (created_at) with (pages_per_range = 16, autosummarize = on)', partition
    );
  end loop;
end
$$;

create index transfers_by_time on pb.transfers using brin (created_at)
  with (pages_per_range = 16, autosummarize = on);

-- The hourly pass compares the last days of all wallets.
create index usage_days_by_day on pb.usage_days using brin (day) with (pages_per_range = 16, autosummarize = on);

-- Partitions that exist already; pb.make_partitions does the same for new ones. An empty database has none, and does not
-- have the function yet.
do $$
declare
  partition regclass;
begin
  for partition in select i.inhrelid::regclass from pg_inherits i where i.inhparent = 'pb.transfers'::regclass loop
    execute format(
      'create trigger transfers_no_truncate before truncate on %s for each statement execute function pb.forbid_change()',
      partition
    );
  end loop;
end
$$;
