-- Operators and the payment processor both act on a payment, and each acted without the other: see the table in
-- server/src/wallet/payment-pairs.test.ts.

alter table pb.payment_notices drop constraint payment_notices_reason_check, add check (reason in (
  'wrong_wallet', 'wrong_amount', 'second_payment', 'payment_taken', 'not_paid_there', 'reversal_changed',
  'won_then_lost', 'automatic_top_up_off', 'unreadable', 'reported_after_correction', 'account_deleted'
));

-- A won dispute first recovers debt that was written off.
alter type pb.transfer_kind add value 'recovery';

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
        payout wallet cash, write_off bad_debt receivable, recovery receivable bad_debt, fee fees cash,
        breakage wallet breakage, correction wallet cash, correction wallet promotion, correction receivable cash,
        correction receivable promotion, correction cash wallet, correction receivable bad_debt,
        correction cash fees, correction breakage wallet,
        transfer_out wallet other_cells, transfer_in other_cells wallet}'::text[]
    );
end
$$;

alter table pb.reversals
  add column recovered_micros bigint not null default 0
    check (recovered_micros between 0 and taken_micros + owed_micros),
  add column recovered_transfer_id uuid unique,
  add constraint recovered_has_transfer check ((recovered_transfer_id is not null) = (recovered_micros > 0)),
  add constraint recovered_when_returned check (recovered_micros = 0 or state = 'returned');

-- Credits by operators are adjustments, with the same limit: an invoice or a promotion with a reference of the operator, or a
-- payment that no webhook reported, with its payment id.
alter table pb.adjustments drop constraint adjustments_kind_check;
alter table pb.adjustments add constraint adjustments_kind_check check (kind in (
  'correction', 'payout', 'write_off', 'fee', 'breakage', 'transfer_out', 'transfer_in',
  'invoice', 'promotion', 'payment'
));
alter table pb.adjustments add constraint payment_is_not_manual
  check (kind <> 'payment' or not starts_with(reference, 'manual:'));

-- The limit at the time of the request, which was not recorded before.
alter table pb.adjustments add column limit_micros bigint;
update pb.adjustments set limit_micros = 9223372036854775807;
insert into pb.adjustments
  (kind, reference, wallet_id, amount_micros, limit_micros, state, reason, operator, transfer_id, requested_at, decided_at)
select m.kind, m.reference, m.wallet_id, m.amount_micros, 9223372036854775807, 'booked', m.reason, m.operator,
  p.transfer_id, m.created_at, m.created_at
from pb.manual_credits m join pb.payments p on p.payment_id = 'manual:' || m.reference;
alter table pb.adjustments
  alter column limit_micros set not null,
  add constraint approved_above_limit
    check (state <> 'booked' or approver is not null or amount_micros <= limit_micros);
drop table pb.manual_credits;
