-- Test searches now spend play money against runs and key budgets, so that callers can rehearse a spent budget. Play money
-- is counted apart from money: a key budget has the mode of its keys, and the runs of test keys have their own table. A
-- mode in the primary key of pb.run_budgets would break pb.hold of the previous release, which infers that key.

alter table pb.key_budgets
  add column mode pb.key_mode not null default 'live' constraint management_keys_do_not_spend check (mode <> 'mgmt');

-- Such a key could only be created by hand, and its searches did not count.
update pb.keys set budget_id = null where mode <> 'live' and budget_id is not null;

alter table pb.key_budgets add constraint key_budgets_by_mode unique (wallet_id, id, mode);

alter table pb.keys drop constraint key_budget_in_same_wallet;

-- A budget of another wallet would be updated without that wallet's lock.
alter table pb.keys add constraint key_budget_of_same_wallet_and_mode
  foreign key (wallet_id, budget_id, mode) references pb.key_budgets (wallet_id, id, mode);

alter table pb.key_budgets drop constraint key_budgets_wallet_id_id_key;

-- As pb.run_budgets, for test searches. Their run_budget_id refers to this table.
create table pb.test_run_budgets (
  wallet_id uuid not null references pb.wallets,
  name text not null check (length(name) between 1 and 128),
  id uuid not null unique,
  max_micros bigint not null check (max_micros >= 0),
  spent_micros bigint not null check (spent_micros >= 0),
  opened_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (wallet_id, name),
  constraint test_run_never_above_max check (spent_micros <= max_micros)
) with (fillfactor = 50);
