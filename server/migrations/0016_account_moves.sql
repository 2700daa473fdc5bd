-- Moves of an account between cells. The balance is booked against a clearing account, so that the ledger of each cell is
-- complete on its own: history, closed hours and closed months stay in the cell that wrote them. See docs/decisions/0025.

alter type pb.transfer_kind add value 'move';
alter type pb.ledger_account add value 'other_cells';

-- Accepts everything that the previous definition accepted, so existing rows still satisfy the constraint.
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
        correction cash fees, correction breakage wallet,
        move wallet other_cells, move other_cells wallet, move other_cells receivable,
        move receivable other_cells}'::text[]
    );
end
$$;

insert into pb.ledger_accounts (account, code, type, name) values
  ('other_cells', 1200, 'asset', 'Balances moved from and to other cells');

-- NULL: active. Until a time: all writes of the account wait. Infinity: another cell owns the account, or it is not active
-- here yet.
alter table pb.wallets add column fenced_until timestamptz;
create index wallets_fenced on pb.wallets (fenced_until) where fenced_until is not null;

-- The owner of every account that was moved from or to this cell. The highest epoch of all cells is valid.
create table pb.account_owners (
  account_id uuid primary key references pb.accounts,
  epoch integer not null check (epoch > 0),
  cell text not null check (cell ~ '^[a-z0-9]{3}$'),
  since timestamptz not null default clock_timestamp()
);

-- The last import of an account. It becomes active when the other cell has handed it over.
create table pb.arrivals (
  account_id uuid primary key references pb.accounts,
  epoch integer not null check (epoch > 0),
  from_cell text not null check (from_cell ~ '^[a-z0-9]{3}$'),
  fence timestamptz not null,
  balances jsonb not null,
  events jsonb not null,
  deliveries jsonb not null,
  imported_at timestamptz not null default clock_timestamp(),
  activated_at timestamptz
);

-- Transfers in other cells to which imported payments, reversals and adjustments refer.
create table pb.booked_elsewhere (id uuid primary key);

-- The part of the amounts counted by key budgets, runs and limits of end users that was spent in other cells.
create table pb.spent_elsewhere (
  id uuid primary key,
  total_micros bigint not null,
  day date not null default '-infinity',
  day_micros bigint not null default 0,
  month date not null default '-infinity',
  month_micros bigint not null default 0
);

-- Identify the peppers that a server lists, without revealing them: a cell that receives an account needs those of its keys.
alter table pb.secret_reports
  add column pepper_versions smallint[] not null default '{}',
  add column pepper_checks bytea[] not null default '{}';

alter table pb.audit_log drop constraint known_acts;
alter table pb.audit_log add constraint known_acts check (act in (
  'credit', 'top_up', 'refund', 'suspend', 'resume', 'revoke_key', 'create_wallet', 'delete_account', 'close_notice',
  'adjust', 'approve_adjustment', 'reject_adjustment', 'close_month', 'accept_database', 'move_account'
));
