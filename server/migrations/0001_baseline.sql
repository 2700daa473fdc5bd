-- Tables, constraints and indexes of the first release, and the functions they depend on. Every other function,
-- trigger, policy and grant is in server/sql/, which `npm run migrate` applies after the migrations.
--
-- Rules that must never be violated about money are constraints, so that the database rejects a faulty function or a
-- manual mistake.
--
-- Amounts are bigint micro-USD (0.01 USD = 10,000). Every hot table has wallet_id and no constraint spans two wallets,
-- so the ledger can be split by wallet. Hot tables have no foreign keys between them: the functions check references
-- under the wallet lock, and reconciliation verifies them.

create schema if not exists pb;

-- Without this, every new function is executable by PUBLIC.
alter default privileges revoke execute on functions from public;

create type pb.key_mode as enum ('live', 'test', 'mgmt');
create type pb.search_state as enum ('pending', 'captured', 'released', 'expired');
create type pb.transfer_kind as enum (
  'capture', 'refund', 'top_up', 'credit', 'reversal', 'receivable', 'settlement', 'reinstatement'
);
create type pb.ledger_account as enum ('wallet', 'revenue', 'cash', 'promotion', 'receivable');
create type pb.member_role as enum ('owner', 'developer', 'viewer');

-- Functions that constraints or policies depend on. They stay in migrations, because replacing one does not re-check
-- existing rows.

-- The price of a search. It is a constant of the product, not configuration.
create function pb.price_micros() returns bigint immutable parallel safe language sql
  return 10000::bigint;

-- The wallet of the current tenant transaction. NULL when unset, so that policies match no row by default.
create function pb.own_wallet() returns uuid
language sql stable parallel safe set search_path = pg_catalog, pg_temp
return nullif(current_setting('pb.wallet_id', true), '')::uuid;

-- Checks a transfer of any kind but capture. PL/pgSQL, because PostgreSQL parses a CHECK expression for every statement
-- and a function body only once per connection. Captures, about half of all transfers, are checked in the constraint.
create function pb.transfer_fits_kind(
  kind pb.transfer_kind, from_account pb.ledger_account, to_account pb.ledger_account, search_id uuid
)
returns boolean immutable language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return (search_id is not null) = (kind = 'refund')
    and kind::text || ' ' || from_account::text || ' ' || to_account::text = any (
      '{refund revenue wallet, top_up cash wallet, credit promotion wallet, reversal wallet cash,
        receivable receivable cash, reinstatement cash wallet, settlement wallet receivable}'::text[]
    );
end
$$;

-- Accounts and people.

-- A deleted account keeps its row, because wallets and ledger rows reference it, but not its name.
create table pb.accounts (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  created_at timestamptz not null default clock_timestamp(),
  deleted_at timestamptz,
  constraint deleted_accounts_have_no_name check (deleted_at is null or name = '')
);

-- A person is identified by an e-mail address in lower case.
create table pb.people (
  id uuid primary key default gen_random_uuid(),
  email text not null unique check (email = lower(email) and email ~ '^[^@\s]+@[^@\s]+$' and length(email) <= 254),
  name text not null check (length(name) <= 200),
  created_at timestamptz not null default clock_timestamp()
);

create table pb.members (
  account_id uuid not null references pb.accounts,
  person_id uuid not null references pb.people,
  role pb.member_role not null,
  joined_at timestamptz not null default clock_timestamp(),
  primary key (account_id, person_id)
);

create index members_by_person on pb.members (person_id);

-- Only a digest of the token is stored. An invitation is accepted once; each address has at most one open invitation.
create table pb.invitations (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null references pb.accounts,
  email text not null check (email = lower(email) and email ~ '^[^@\s]+@[^@\s]+$' and length(email) <= 254),
  role pb.member_role not null,
  digest bytea not null unique check (octet_length(digest) = 32),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
);

create unique index one_open_invitation on pb.invitations (account_id, email) where accepted_at is null;

-- Trial credits given. The address is stored only as an HMAC, so that the row can outlive the account.
create table pb.trials (
  account_id uuid primary key references pb.accounts,
  address_hmac bytea not null unique check (octet_length(address_hmac) = 32),
  amount_micros bigint not null check (amount_micros > 0),
  given_at timestamptz not null default clock_timestamp()
);

create table pb.trial_days (
  day date primary key,
  given integer not null check (given > 0)
);

-- Wallets, keys and budgets.

-- Every search updates the wallet row. A fillfactor of 30 leaves space on the page, so that these are HOT updates. That
-- credited_micros is not negative follows from the constraints.
create table pb.wallets (
  id uuid primary key,
  name text not null,
  credited_micros bigint not null default 0,
  debited_micros bigint not null default 0 check (debited_micros >= 0),
  held_micros bigint not null default 0 check (held_micros >= 0),
  suspended_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  account_id uuid not null references pb.accounts,
  low_balance_micros bigint check (low_balance_micros > 0),
  alert_email text check (length(alert_email) between 3 and 254),
  constraint wallet_never_below_zero check (credited_micros - debited_micros - held_micros >= 0)
) with (fillfactor = 30);

create index wallets_by_account on pb.wallets (account_id);

-- A budget belongs to a key and survives its rotation. A NULL limit means no limit. `spent` counts pending and captured
-- searches; `day` and `month` (UTC) are the periods the amounts belong to. There is no check that spent <= limit,
-- because an owner may lower a limit below the amount already spent.
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

-- `start` is the first characters of the key, enough to recognise it in a list. `changed_at` lets servers poll for
-- changed keys. The fillfactor keeps updates of `last_used_at` HOT.
create table pb.keys (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  mode pb.key_mode not null,
  name text not null,
  start text not null,
  pepper_version smallint not null check (pepper_version > 0),
  digest bytea not null unique check (octet_length(digest) = 32),
  scopes text[] not null,
  allowed_ips cidr[],
  searches_per_second integer not null default 1000 check (searches_per_second > 0),
  searches_in_flight integer not null default 1000 check (searches_in_flight > 0),
  budget_id uuid,
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz,
  rotated_from uuid constraint rotated_once unique,
  revoked_reason text,
  changed_at timestamptz not null default '-infinity',
  unique (wallet_id, id),
  constraint known_scopes
    check (scopes <@ array['search', 'wallet:read', 'wallet:write', 'keys:write', 'webhooks:write']),
  constraint management_keys_do_not_search check (mode <> 'mgmt' or not ('search' = any (scopes))),
  constraint known_revoked_reasons check (revoked_reason in ('owner', 'operator', 'leaked', 'account_deleted')),
  constraint revoked_reason_requires_revocation check (revoked_reason is null or revoked_at is not null),
  -- A budget of another wallet would be updated without that wallet's lock.
  constraint key_budget_in_same_wallet foreign key (wallet_id, budget_id) references pb.key_budgets (wallet_id, id),
  constraint rotation_in_same_wallet foreign key (wallet_id, rotated_from) references pb.keys (wallet_id, id)
) with (fillfactor = 70);

create index keys_not_revoked on pb.keys (wallet_id, id desc) where revoked_at is null;
create index keys_by_change on pb.keys (changed_at) where changed_at > '-infinity';

-- A run is a budget that a caller opens by name. After it expires, the same name opens a new run with a new id, so that
-- a late release of a search of the old run does not credit the new one.
create table pb.run_budgets (
  wallet_id uuid not null references pb.wallets,
  name text not null check (length(name) between 1 and 128),
  id uuid not null unique,
  max_micros bigint not null check (max_micros >= 0),
  spent_micros bigint not null check (spent_micros >= 0),
  opened_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (wallet_id, name),
  constraint run_never_above_max check (spent_micros <= max_micros)
) with (fillfactor = 50);

-- Lists a wallet's runs, newest first. A search changes none of these columns, so its update stays HOT.
create index runs_by_age on pb.run_budgets (wallet_id, opened_at desc, id desc);

-- Searches and transfers. Both are partitioned by day. The partition key is the id, a UUIDv7, and not a timestamp
-- column: with unique (id, created_at) the same id could be inserted twice around midnight.

-- A search and its hold. The id is the Request-Id that the caller received. Category and outcome are words from our own
-- lists; the query is not stored.
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
  category text,
  outcome text,
  -- The literal is pb.price_micros(), which PostgreSQL would inline again for every statement. A test compares them.
  constraint live_searches_cost_the_price check (price_micros = case mode when 'live' then 10000 else 0 end),
  constraint settled_when_not_pending check ((settled_at is null) = (state = 'pending')),
  constraint category_length check (length(category) <= 32),
  constraint outcome_length check (length(outcome) <= 64)
) partition by range (id);

-- Holds arrive in time order, so a BRIN index finds the last minutes at almost no cost. A partial b-tree on pending
-- rows would double the cost of a search and prevent HOT updates.
create index searches_by_time on pb.searches using brin (held_at) with (pages_per_range = 16, autosummarize = on);

-- An index by wallet over all searches would add to the cost of every search. Charged searches are found through their
-- transfer; these two indexes cover the others and contain no successful live search, so a capture stays a HOT update.
create index searches_unpaid on pb.searches (wallet_id, id desc) where outcome is not null and mode = 'live';
create index searches_of_tests on pb.searches (wallet_id, id desc) where mode = 'test';

-- Ledger entries, append-only. One row has both legs, so the books always sum to zero. A capture has the id of its
-- search, so the primary key guarantees that a search is captured once.
create table pb.transfers (
  amount_micros bigint not null check (amount_micros > 0),
  created_at timestamptz not null,
  kind pb.transfer_kind not null,
  from_account pb.ledger_account not null,
  to_account pb.ledger_account not null,
  id uuid primary key,
  wallet_id uuid not null,
  search_id uuid,
  constraint transfer_legs_match_kind check (
    case kind
      when 'capture'
        then from_account = 'wallet' and to_account = 'revenue' and search_id is not null and id = search_id
      else pb.transfer_fits_kind(kind, from_account, to_account, search_id)
    end
  )
) partition by range (id);

create index transfers_by_wallet on pb.transfers (wallet_id, id desc);
create index refunds_by_search on pb.transfers (search_id) where kind = 'refund';
-- Lists top-ups, credits and refunds without scanning captures. A search does not touch it.
create index transfers_but_captures on pb.transfers (wallet_id, id desc) where kind <> 'capture';

-- Idempotency claims. A claim without an answer is a search in flight. The answer is compressed and encrypted with a
-- key derived from the caller's Idempotency-Key, of which only an HMAC is stored.
create table pb.idempotency (
  wallet_id uuid not null,
  mode pb.key_mode not null,
  key_hmac bytea not null check (octet_length(key_hmac) = 32),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  search_id uuid not null,
  claimed_at timestamptz not null,
  answer bytea,
  -- The mode is last, so that a look-up without the mode still finds one row.
  primary key (wallet_id, key_hmac, mode)
) with (fillfactor = 70);

create index idempotency_by_age on pb.idempotency using brin (claimed_at)
  with (pages_per_range = 16, autosummarize = on);

-- Every hold before `settled_before` is known to be settled; the sweeper reads only later ones.
create table pb.sweep_watermark (
  single_row boolean primary key default true check (single_row),
  settled_before timestamptz not null,
  swept_at timestamptz
);

insert into pb.sweep_watermark (settled_before) values (clock_timestamp() - interval '1 day');

-- Payments. pb.payments, pb.refunds and pb.reversals are gate tables: their unique key must outlive a partition and is
-- inserted in the transaction that moves the money.

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

-- The payment processor's customer of a wallet. Receipts and the saved card belong to it.
create table pb.payment_customers (
  wallet_id uuid primary key references pb.wallets,
  customer_id text not null unique check (length(customer_id) between 1 and 255),
  created_at timestamptz not null default clock_timestamp()
);

-- A request to add money, made by the owner (checkout) or by the owner's automatic top-up. `payment_id` is the payment
-- that paid it; a second payment for the same top-up is handled by an operator. `failure` is one of the processor's
-- codes.
create table pb.top_ups (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  kind text not null check (kind in ('checkout', 'automatic')),
  status text not null default 'pending'
    check (status in ('pending', 'succeeded', 'failed', 'expired', 'refunded', 'disputed')),
  amount_micros bigint not null check (amount_micros > 0 and amount_micros % 10000 = 0),
  refunded_micros bigint not null default 0 check (refunded_micros >= 0),
  saves_card boolean not null,
  key_hmac bytea check (octet_length(key_hmac) = 32),
  fingerprint bytea check (octet_length(fingerprint) = 32),
  checkout_id text unique,
  checkout_url text check (length(checkout_url) <= 4096),
  payment_id text unique,
  receipt_url text check (length(receipt_url) <= 4096),
  failure text check (length(failure) <= 64),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  settled_at timestamptz,
  constraint checkout_has_idempotency_key
    check ((kind = 'checkout') = (key_hmac is not null and fingerprint is not null)),
  constraint settled_when_not_pending check ((settled_at is null) = (status = 'pending')),
  constraint paid_has_payment check ((payment_id is not null) = (status in ('succeeded', 'refunded', 'disputed'))),
  unique (wallet_id, key_hmac)
);

create index top_ups_by_wallet on pb.top_ups (wallet_id, id desc);
create index top_ups_pending on pb.top_ups (created_at) where status = 'pending';
create index top_ups_settled on pb.top_ups (settled_at) where payment_id is not null;
-- At most one automatic charge is in progress per wallet.
create unique index one_automatic_at_a_time on pb.top_ups (wallet_id) where kind = 'automatic' and status = 'pending';

-- An owner's automatic top-up. A decline postpones the next attempt; after the fourth it is off until it is set again.
create table pb.auto_top_ups (
  wallet_id uuid primary key references pb.wallets,
  threshold_micros bigint not null check (threshold_micros > 0),
  amount_micros bigint not null check (amount_micros > 0 and amount_micros % 10000 = 0),
  day_cap_micros bigint not null check (day_cap_micros >= amount_micros),
  month_cap_micros bigint not null check (month_cap_micros >= day_cap_micros),
  declines integer not null default 0 check (declines between 0 and 4),
  next_attempt_at timestamptz not null default clock_timestamp(),
  off_at timestamptz,
  set_at timestamptz not null default clock_timestamp(),
  constraint off_after_four_declines check ((off_at is not null) = (declines = 4))
);

-- Webhooks received from the processor and their outcome. The key only saves work; the gate of a credit is pb.payments.
create table pb.payment_events (
  event_id text primary key check (length(event_id) between 1 and 255),
  type text not null check (length(type) <= 255),
  wallet_id uuid,
  payment_id text,
  outcome text not null,
  received_at timestamptz not null
);

create index payment_events_by_time on pb.payment_events using brin (received_at);

-- Discrepancies that an operator must look at.
create table pb.payment_notices (
  id uuid primary key default gen_random_uuid(),
  reason text not null check (reason in (
    'wrong_wallet', 'wrong_amount', 'second_payment', 'payment_taken', 'not_paid_there', 'reversal_changed',
    'won_then_lost', 'automatic_top_up_off'
  )),
  subject text not null check (length(subject) <= 255),
  wallet_id uuid,
  amount_micros bigint,
  found_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz,
  closed_by text check (length(closed_by) between 1 and 255)
);

create unique index one_open_notice on pb.payment_notices (subject, reason) where closed_at is null;

-- Money that an operator booked: a paid invoice or a promotional credit. The reference identifies the payment.
create table pb.manual_credits (
  reference text primary key check (length(reference) between 1 and 200),
  wallet_id uuid not null references pb.wallets,
  kind text not null check (kind in ('invoice', 'promotion')),
  amount_micros bigint not null check (amount_micros > 0),
  reason text not null check (length(reason) between 1 and 500),
  operator text not null check (length(operator) between 1 and 255),
  created_at timestamptz not null default clock_timestamp()
);

-- The amount a wallet owes. In its own table, because every search updates the wallet row.
create table pb.receivables (
  wallet_id uuid primary key references pb.wallets,
  owed_micros bigint not null check (owed_micros >= 0)
);

-- A refund or dispute at the processor: taken -> returned | lost. `froze_at` is set if this dispute suspended the
-- wallet.
create table pb.reversals (
  reversal_id text primary key check (length(reversal_id) between 1 and 255),
  payment_id text not null references pb.payments,
  wallet_id uuid not null references pb.wallets,
  kind text not null check (kind in ('refund', 'dispute')),
  state text not null check (state in ('taken', 'returned', 'lost')),
  amount_micros bigint not null check (amount_micros > 0),
  taken_micros bigint not null check (taken_micros >= 0),
  owed_micros bigint not null check (owed_micros >= 0),
  taken_transfer_id uuid unique,
  owed_transfer_id uuid unique,
  returned_transfer_id uuid unique,
  froze_at timestamptz,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  constraint reversal_fully_booked check (taken_micros + owed_micros in (0, amount_micros)),
  constraint reversal_has_transfers check (
    (taken_transfer_id is not null) = (taken_micros > 0) and (owed_transfer_id is not null) = (owed_micros > 0)
  ),
  constraint returned_has_transfer check (
    (returned_transfer_id is not null) = (state = 'returned' and taken_micros + owed_micros > 0)
  ),
  constraint only_disputes_are_lost check (state <> 'lost' or kind = 'dispute')
);

create index reversals_by_payment on pb.reversals (payment_id);
create index reversals_by_wallet on pb.reversals (wallet_id);

-- Usage. Searches are counted by hour and by day, once each, behind the sweeper's watermark, where no search changes
-- any more. Refusals and upstream calls have no ledger row: servers count them in memory and write them every few
-- seconds.

-- The number of searches of one key, category and outcome in one hour. `was_held` separates searches counted from
-- pb.searches from requests that never had a hold, which servers report. No category is '', so that it can be part of
-- the key. The counts are in the primary key's index, so that a wallet's year is an index-only scan; that needs pages
-- marked all-visible, hence the eager autovacuum.
create table pb.usage_hours (
  wallet_id uuid not null,
  hour timestamptz not null check (extract(epoch from hour)::bigint % 3600 = 0),
  key_id uuid not null,
  mode pb.key_mode not null check (mode <> 'mgmt'),
  category text not null,
  outcome text not null check (outcome <> ''),
  was_held boolean not null,
  searches bigint not null check (searches >= 0),
  charged_micros bigint not null check (charged_micros >= 0),
  primary key (wallet_id, hour, key_id, mode, category, outcome, was_held) include (searches, charged_micros),
  constraint only_live_successes_charge
    check (charged_micros = 0 or (was_held and mode = 'live' and outcome = 'ok'))
) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02);

-- The recount reads one hour of all wallets.
create index usage_hours_by_hour on pb.usage_hours using brin (hour) with (pages_per_range = 16, autosummarize = on);

create table pb.usage_days (
  wallet_id uuid not null,
  day date not null,
  key_id uuid not null,
  mode pb.key_mode not null check (mode <> 'mgmt'),
  category text not null,
  outcome text not null check (outcome <> ''),
  was_held boolean not null,
  searches bigint not null check (searches >= 0),
  charged_micros bigint not null check (charged_micros >= 0),
  primary key (wallet_id, day, key_id, mode, category, outcome, was_held) include (searches, charged_micros),
  constraint only_live_successes_charge
    check (charged_micros = 0 or (was_held and mode = 'live' and outcome = 'ok'))
) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02);

-- Every search held before this time is counted. It moves in the transaction that counts.
create table pb.usage_watermark (
  single_row boolean primary key default true check (single_row),
  counted_before timestamptz not null
);

insert into pb.usage_watermark (counted_before) select settled_before from pb.sweep_watermark;

-- Upstream calls per UTC day of the servers' clocks. `outcome` is 'ok' or the failure reason; revenue is in the 'ok'
-- row.
create table pb.upstream_days (
  day date not null,
  provider text not null check (length(provider) between 1 and 64),
  outcome text not null check (length(outcome) between 1 and 64),
  calls bigint not null check (calls >= 0),
  cost_micros bigint not null check (cost_micros >= 0),
  revenue_micros bigint not null check (revenue_micros >= 0),
  primary key (day, provider, outcome)
) with (fillfactor = 50);

-- A latency histogram of upstream calls per hour; `up_to_ms` is the bucket's upper bound. `was_open`: the circuit was
-- open after one of these calls.
create table pb.upstream_hours (
  hour timestamptz not null check (extract(epoch from hour)::bigint % 3600 = 0),
  provider text not null check (length(provider) between 1 and 64),
  outcome text not null check (length(outcome) between 1 and 64),
  up_to_ms integer not null check (up_to_ms > 0),
  calls bigint not null check (calls >= 0),
  was_open boolean not null,
  primary key (hour, provider, outcome, up_to_ms)
) with (fillfactor = 50);

-- The last batch that each server process wrote, so that a batch sent twice counts once.
create table pb.tally_writers (
  id uuid primary key,
  last_batch bigint not null,
  seen_at timestamptz not null
);

-- Events and webhooks.

-- `due_at` is later than `created_at` if an event of the same kind was emitted within the hour. The event is then sent
-- only if its condition still holds at that time.
create table pb.events (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  type text not null,
  data jsonb not null,
  created_at timestamptz not null,
  due_at timestamptz not null,
  dispatched_at timestamptz,
  email_due_at timestamptz,
  email_attempts smallint not null default 0,
  constraint known_events check (
    type in (
      'wallet.low_balance', 'wallet.depleted', 'top_up.succeeded', 'top_up.failed',
      'key.created', 'key.rotated', 'key.revoked', 'key.budget_spent',
      'webhook.test', 'webhook.disabled'
    )
  )
);

create index events_waiting on pb.events (due_at) where dispatched_at is null;
create index event_emails_waiting on pb.events (email_due_at) where email_due_at is not null;

-- When an event that can repeat many times a second was last emitted, or is scheduled if the time is in the future.
create table pb.event_throttles (
  subject_id uuid not null,
  type text not null,
  emitted_at timestamptz not null,
  primary key (subject_id, type)
);

-- Secrets are encrypted with a key that the database does not have. For a day after a rotation both secrets sign.
create table pb.webhook_endpoints (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  url text not null check (length(url) <= 2048),
  description text not null check (length(description) <= 200),
  events text[] not null,
  secret bytea not null,
  previous_secret bytea,
  previous_until timestamptz,
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('owner', 'gone', 'failing')),
  created_at timestamptz not null default clock_timestamp(),
  unique (wallet_id, id),
  constraint subscribes_to_known_events check (
    cardinality(events) > 0 and events <@ array[
      'wallet.low_balance', 'wallet.depleted', 'top_up.succeeded', 'top_up.failed',
      'key.created', 'key.rotated', 'key.revoked', 'key.budget_spent'
    ]
  ),
  constraint disabled_with_reason check ((disabled_at is null) = (disabled_reason is null)),
  constraint previous_secret_ends check ((previous_secret is null) = (previous_until is null))
);

-- `claim` counts the workers that took the delivery, so that a paused worker cannot finish one that another took over.
create table pb.webhook_deliveries (
  id uuid primary key,
  wallet_id uuid not null,
  endpoint_id uuid not null,
  event_id uuid not null references pb.events on delete cascade,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts smallint not null default 0,
  due_at timestamptz not null,
  claim integer not null default 0,
  claimed_until timestamptz,
  last_attempt_at timestamptz,
  response_status smallint,
  last_error text,
  created_at timestamptz not null,
  constraint endpoint_in_same_wallet foreign key (wallet_id, endpoint_id)
    references pb.webhook_endpoints (wallet_id, id) on delete cascade
);

create index deliveries_waiting on pb.webhook_deliveries (endpoint_id, due_at) where state = 'pending';
create index deliveries_by_endpoint on pb.webhook_deliveries (endpoint_id, id desc);
create index deliveries_by_event on pb.webhook_deliveries (event_id);

-- Sign-in.

-- Only a digest of the token is stored. `may_sign_up`: an unknown address becomes a person.
create table pb.sign_in_tokens (
  digest bytea primary key check (octet_length(digest) = 32),
  email text not null check (email = lower(email) and email ~ '^[^@\s]+@[^@\s]+$' and length(email) <= 254),
  may_sign_up boolean not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
);

create index sign_in_tokens_by_email on pb.sign_in_tokens (email);

-- `authenticated_at` is the last time the person proved their identity.
create table pb.sessions (
  id uuid primary key default gen_random_uuid(),
  digest bytea not null unique check (octet_length(digest) = 32),
  person_id uuid not null references pb.people on delete cascade,
  authenticated_at timestamptz not null,
  seen_at timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default clock_timestamp()
);

create index sessions_by_person on pb.sessions (person_id);

-- Sign-in links and invitations waiting for the worker. The token is encrypted with a key that the database does not
-- have; the row is deleted when the e-mail is sent.
create table pb.pending_emails (
  id uuid primary key,
  sign_in_digest bytea references pb.sign_in_tokens on delete cascade,
  invitation_id uuid references pb.invitations on delete cascade,
  sealed bytea not null,
  due_at timestamptz not null default clock_timestamp(),
  attempts smallint not null default 0,
  constraint email_has_one_subject check (num_nonnulls(sign_in_digest, invitation_id) = 1)
);

create index pending_emails_due on pb.pending_emails (due_at);
create index pending_emails_by_sign_in on pb.pending_emails (sign_in_digest);
create index pending_emails_by_invitation on pb.pending_emails (invitation_id);

-- Operators.

create table pb.audit_log (
  id uuid primary key default gen_random_uuid(),
  number bigint generated always as identity unique,
  at timestamptz not null default clock_timestamp(),
  operator text not null check (length(operator) between 1 and 255),
  act text not null check (act in (
    'credit', 'top_up', 'refund', 'suspend', 'resume', 'revoke_key', 'create_wallet', 'delete_account', 'close_notice'
  )),
  wallet_id uuid,
  target text not null check (length(target) between 1 and 255),
  reason text not null check (length(reason) between 1 and 500),
  outcome text not null,
  details jsonb not null default '{}'
);

create index audit_by_wallet on pb.audit_log (wallet_id, number desc);

-- Results of the last reconciliations.
create table pb.reconciliations (
  at timestamptz primary key,
  differences bigint not null check (differences >= 0),
  checks jsonb not null
);

-- Retention. A day is archived, its totals are saved, and its partitions are dropped.

-- Searches and transfers with an id before this day are archived and included in the totals below.
create table pb.retention (
  single_row boolean primary key default true check (single_row),
  retained_since date not null
);

insert into pb.retention (retained_since) values ('1970-01-01');

-- Totals of a wallet's transfers of closed days, by kind and legs.
create table pb.openings (
  wallet_id uuid not null references pb.wallets,
  kind pb.transfer_kind not null,
  from_account pb.ledger_account not null,
  to_account pb.ledger_account not null,
  transfers bigint not null check (transfers > 0),
  amount_micros bigint not null check (amount_micros > 0),
  primary key (wallet_id, kind, from_account, to_account)
);

-- The part of a key budget's total that was captured on closed days.
create table pb.budget_openings (
  budget_id uuid primary key references pb.key_budgets,
  amount_micros bigint not null check (amount_micros > 0)
);

-- Row counts and SHA-256 sums of each archived day.
create table pb.closed_days (
  day date primary key,
  searches bigint not null,
  transfers bigint not null,
  searches_sum text not null,
  transfers_sum text not null,
  closed_at timestamptz not null
);

-- The version of server/sql that was applied last, and a checksum of each applied file or statement.
create table pb.schema_version (
  single_row boolean primary key default true check (single_row),
  version integer not null check (version > 0),
  applied_at timestamptz not null default clock_timestamp()
);

create table pb.schema_objects (
  name text primary key,
  checksum text not null
);

-- Row-level security is on for every table that a tenant or an operator can read. The policies are in
-- server/sql/policies.sql.
alter table pb.wallets enable row level security;
alter table pb.key_budgets enable row level security;
alter table pb.keys enable row level security;
alter table pb.run_budgets enable row level security;
alter table pb.searches enable row level security;
alter table pb.transfers enable row level security;
alter table pb.payment_customers enable row level security;
alter table pb.top_ups enable row level security;
alter table pb.auto_top_ups enable row level security;
alter table pb.receivables enable row level security;
alter table pb.usage_hours enable row level security;
alter table pb.usage_days enable row level security;
alter table pb.events enable row level security;
alter table pb.event_throttles enable row level security;
alter table pb.webhook_endpoints enable row level security;
alter table pb.webhook_deliveries enable row level security;
