-- The terms of trial credits were arguments of the functions that open an account, so the role that calls them could
-- choose any amount. They are now stored here. `npm run migrate` writes them from its settings, as the owner.
create table pb.trial_terms (
  single_row boolean primary key default true check (single_row),
  amount_micros bigint not null check (amount_micros >= 0),
  max_per_day integer not null check (max_per_day >= 0)
);

insert into pb.trial_terms (amount_micros, max_per_day) values (0, 100);

-- A payment, refund or dispute that cannot be read or booked opens a notice instead of ending the comparison.
alter table pb.payment_notices drop constraint payment_notices_reason_check, add check (reason in (
  'wrong_wallet', 'wrong_amount', 'second_payment', 'payment_taken', 'not_paid_there', 'reversal_changed',
  'won_then_lost', 'automatic_top_up_off', 'unreadable'
));
