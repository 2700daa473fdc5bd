-- A mistyped credit could not be corrected, and payouts, write-offs, processor fees and forfeited balances could not be
-- booked. New kinds of transfers, a chart of accounts, a gate for adjustments, and closed months.

alter type pb.transfer_kind add value 'correction';
alter type pb.transfer_kind add value 'payout';
alter type pb.transfer_kind add value 'write_off';
alter type pb.transfer_kind add value 'fee';
alter type pb.transfer_kind add value 'breakage';
alter type pb.ledger_account add value 'fees';
alter type pb.ledger_account add value 'bad_debt';
alter type pb.ledger_account add value 'breakage';

-- Accepts everything that the previous definition accepted, so existing rows still satisfy the constraint. A correction
-- has the legs of the corrected transfer in reverse; a part that the wallet cannot pay is a receivable.
create or replace function pb.transfer_fits_kind(
  kind pb.transfer_kind, from_account pb.ledger_account, to_account pb.ledger_account, search_id uuid
)
returns boolean immutable language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return (search_id is not null) = (kind = 'refund')
    and kind::text || ' ' || from_account::text || ' ' || to_account::text = any (
      '{refund revenue wallet, top_up cash wallet, credit promotion wallet, reversal wallet cash,
        receivable receivable cash, reinstatement cash wallet, settlement wallet receivable,
        payout wallet cash, write_off bad_debt receivable, fee fees cash, breakage wallet breakage,
        correction wallet cash, correction wallet promotion, correction receivable cash,
        correction receivable promotion, correction cash wallet, correction receivable bad_debt,
        correction cash fees, correction breakage wallet}'::text[]
    );
end
$$;

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
  ('bad_debt', 5200, 'expense', 'Bad debt');

-- Adjustments by operators. The reference is unique per kind, so that a retry never books twice: the corrected transfer,
-- the payment of a fee, or a reference of the operator. Above a limit, a second operator must approve.
create table pb.adjustments (
  id uuid primary key default gen_random_uuid(),
  kind text not null check (kind in ('correction', 'payout', 'write_off', 'fee', 'breakage')),
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
  constraint approver_is_another_operator check (approver <> operator),
  constraint only_corrections_leave_debt check (owed_micros = 0 or kind = 'correction'),
  constraint booked_has_transfers check (
    (transfer_id is not null) = (state = 'booked' and owed_micros < amount_micros)
    and (owed_transfer_id is not null) = (state = 'booked' and owed_micros > 0)
  ),
  constraint decided_when_not_requested check ((decided_at is null) = (state = 'requested'))
);

-- A rejected adjustment can be requested again.
create unique index one_adjustment_per_reference on pb.adjustments (kind, reference) where state <> 'rejected';
create index adjustments_by_operator on pb.adjustments (operator, requested_at);

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

alter table pb.audit_log drop constraint if exists audit_log_act_check;
alter table pb.audit_log add constraint known_acts check (act in (
  'credit', 'top_up', 'refund', 'suspend', 'resume', 'revoke_key', 'create_wallet', 'delete_account', 'close_notice',
  'adjust', 'approve_adjustment', 'reject_adjustment', 'close_month'
));
