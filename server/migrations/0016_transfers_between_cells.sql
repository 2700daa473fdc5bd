-- Transfers of a balance between cells, booked by operators as adjustments against a clearing account. Over all cells the
-- account sums to zero.

alter type pb.transfer_kind add value 'transfer_out';
alter type pb.transfer_kind add value 'transfer_in';
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
        transfer_out wallet other_cells, transfer_in other_cells wallet}'::text[]
    );
end
$$;

insert into pb.ledger_accounts (account, code, type, name) values
  ('other_cells', 1200, 'asset', 'Balances transferred between cells');

alter table pb.adjustments drop constraint adjustments_kind_check;
alter table pb.adjustments add constraint adjustments_kind_check check (
  kind in ('correction', 'payout', 'write_off', 'fee', 'breakage', 'transfer_out', 'transfer_in')
);

-- The two sides of a transfer. Its reference is unique in the source cell: it is that of the adjustment in the source, and part
-- of it in the target.
create table pb.cell_transfers (
  adjustment_id uuid primary key references pb.adjustments,
  source_cell text not null check (source_cell ~ '^[a-z0-9]{3}$'),
  reference text not null check (reference ~ '^[A-Za-z0-9._-]{1,100}$'),
  target_cell text not null check (target_cell ~ '^[a-z0-9]{3}$'),
  target_wallet_id uuid not null,
  constraint other_cell check (target_cell <> source_cell)
);
