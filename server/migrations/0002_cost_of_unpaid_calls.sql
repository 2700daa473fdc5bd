-- The cost of an upstream call was counted only if the call succeeded, and not per wallet, so the operator could not see
-- the cost of searches that callers abandon. Costs are now counted when a call is sent.

-- The part of `cost_micros` that was spent on charged searches. Until now only successful calls had a cost.
alter table pb.upstream_days add column paid_cost_micros bigint not null default 0 check (paid_cost_micros >= 0);
update pb.upstream_days set paid_cost_micros = cost_micros where cost_micros > 0;

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
