-- Tables, constraints and indexes, and the functions they depend on. Every other function,
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
  'capture', 'refund', 'top_up', 'credit', 'reversal', 'receivable', 'settlement', 'reinstatement',
  'correction', 'payout', 'write_off', 'fee', 'breakage', 'transfer_out', 'transfer_in', 'recovery'
);
create type pb.ledger_account as enum (
  'wallet', 'revenue', 'cash', 'promotion', 'receivable', 'fees', 'bad_debt', 'breakage', 'other_cells'
);
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
-- and a function body only once per connection. Captures, about half of all transfers, are checked in the constraint. A
-- correction has the legs of the corrected transfer in reverse; a part that the wallet cannot pay is a receivable.
create function pb.transfer_fits_kind(
  kind pb.transfer_kind, from_account pb.ledger_account, to_account pb.ledger_account, search_id uuid
)
returns boolean immutable language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return (search_id is not null) = (kind = 'refund')
    and kind::text || ' ' || from_account::text || ' ' || to_account::text = any (
      '{refund revenue wallet, top_up cash wallet, credit promotion wallet, reversal wallet cash,
        receivable receivable cash, reinstatement cash wallet, settlement wallet receivable,
        payout wallet cash, write_off bad_debt receivable, recovery receivable bad_debt, fee fees cash,
        breakage wallet breakage, correction wallet cash, correction wallet promotion, correction receivable cash,
        correction receivable promotion, correction cash wallet, correction receivable bad_debt,
        correction cash fees, correction breakage wallet,
        transfer_out wallet other_cells, transfer_in other_cells wallet}'::text[]
    );
end
$$;

-- Accounts and people.

-- A cell is one whole installation out of several behind one address. The keys of an account in a named cell carry a label:
-- three characters that name the cell in which the account was created, and seven for the account. Without cells, the table
-- stays empty and no account has a label.
create table pb.cell (
  single_row boolean primary key default true check (single_row),
  name text not null check (name ~ '^[a-z0-9]{3}$')
);

-- A deleted account keeps its row, because wallets and ledger rows reference it, but not its name.
create table pb.accounts (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  created_at timestamptz not null default clock_timestamp(),
  deleted_at timestamptz,
  label text constraint well_formed_label check (label ~ '^[a-z0-9]{10}$'),
  constraint deleted_accounts_have_no_name check (deleted_at is null or name = '')
);

create unique index accounts_label on pb.accounts (label) where label is not null;
create index accounts_by_deletion on pb.accounts (deleted_at) where deleted_at is not null;

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

-- The terms of trial credits. Not arguments of the functions that open an account, so that the role that calls them cannot
-- choose the amount. `npm run migrate` writes them from its settings, as the owner.
create table pb.trial_terms (
  single_row boolean primary key default true check (single_row),
  amount_micros bigint not null check (amount_micros >= 0),
  max_per_day integer not null check (max_per_day >= 0)
);

insert into pb.trial_terms (amount_micros, max_per_day) values (0, 100);

-- Wallets, keys and budgets.

-- Every search updates the wallet row. A fillfactor of 30 leaves space on the page, so that these are HOT updates. That
-- credited_micros is not negative follows from the constraints. `owed_micros` is not part of wallet_never_below_zero: a wallet
-- whose whole balance is on hold may owe all of it.
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
  owed_micros bigint not null default 0 check (owed_micros >= 0),
  constraint wallet_never_below_zero check (credited_micros - debited_micros - held_micros >= 0)
) with (fillfactor = 30);

create index wallets_by_account on pb.wallets (account_id);

-- A budget is an amount that can be spent per UTC day, ISO week or month, or in total if `period` is NULL; with `per_end_user`, by
-- each end user. It has the mode of its keys, so that play money of test searches is counted apart. A shared budget has a name, and
-- any key can spend from it; one without a name is a limit of one key. An archived budget limits no key and is deleted together with
-- its windows. A period never changes: another one is another budget. `alerts`: percentages at which the owner is warned.
create table pb.budgets (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  mode pb.key_mode not null constraint management_keys_do_not_spend check (mode <> 'mgmt'),
  name text,
  amount_micros bigint not null check (amount_micros >= 0),
  period text check (period in ('day', 'week', 'month')),
  per_end_user boolean not null default false,
  alerts smallint[] not null default '{}',
  raise_micros bigint check (raise_micros > 0),
  raise_ends_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  archived_at timestamptz,
  external_id text check (length(external_id) between 1 and 64),
  constraint budgets_by_mode unique (id, wallet_id, mode),
  constraint end_user_limit_with_period check (period is not null or not per_end_user),
  constraint raise_has_end check ((raise_micros is null) = (raise_ends_at is null))
);

create index budgets_by_wallet on pb.budgets (wallet_id);
create unique index budgets_by_external_id on pb.budgets (wallet_id, mode, external_id)
  where external_id is not null and archived_at is null;
create index archived_budgets on pb.budgets (archived_at) where archived_at is not null;

-- The budgets that a key spends from. A key and its rotated successors share them, and so do the connected apps of a person.
create table pb.key_limits (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  mode pb.key_mode not null,
  constraint key_limits_by_mode unique (id, wallet_id, mode)
);

-- The first budget that is spent, by position, is the one that is reported. Those per end user are last. The key's own limits have
-- the positions 1 to 4, shared budgets the others.
create table pb.key_limit_budgets (
  limits_id uuid not null,
  wallet_id uuid not null,
  mode pb.key_mode not null,
  budget_id uuid not null,
  position smallint not null check (position between 1 and 12),
  primary key (limits_id, position),
  constraint limits_of_same_wallet_and_mode
    foreign key (wallet_id, limits_id, mode) references pb.key_limits (wallet_id, id, mode),
  constraint budget_of_same_wallet_and_mode
    foreign key (wallet_id, budget_id, mode) references pb.budgets (wallet_id, id, mode)
);

-- Without other columns: with statistics of a young table, the planner may read an index whole that has a column it needs.
create index key_limits_by_budget on pb.key_limit_budgets (budget_id);

-- What was spent of a budget until `resets_at`, or of a run, which has no budget. `subject` is the end user, the name of the
-- run, or ''. `spent_micros` counts pending and captured searches. The next period, and the next run of the same name, replace
-- the row with a new id, so that a late release of a search does not change them. `limit_micros` is NULL for windows of end
-- users. An owner may lower a budget below the amount already spent, so only runs have a check. The next warning is due when the
-- amount spent reaches `next_alert_micros`: NULL if none is left, 0 until it has been computed. `alerted_percent` is the highest
-- percentage that was warned about.
create table pb.budget_windows (
  id bigint generated by default as identity primary key,
  wallet_id uuid not null references pb.wallets,
  mode pb.key_mode not null check (mode <> 'mgmt'),
  budget_id uuid,
  subject text not null check (length(subject) <= 128),
  limit_micros bigint check (limit_micros >= 0),
  spent_micros bigint not null check (spent_micros >= 0),
  opened_at timestamptz not null,
  resets_at timestamptz,
  next_alert_micros bigint,
  alerted_percent smallint not null default 0,
  constraint one_window_per_subject unique nulls not distinct (wallet_id, mode, budget_id, subject),
  constraint run_never_above_max
    check (budget_id is not null or (limit_micros is not null and spent_micros <= limit_micros and resets_at is not null)),
  constraint window_of_same_wallet_and_mode
    foreign key (wallet_id, budget_id, mode) references pb.budgets (wallet_id, id, mode)
) with (fillfactor = 50);

-- Lists a wallet's runs, newest first. A search changes none of these columns, so its update stays HOT.
create index runs_by_age on pb.budget_windows (wallet_id, opened_at desc, id desc)
  where budget_id is null and mode = 'live';

-- For the deletion of windows that have ended. A search changes no window's end, so its update stays HOT.
create index windows_by_end on pb.budget_windows (resets_at);

-- A window while pb.hold decides a batch: `id` is NULL until an item opens it, `max_micros` of a run as well. `taken_micros` is
-- the amount spent including the items that were accepted.
create type pb.spending as (
  kind text,
  id bigint,
  wallet_id uuid,
  mode pb.key_mode,
  budget_id uuid,
  name text,
  period text,
  subject text,
  max_micros bigint,
  spent_micros bigint,
  resets_at timestamptz,
  taken_micros bigint
);

-- The data key of a wallet, encrypted under PENNYBLACK_SECRET. The first 8 bytes name the secret. Claims, fingerprints, stored
-- answers, claims of top-ups and hashes of end users depend on it, so they are lost with it. The nil UUID is the key of the
-- installation, for addresses that had a trial. See server/sql/data-keys.sql.
create table pb.data_keys (
  wallet_id uuid primary key,
  sealed bytea not null check (octet_length(sealed) > 36),
  secret_id text not null generated always as (encode(substr(sealed, 1, 8), 'hex')) stored
);

create index data_keys_by_secret on pb.data_keys (secret_id);

create table pb.end_user_settings (
  wallet_id uuid primary key references pb.wallets,
  stores_plain_ids boolean not null
);

-- `start` is the first characters of the key, enough to recognise it in a list. `changed_at` lets servers poll for
-- changed keys. `compat` has the settings of a key for the compatibility endpoints, as in the API: most clients of other search
-- APIs can change only the base URL and the key. `sources` has the domains that its searches may return, and `max_run` the
-- largest budget of a run that they can name, as in the API. The fillfactor keeps updates of `last_used_at` HOT.
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
  limits_id uuid,
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz,
  rotated_from uuid constraint rotated_once unique,
  revoked_reason text,
  changed_at timestamptz not null default '-infinity',
  compat jsonb constraint compat_is_object check (jsonb_typeof(compat) = 'object'),
  sources jsonb constraint sources_is_object check (jsonb_typeof(sources) = 'object'),
  max_run jsonb constraint max_run_is_object check (jsonb_typeof(max_run) = 'object'),
  external_id text check (length(external_id) between 1 and 64),
  unique (id, wallet_id),
  constraint known_scopes
    check (scopes <@ array[
      'search', 'wallet:read', 'wallet:write', 'keys:read', 'keys:write', 'webhooks:write', 'activity:read',
      'budgets:request'
    ]),
  constraint only_search_keys_request check (mode <> 'mgmt' or not ('budgets:request' = any (scopes))),
  constraint management_keys_do_not_search check (mode <> 'mgmt' or not ('search' = any (scopes))),
  constraint management_keys_have_no_sources check (mode <> 'mgmt' or sources is null),
  constraint management_keys_have_no_max_run check (mode <> 'mgmt' or max_run is null),
  constraint known_revoked_reasons check (revoked_reason in ('owner', 'operator', 'leaked', 'account_deleted')),
  constraint revoked_reason_requires_revocation check (revoked_reason is null or revoked_at is not null),
  -- Windows of another wallet would be updated without that wallet's lock.
  constraint key_limits_of_same_wallet_and_mode
    foreign key (wallet_id, limits_id, mode) references pb.key_limits (wallet_id, id, mode),
  constraint rotation_in_same_wallet foreign key (wallet_id, rotated_from) references pb.keys (wallet_id, id)
) with (fillfactor = 70);

create index keys_by_wallet on pb.keys (wallet_id);
-- `pennyblack apply` finds its objects by these ids. A retry of a creation whose response was lost must not create a second one.
create unique index keys_by_external_id on pb.keys (wallet_id, mode, external_id)
  where external_id is not null and revoked_at is null;
create index keys_not_revoked on pb.keys (wallet_id, id desc) where revoked_at is null;
create index keys_by_change on pb.keys (changed_at) where changed_at > '-infinity';

-- Requests of keys to raise a shared budget for some hours, and the decisions of people. There is no text, which could contain a
-- query. A request is open for seven days. See server/sql/budget-requests.sql.
create table pb.budget_requests (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  mode pb.key_mode not null,
  budget_id uuid not null,
  key_id uuid not null,
  amount_micros bigint not null check (amount_micros > 0),
  hours smallint not null check (hours between 1 and 168),
  sends_email boolean not null,
  created_at timestamptz not null,
  state text not null default 'open' check (state in ('open', 'approved', 'denied')),
  decided_at timestamptz,
  decided_by uuid,
  constraint decided_by_person check ((state = 'open') = (decided_at is null) and (decided_at is null) = (decided_by is null)),
  constraint request_of_same_wallet foreign key (wallet_id, key_id) references pb.keys (wallet_id, id),
  constraint requested_budget_of_same_wallet
    foreign key (wallet_id, budget_id, mode) references pb.budgets (wallet_id, id, mode) on delete cascade
);

create index budget_requests_by_wallet on pb.budget_requests (wallet_id, id desc);

-- Apps that a person connects with OAuth, through the operator's OpenID Connect provider.
-- docs/decisions/0021-connected-apps.md gives the reasons.

-- Who a person is at the provider, recorded at each sign-in through it. A person has one subject per provider.
create table pb.identities (
  issuer text not null,
  subject text not null check (length(subject) between 1 and 255),
  person_id uuid not null references pb.people on delete cascade,
  primary key (issuer, subject),
  constraint one_subject_per_issuer unique (person_id, issuer)
);

-- The wallet that a person's apps spend from, and the daily budget that they share. Without a row, no app can connect.
create table pb.app_settings (
  person_id uuid primary key references pb.people on delete cascade,
  wallet_id uuid not null references pb.wallets,
  day_limit_micros bigint not null check (day_limit_micros >= 0)
);

create index app_settings_by_wallet on pb.app_settings (wallet_id);

-- A connected app spends through a key of its own, which has no secret. The row of an app whose key is revoked stays, so that
-- the app does not connect again by itself.
create table pb.connected_apps (
  key_id uuid primary key,
  wallet_id uuid not null,
  person_id uuid not null references pb.people,
  client_id text not null check (length(client_id) between 1 and 512),
  constraint one_app_per_client unique (person_id, client_id),
  constraint app_key_in_same_wallet foreign key (wallet_id, key_id) references pb.keys (wallet_id, id)
);

create index connected_apps_by_wallet on pb.connected_apps (wallet_id);

-- Searches and transfers. Both are partitioned by day. The partition key is the id, a UUIDv7, and not a timestamp
-- column: with unique (id, created_at) the same id could be inserted twice around midnight.

-- A search and its hold. The id is the Request-Id that the caller received. Category and outcome are words from our own
-- lists; the query is not stored. `end_user` is the id that the caller sent in Search-For as it is stored: a keyed hash that
-- starts with ~, or the id itself if the owner chose so. Its length is checked before the hold. `window_ids` are the windows
-- that the search was counted in, or NULL. They have no foreign key, because windows are replaced and deleted. The milliseconds
-- are those of the server until it sent the capture or release; NULL if it sent none. `upstreams` has what was queried, in
-- order, such as 'brave:timeout,exa': a name alone has answered. Only operators see it.
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
  window_ids bigint[],
  idempotency_hmac bytea,
  category text,
  outcome text,
  end_user text,
  auth_ms smallint,
  hold_ms smallint,
  upstream_ms smallint,
  rank_ms smallint,
  upstreams text,
  -- The literal is pb.price_micros(), which PostgreSQL would inline again for every statement. A test compares them.
  constraint live_searches_cost_the_price check (price_micros = case mode when 'live' then 10000 else 0 end),
  constraint settled_when_not_pending check ((settled_at is null) = (state = 'pending')),
  constraint category_length check (length(category) <= 32),
  constraint outcome_length check (length(outcome) <= 64),
  constraint upstreams_length check (length(upstreams) <= 512)
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

-- Finds the entries of an hour.
create index transfers_by_time on pb.transfers using brin (created_at)
  with (pages_per_range = 16, autosummarize = on);
create index transfers_by_wallet on pb.transfers (wallet_id, id desc);
create index refunds_by_search on pb.transfers (search_id) where kind = 'refund';
-- Lists top-ups, credits and refunds without scanning captures. A search does not touch it.
create index transfers_but_captures on pb.transfers (wallet_id, id desc) where kind <> 'capture';

-- Idempotency claims. A claim without an answer is a search in flight. The answer is compressed and encrypted with a key
-- derived from the wallet's data key and the caller's Idempotency-Key, of which only an HMAC is stored. It takes up to ten times the space of its
-- claim; the fillfactor reserves that on the page, so that storing it is a HOT update.
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
) with (fillfactor = 10);

-- Encrypted bytes cannot be compressed again.
alter table pb.idempotency alter column answer set storage external;

create index idempotency_by_age on pb.idempotency using brin (claimed_at)
  with (pages_per_range = 16, autosummarize = on);

-- Every hold before `settled_before` is known to be settled; the sweeper reads only later ones.
create table pb.sweep_watermark (
  single_row boolean primary key default true check (single_row),
  settled_before timestamptz not null
);

insert into pb.sweep_watermark (settled_before) values (clock_timestamp() - interval '1 day');

-- Servers and workers that have not stopped, each of which reports every few seconds. One that crashed remains for a day.
-- `secret_ids` are the secrets that it lists.
create table pb.process_reports (
  process_id uuid primary key,
  kind text not null check (kind in ('server', 'worker')),
  secret_ids text[] not null,
  started_at timestamptz not null,
  seen_at timestamptz not null
);

-- The tasks of all workers. A task is late if it has not succeeded for longer than its maximum age.
create table pb.worker_tasks (
  task text primary key,
  max_age_s integer not null,
  -- The first report before the first success.
  succeeded_at timestamptz not null,
  reported_at timestamptz not null
);

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
    'won_then_lost', 'automatic_top_up_off', 'unreadable', 'reported_after_correction', 'account_deleted'
  )),
  subject text not null check (length(subject) <= 255),
  wallet_id uuid,
  amount_micros bigint,
  found_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz,
  closed_by text check (length(closed_by) between 1 and 255)
);

create unique index one_open_notice on pb.payment_notices (subject, reason) where closed_at is null;

-- The comparison with the payment processor starts three days before the last one that completed.
create table pb.payment_comparison (
  single_row boolean primary key default true check (single_row),
  compared_until timestamptz not null
);

insert into pb.payment_comparison (compared_until) values (clock_timestamp());

-- A refund or dispute at the processor: taken -> returned | lost. `froze_at` is set if this dispute suspended the
-- wallet. A won dispute first recovers debt that was written off.
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
  recovered_micros bigint not null default 0 check (recovered_micros between 0 and taken_micros + owed_micros),
  recovered_transfer_id uuid unique,
  constraint reversal_fully_booked check (taken_micros + owed_micros in (0, amount_micros)),
  constraint reversal_has_transfers check (
    (taken_transfer_id is not null) = (taken_micros > 0) and (owed_transfer_id is not null) = (owed_micros > 0)
  ),
  constraint returned_has_transfer check (
    (returned_transfer_id is not null) = (state = 'returned' and taken_micros + owed_micros > 0)
  ),
  constraint only_disputes_are_lost check (state <> 'lost' or kind = 'dispute'),
  constraint recovered_has_transfer check ((recovered_transfer_id is not null) = (recovered_micros > 0)),
  constraint recovered_when_returned check (recovered_micros = 0 or state = 'returned')
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

-- The hourly pass compares the last days of all wallets.
create index usage_days_by_day on pb.usage_days using brin (day) with (pages_per_range = 16, autosummarize = on);

-- Every search held before this time is counted. It moves in the transaction that counts.
create table pb.usage_watermark (
  single_row boolean primary key default true check (single_row),
  counted_before timestamptz not null
);

insert into pb.usage_watermark (counted_before) select settled_before from pb.sweep_watermark;

-- Searches that were held, by end user and day. There are no hours, keys, categories or outcomes, and rows are deleted
-- after 90 days, because a caller can send a different id with every search.
create table pb.usage_end_users (
  wallet_id uuid not null,
  day date not null,
  mode pb.key_mode not null check (mode <> 'mgmt'),
  end_user text not null,
  searches bigint not null check (searches >= 0),
  charged_micros bigint not null check (charged_micros >= 0),
  primary key (wallet_id, day, mode, end_user) include (searches, charged_micros)
);

create index usage_end_users_by_day on pb.usage_end_users using brin (day) with (pages_per_range = 16, autosummarize = on);

-- Upstream calls per UTC day of the servers' clocks. `outcome` is 'ok' or the failure reason; revenue is in the 'ok'
-- row. A cost is counted when a call is sent; `paid_cost_micros` is the part that was spent on charged searches.
create table pb.upstream_days (
  day date not null,
  provider text not null check (length(provider) between 1 and 64),
  outcome text not null check (length(outcome) between 1 and 64),
  calls bigint not null check (calls >= 0),
  cost_micros bigint not null check (cost_micros >= 0),
  revenue_micros bigint not null check (revenue_micros >= 0),
  paid_cost_micros bigint not null default 0 check (paid_cost_micros >= 0),
  primary key (day, provider, outcome)
) with (fillfactor = 50);

-- Calls to upstreams per wallet and UTC day. Abandoned: unpaid, because the caller disconnected or set a deadline that
-- passed. Revenue is in pb.usage_days.
create table pb.upstream_wallet_days (
  day date not null,
  wallet_id uuid not null,
  provider text not null check (length(provider) between 1 and 64),
  calls bigint not null check (calls >= 0),
  cost_micros bigint not null check (cost_micros >= 0),
  paid_calls bigint not null check (paid_calls >= 0),
  paid_cost_micros bigint not null check (paid_cost_micros >= 0),
  abandoned_calls bigint not null check (abandoned_calls >= 0),
  abandoned_cost_micros bigint not null check (abandoned_cost_micros >= 0),
  primary key (day, wallet_id, provider)
) with (fillfactor = 50);

-- Abandoned calls of the last day in periods of five minutes, for the operator's list of open problems. `paid_calls` are
-- the paid calls that were written in the same batches.
create table pb.abandoned_calls (
  since timestamptz not null,
  wallet_id uuid not null,
  calls bigint not null check (calls >= 0),
  cost_micros bigint not null check (cost_micros >= 0),
  paid_calls bigint not null check (paid_calls >= 0),
  primary key (since, wallet_id)
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

-- Live requests of all wallets by outcome and UTC day, for the status page: sums of pb.usage_days, which the worker adds up again
-- for the last days. 90 days.
create table pb.status_days (
  day date not null,
  outcome text not null check (outcome <> ''),
  requests bigint not null check (requests >= 0),
  primary key (day, outcome)
) with (fillfactor = 50);

-- Charged searches of all wallets by UTC day and time from the request to the charge, counted together with usage. `up_to_ms` is
-- that time, rounded up to two digits. Slow: over 100 ms of it were not spent waiting for an upstream. 90 days.
create table pb.latency_days (
  day date not null,
  up_to_ms integer not null check (up_to_ms > 0),
  searches bigint not null check (searches >= 0),
  slow_searches bigint not null check (slow_searches between 0 and searches),
  primary key (day, up_to_ms)
) with (fillfactor = 50);

-- Failures of the service that the operator reports on the status page, and what was reported about each, oldest first.
create table pb.incidents (
  id uuid primary key,
  title text not null check (length(title) between 1 and 120),
  impact text not null check (impact in ('degraded', 'outage')),
  opened_at timestamptz not null,
  closed_at timestamptz,
  constraint closes_after_it_opens check (closed_at >= opened_at)
);

create table pb.incident_updates (
  incident_id uuid not null references pb.incidents,
  number bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  text text not null check (length(text) between 1 and 1000)
);

create index incident_updates_by_incident on pb.incident_updates (incident_id, number);

-- Refusals and replays of the last 7 days: requests that never had a hold. The id is the request id, which contains the time
-- of the request. Servers store a limited number of them; pb.usage_hours counts all of them. Never the query.
create table pb.unheld_requests (
  id uuid primary key,
  wallet_id uuid not null,
  key_id uuid not null,
  mode pb.key_mode not null check (mode <> 'mgmt'),
  outcome text not null check (length(outcome) between 1 and 64),
  run text check (length(run) <= 128),
  end_user text check (length(end_user) <= 64),
  transport text not null check (transport in ('http', 'compat', 'mcp', 'playground'))
) partition by range (id);

create index unheld_requests_by_wallet on pb.unheld_requests (wallet_id, id desc);

-- Hours in which some refusals and replays may be missing from the counts: a server had too many different ones to count
-- them, or was killed before it wrote them.
create table pb.incomplete_hours (
  hour timestamptz primary key check (extract(epoch from hour)::bigint % 3600 = 0)
);

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
      'key.created', 'key.rotated', 'key.revoked', 'key.budget_spent', 'budget.threshold', 'budget.spent',
      'budget.increase_requested', 'service.incident',
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
  external_id text check (length(external_id) between 1 and 64),
  unique (wallet_id, id),
  constraint webhooks_by_external_id unique (wallet_id, external_id),
  constraint subscribes_to_known_events check (
    cardinality(events) > 0 and events <@ array[
      'wallet.low_balance', 'wallet.depleted', 'top_up.succeeded', 'top_up.failed',
      'key.created', 'key.rotated', 'key.revoked', 'key.budget_spent', 'budget.threshold', 'budget.spent',
      'budget.increase_requested', 'service.incident'
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

-- What can be changed or done, as <subject>.<verb>. Owners see the acts that concern their account; the others are for operators.
create table pb.acts (
  act text primary key check (act ~ '^[a-z_]+\.[a-z_]+$'),
  visibility text not null check (visibility in ('operator', 'owner'))
);

insert into pb.acts (act, visibility) values
  ('account.create', 'owner'), ('account.delete', 'owner'), ('account.view', 'operator'),
  ('adjustment.approve', 'owner'), ('adjustment.reject', 'owner'), ('adjustment.request', 'owner'),
  ('alerts.change', 'owner'),
  ('approval_limit.change', 'operator'),
  ('app.allow', 'owner'), ('app.connect', 'owner'), ('app.disconnect', 'owner'),
  ('app_settings.change', 'owner'), ('app_settings.delete', 'owner'),
  ('auto_top_up.delete', 'owner'), ('auto_top_up.set', 'owner'), ('auto_top_up.stop', 'owner'),
  ('budget.approve_increase', 'owner'), ('budget.archive', 'owner'), ('budget.change', 'owner'),
  ('budget.create', 'owner'), ('budget.deny_increase', 'owner'), ('budget.request_increase', 'owner'),
  ('cell.name', 'operator'),
  ('database.accept', 'operator'), ('database.migrate', 'operator'),
  ('end_user_settings.change', 'owner'),
  ('incident.close', 'operator'), ('incident.open', 'operator'), ('incident.update', 'operator'),
  ('invitation.create', 'owner'), ('invitation.revoke', 'owner'),
  ('key.change', 'owner'), ('key.create', 'owner'), ('key.revoke', 'owner'), ('key.rotate', 'owner'),
  ('member.change', 'owner'), ('member.join', 'owner'), ('member.remove', 'owner'),
  ('month.close', 'operator'),
  ('notice.close', 'operator'),
  ('search.refund', 'owner'),
  ('secret.replace_data_keys', 'operator'), ('secret.reseal', 'operator'),
  ('session.end_all', 'owner'), ('session.start', 'owner'),
  ('sign_in_link.create', 'operator'),
  ('trial_terms.change', 'operator'),
  ('wallet.create', 'owner'), ('wallet.resume', 'owner'), ('wallet.suspend', 'owner'),
  ('webhook.change', 'owner'), ('webhook.create', 'owner'), ('webhook.delete', 'owner'), ('webhook.disable', 'owner'),
  ('webhook.rotate_secret', 'owner');

-- The list of changes: who changed what, when and why. Append-only and part of the digests of closed hours. pb.audit_log is a
-- view of it. `subject` is the id of what was changed, and `before` and `after` have the values that differ. They contain no
-- secret, and people only by id. Values can be names or addresses that an owner chose, so the deletion of the account erases
-- them: the digests of closed hours cover `values_digest`, which is salted, instead of the values. See server/sql/changes.sql.
create table pb.changes (
  id uuid primary key default gen_random_uuid(),
  number bigint generated always as identity unique,
  at timestamptz not null default clock_timestamp(),
  actor text not null check (actor in ('operator', 'person', 'key', 'system')),
  operator text check (length(operator) between 1 and 255),
  actor_id uuid,
  act text not null references pb.acts,
  subject text not null check (length(subject) between 1 and 255),
  account_id uuid,
  wallet_id uuid,
  reason text check (length(reason) between 1 and 500),
  outcome text not null check (outcome ~ '^[a-z_]{1,64}$'),
  before jsonb,
  after jsonb,
  salt bytea,
  values_digest bytea,
  visibility text not null check (visibility in ('operator', 'owner')),
  constraint operators_have_names check ((operator is not null) = (actor = 'operator')),
  constraint people_and_keys_have_ids check ((actor_id is not null) = (actor in ('person', 'key'))),
  constraint owners_see_their_account check (visibility = 'operator' or account_id is not null),
  constraint values_are_salted check (
    octet_length(salt) = 16 and octet_length(values_digest) = 32 or salt is null and before is null and after is null
  ),
  -- Full keys and the signing secrets of webhooks. pb.without_secrets removes them.
  constraint no_secrets check (
    concat(before::text, after::text) !~ 'pb_(live|test|mgmt)_\w{30}|whsec_[0-9A-Za-z+/]{16}'
  )
);

create index changes_by_account on pb.changes (account_id, number desc) where account_id is not null;
create index changes_by_wallet on pb.changes (wallet_id, number desc) where wallet_id is not null;
create index changes_by_operator on pb.changes (number desc) where operator is not null;
create index changes_by_time on pb.changes (at);
create index changes_by_subject on pb.changes (subject);
create index changes_by_actor on pb.changes (actor_id) where actor_id is not null;

-- The chart of accounts. In a transfer, from_account is the debit side and to_account the credit side. The key is text,
-- because a new value of an enum cannot be used in the transaction that adds it; a test compares the two lists.
create table pb.ledger_accounts (
  account text primary key,
  code smallint not null unique,
  type text not null check (type in ('asset', 'liability', 'income', 'expense')),
  name text not null check (length(name) between 1 and 100)
);

insert into pb.ledger_accounts (account, code, type, name) values
  ('cash', 1000, 'asset', 'Cash at the payment processor and the bank'),
  ('receivable', 1100, 'asset', 'Receivables from customers'),
  ('wallet', 2000, 'liability', 'Customer balances'),
  ('revenue', 4000, 'income', 'Searches'),
  ('breakage', 4100, 'income', 'Forfeited balances'),
  ('promotion', 5000, 'expense', 'Promotional credits'),
  ('fees', 5100, 'expense', 'Payment processor fees'),
  ('bad_debt', 5200, 'expense', 'Bad debt'),
  ('other_cells', 1200, 'asset', 'Balances transferred between cells');

-- Adjustments by operators. The reference is unique per kind, so that a retry never books twice: the corrected transfer,
-- the payment of a fee or of a payment that no webhook reported, or a reference of the operator. Above a limit, a second
-- operator must approve; `limit_micros` is the limit at the time of the request.
create table pb.adjustments (
  id uuid primary key default gen_random_uuid(),
  kind text not null check (kind in (
    'correction', 'payout', 'write_off', 'fee', 'breakage', 'transfer_out', 'transfer_in',
    'invoice', 'promotion', 'payment'
  )),
  reference text not null check (length(reference) between 1 and 255),
  wallet_id uuid not null references pb.wallets,
  amount_micros bigint not null check (amount_micros > 0),
  state text not null default 'requested' check (state in ('requested', 'booked', 'rejected')),
  reason text not null check (length(reason) between 1 and 500),
  operator text not null check (length(operator) between 1 and 255),
  approver text check (length(approver) between 1 and 255),
  -- The part of a correction that the wallet could not pay.
  owed_micros bigint not null default 0 check (owed_micros between 0 and amount_micros),
  transfer_id uuid unique,
  owed_transfer_id uuid unique,
  requested_at timestamptz not null default clock_timestamp(),
  decided_at timestamptz,
  limit_micros bigint not null,
  constraint approver_is_another_operator check (approver <> operator),
  constraint only_corrections_leave_debt check (owed_micros = 0 or kind = 'correction'),
  constraint booked_has_transfers check (
    (transfer_id is not null) = (state = 'booked' and owed_micros < amount_micros)
    and (owed_transfer_id is not null) = (state = 'booked' and owed_micros > 0)
  ),
  constraint decided_when_not_requested check ((decided_at is null) = (state = 'requested')),
  constraint payment_is_not_manual check (kind <> 'payment' or not starts_with(reference, 'manual:')),
  constraint approved_above_limit
    check (state <> 'booked' or approver is not null or amount_micros <= limit_micros)
);

-- A rejected adjustment can be requested again.
create unique index one_adjustment_per_reference on pb.adjustments (kind, reference) where state <> 'rejected';
create index adjustments_by_operator on pb.adjustments (operator, requested_at);
create index adjustments_by_decision on pb.adjustments (decided_at);

-- The sum that an operator may adjust within 24 hours without a second operator. Only the owner can change it.
create table pb.approval_limit (
  single_row boolean primary key default true check (single_row),
  limit_micros bigint not null check (limit_micros >= 0)
);

insert into pb.approval_limit (limit_micros) values (100000000);

-- Months whose books are closed, with the trial balance at the end of the month.
create table pb.closed_months (
  month date primary key check (extract(day from month) = 1),
  closed_at timestamptz not null default clock_timestamp(),
  closed_by text not null check (length(closed_by) between 1 and 255),
  trial_balance jsonb not null
);

-- The two sides of a transfer of a balance between cells. Over all cells, the account other_cells sums to zero. Its reference
-- is unique in the source cell: it is that of the adjustment in the source, and part of it in the target.
create table pb.cell_transfers (
  adjustment_id uuid primary key references pb.adjustments,
  source_cell text not null check (source_cell ~ '^[a-z0-9]{3}$'),
  reference text not null check (reference ~ '^[A-Za-z0-9._-]{1,100}$'),
  target_cell text not null check (target_cell ~ '^[a-z0-9]{3}$'),
  target_wallet_id uuid not null,
  constraint other_cell check (target_cell <> source_cell)
);

-- Closed hours. An hour is closed once: its entries are verified, summed per wallet and included in a chain of digests per
-- wallet. Later runs read the sums and the entries of the hours that are still open. See server/sql/hours.sql.
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

-- Captured searches of a window that were held in closed hours.
create table pb.window_checkpoints (
  window_id bigint primary key,
  micros bigint not null check (micros > 0)
) with (fillfactor = 50);

-- One row per closed hour, also for an hour without entries. The amounts are the sums over all wallets. `root` and
-- `signed` are filled in later, once. `records_digest` covers the list of changes and the adjustments: see pb.records.
create table pb.ledger_hours (
  hour timestamptz primary key check (extract(epoch from hour)::bigint % 3600 = 0),
  entries bigint not null check (entries >= 0),
  wallets bigint not null check (wallets >= 0),
  credited_micros bigint not null check (credited_micros >= 0),
  debited_micros bigint not null check (debited_micros >= 0),
  owed_micros bigint not null,
  closed_at timestamptz not null,
  root bytea check (octet_length(root) = 32),
  signed text,
  records_digest bytea not null check (octet_length(records_digest) = 32)
);

-- The worker builds a Merkle tree over the digests of each hour and signs its root with a key that the database does not
-- contain. See server/src/evidence.

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

-- The timelines on which money was moved. Synchronous replicas have the row as soon as the first such transaction is
-- acknowledged, so they know of a promotion while the promoted primary is down. Two nodes that are promoted from the same
-- timeline get the same number, so a timeline is also identified by a token. See server/sql/timeline.sql.
create table pb.timelines (
  timeline integer primary key,
  system_identifier bigint not null,
  recorded_at timestamptz not null default clock_timestamp(),
  token uuid not null default gen_random_uuid()
);

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

-- The part of a total budget's window that was captured on closed days. Other windows end before a day can be closed.
create table pb.window_openings (
  window_id bigint primary key,
  micros bigint not null check (micros > 0)
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
alter table pb.budgets enable row level security;
alter table pb.key_limit_budgets enable row level security;
alter table pb.budget_windows enable row level security;
alter table pb.keys enable row level security;
alter table pb.searches enable row level security;
alter table pb.transfers enable row level security;
alter table pb.payment_customers enable row level security;
alter table pb.top_ups enable row level security;
alter table pb.auto_top_ups enable row level security;
alter table pb.end_user_settings enable row level security;
alter table pb.usage_end_users enable row level security;
alter table pb.unheld_requests enable row level security;
alter table pb.usage_hours enable row level security;
alter table pb.usage_days enable row level security;
alter table pb.events enable row level security;
alter table pb.event_throttles enable row level security;
alter table pb.webhook_endpoints enable row level security;
alter table pb.webhook_deliveries enable row level security;
alter table pb.changes enable row level security;
