-- Why: the tables of the ledger. Whatever must never be false about money is a constraint here, so that a
-- mistake in a function or a slip of an operator's hand is refused by the database itself.
--
-- Amounts are bigint micro-USD (0.01 USD = 10,000). Every hot table carries wallet_id and no constraint spans
-- two wallets, so the ledger can be split by wallet without changing its shape. There are no foreign keys
-- between hot tables: the functions check under the wallet's lock, and reconciliation proves it afterwards.

create schema if not exists pb;

-- Functions are executable by everyone unless this is said before they are made.
alter default privileges revoke execute on functions from public;

create type pb.key_mode as enum ('live', 'test', 'mgmt');
create type pb.search_state as enum ('pending', 'captured', 'released', 'expired');
create type pb.transfer_kind as enum ('capture', 'refund', 'top_up', 'credit');
create type pb.ledger_account as enum ('wallet', 'revenue', 'cash', 'promotion');

-- The price is a constant of the product, not configuration.
create function pb.price_micros() returns bigint immutable parallel safe language sql
  return 10000::bigint;

-- fillfactor 30 leaves room on the page, so that the one row every search updates stays a HOT update.
create table pb.wallets (
  id uuid primary key,
  name text not null,
  credited_micros bigint not null default 0 check (credited_micros >= 0),
  debited_micros bigint not null default 0 check (debited_micros >= 0),
  held_micros bigint not null default 0 check (held_micros >= 0),
  suspended_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  constraint wallet_never_below_zero check (credited_micros - debited_micros - held_micros >= 0)
) with (fillfactor = 30);

-- A budget belongs to a key and survives its rotation. A limit that is null does not exist. `spent` counts
-- pending and captured searches; day and month are UTC and name the period their figure belongs to.
-- There is no check that spent <= limit, because an owner may lower a limit below what is already spent.
create table pb.key_budgets (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  total_limit_micros bigint check (total_limit_micros >= 0),
  day_limit_micros bigint check (day_limit_micros >= 0),
  month_limit_micros bigint check (month_limit_micros >= 0),
  total_spent_micros bigint not null default 0 check (total_spent_micros >= 0),
  day date not null default '-infinity',
  day_spent_micros bigint not null default 0 check (day_spent_micros >= 0),
  month date not null default '-infinity',
  month_spent_micros bigint not null default 0 check (month_spent_micros >= 0),
  unique (wallet_id, id)
) with (fillfactor = 50);

create table pb.keys (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  mode pb.key_mode not null,
  name text not null,
  -- The first characters of the key, enough to recognise it in a list and useless to spend.
  start text not null,
  pepper_version smallint not null check (pepper_version > 0),
  digest bytea not null unique check (octet_length(digest) = 32),
  scopes text[] not null check (scopes <@ array['search', 'wallet:read', 'keys:write']),
  allowed_ips cidr[],
  searches_per_second integer not null default 1000 check (searches_per_second > 0),
  searches_in_flight integer not null default 1000 check (searches_in_flight > 0),
  budget_id uuid,
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  -- A budget of another wallet would be counted without that wallet's lock.
  constraint budget_of_the_same_wallet foreign key (wallet_id, budget_id) references pb.key_budgets (wallet_id, id),
  constraint management_keys_do_not_search check (mode <> 'mgmt' or not ('search' = any (scopes)))
);

create index keys_by_wallet on pb.keys (wallet_id);

-- A run is a budget that a caller opens by name. When its life is over the same name opens a new one, with a
-- new id, so that a late release of an old search gives nothing back to the new run.
create table pb.run_budgets (
  wallet_id uuid not null references pb.wallets,
  name text not null check (length(name) between 1 and 128),
  id uuid not null unique,
  max_micros bigint not null check (max_micros >= 0),
  spent_micros bigint not null check (spent_micros >= 0),
  opened_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (wallet_id, name),
  constraint run_never_above_its_max check (spent_micros <= max_micros)
) with (fillfactor = 50);

-- One row is one search and its hold. The id is a UUIDv7, also the Request-Id that the caller saw.
create table pb.searches (
  price_micros bigint not null,
  held_at timestamptz not null,
  expires_at timestamptz not null,
  settled_at timestamptz,
  state pb.search_state not null,
  mode pb.key_mode not null,
  id uuid primary key,
  wallet_id uuid not null,
  key_id uuid not null,
  key_budget_id uuid,
  run_budget_id uuid,
  idempotency_hmac bytea,
  constraint live_searches_cost_the_price
    check (price_micros = case mode when 'live' then 10000 else 0 end),
  constraint settled_when_not_pending check ((settled_at is null) = (state = 'pending'))
) partition by range (id);

-- Holds arrive in the order of time, so a block range index finds the last minutes for almost nothing; a
-- partial b-tree on pending rows would double the cost of a search and end HOT updates.
create index searches_by_time on pb.searches using brin (held_at)
  with (pages_per_range = 16, autosummarize = on);

-- Append-only. One row carries both legs, so the books sum to zero by construction.
create table pb.transfers (
  amount_micros bigint not null check (amount_micros > 0),
  created_at timestamptz not null,
  kind pb.transfer_kind not null,
  from_account pb.ledger_account not null,
  to_account pb.ledger_account not null,
  id uuid primary key,
  wallet_id uuid not null,
  search_id uuid,
  constraint both_legs_fit_the_kind check (
    (kind, from_account, to_account) in (
      ('capture', 'wallet', 'revenue'),
      ('refund', 'revenue', 'wallet'),
      ('top_up', 'cash', 'wallet'),
      ('credit', 'promotion', 'wallet')
    )
  ),
  constraint searches_named_where_one_paid check ((search_id is not null) = (kind in ('capture', 'refund'))),
  -- A capture bears its search's id, which makes "captured once" a primary key.
  constraint capture_bears_its_search check (kind <> 'capture' or id = search_id)
) partition by range (id);

create index transfers_by_wallet on pb.transfers (wallet_id, id desc);
create index refunds_by_search on pb.transfers (search_id) where kind = 'refund';

-- Gate tables: a unique key that must outlive a partition, written in the transaction it guards.
create table pb.payments (
  payment_id text primary key check (length(payment_id) between 1 and 255),
  wallet_id uuid not null references pb.wallets,
  transfer_id uuid not null unique,
  amount_micros bigint not null check (amount_micros > 0),
  created_at timestamptz not null
);

create table pb.refunds (
  search_id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  transfer_id uuid not null unique,
  reason text not null check (length(reason) between 1 and 500),
  created_at timestamptz not null
);

-- A claim without an answer is a search in flight. The answer is compressed and encrypted under the caller's
-- own Idempotency-Key, of which only an HMAC is kept: without that key nobody can read it.
create table pb.idempotency (
  wallet_id uuid not null,
  mode pb.key_mode not null,
  key_hmac bytea not null check (octet_length(key_hmac) = 32),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  search_id uuid not null,
  claimed_at timestamptz not null,
  answer bytea,
  -- The mode comes last: a look-up that learns it only from the key still finds one row, not all of a wallet's.
  primary key (wallet_id, key_hmac, mode)
) with (fillfactor = 70);

create index idempotency_by_age on pb.idempotency using brin (claimed_at)
  with (pages_per_range = 16, autosummarize = on);

-- Every hold before this moment is known to be settled; the sweeper looks only behind it.
create table pb.sweep_watermark (
  single_row boolean primary key default true check (single_row),
  settled_before timestamptz not null
);

insert into pb.sweep_watermark (settled_before) values (clock_timestamp() - interval '1 day');
