-- End users: the opaque id that a caller sends in Search-For, for usage by end user and for a limit per end user on a key.
-- docs/decisions/0018-end-users.md gives the reasons.

-- `end_user` is the id as it is stored: a keyed hash that starts with ~, or the id itself if the owner chose so. There are no
-- checks, because they would be evaluated for every search and PostgreSQL would scan the table to add them.
alter table pb.searches
  add column end_user text,
  add column end_user_budget_id uuid;

-- The limit is part of the key's budget, so that a rotated key shares it and the fast paths of pb.hold, which require a key
-- without a budget, need no other condition.
alter table pb.key_budgets
  add column end_user_limit_micros bigint,
  add column end_user_period text,
  add constraint end_user_limit_with_period check (
    (end_user_limit_micros is null and end_user_period is null)
    or (end_user_limit_micros >= 0 and end_user_period in ('day', 'month'))
  );

-- The amount that an end user has spent of the limit until it resets. `id` is new in every period, so that a search that is released
-- later changes only the period in which it was counted.
create table pb.end_user_budgets (
  wallet_id uuid not null references pb.wallets,
  key_budget_id uuid not null,
  end_user text not null check (length(end_user) between 1 and 64),
  id uuid not null unique,
  spent_micros bigint not null check (spent_micros >= 0),
  resets_at timestamptz not null,
  primary key (key_budget_id, end_user)
) with (fillfactor = 50);

-- `sealed_key` is the wallet's key for the hashes of its end users, encrypted under PENNYBLACK_SECRET.
create table pb.end_user_settings (
  wallet_id uuid primary key references pb.wallets,
  sealed_key bytea not null,
  stores_plain_ids boolean not null default false
);

alter table pb.end_user_settings enable row level security;

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

alter table pb.usage_end_users enable row level security;
