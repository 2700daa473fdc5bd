-- Triggers. Each block (separated by blank lines) is applied only when its text changes, because replacing a trigger
-- locks its table. The conditions on pb.wallets and pb.budget_windows are evaluated for every search. Keep them short,
-- because PostgreSQL parses them for every statement. The literal 10000 in them is pb.price_micros(); a test compares
-- them.

create or replace trigger assign_account before insert on pb.wallets
  for each row execute function pb.assign_account();

create or replace trigger emit_balance_events
  after update of credited_micros, debited_micros, low_balance_micros on pb.wallets
  for each row when (new.credited_micros - new.debited_micros < greatest(new.low_balance_micros, 10000))
  execute function pb.emit_balance_events();

create or replace trigger touch_wallet_keys after update of suspended_at on pb.wallets
  for each row when (old.suspended_at is distinct from new.suspended_at) execute function pb.touch_wallet_keys();

create or replace trigger emit_payment_event after insert on pb.payments
  for each row execute function pb.emit_payment_event();

create or replace trigger emit_new_key_event after insert on pb.keys
  for each row execute function pb.emit_key_event();

create or replace trigger emit_revoked_key_event after update of revoked_at on pb.keys
  for each row when (old.revoked_at is null and new.revoked_at is not null) execute function pb.emit_key_event();

create or replace trigger touch_key
  before update of scopes, allowed_ips, searches_per_second, searches_in_flight, compat, sources, max_run, expires_at, revoked_at
  on pb.keys
  for each row execute function pb.touch_key();

-- A budget is spent when it does not cover one more search, as in pb.hold.
create or replace trigger emit_budget_event after update on pb.budget_windows
  for each row when (
    new.budget_id is not null and new.spent_micros + 10000 > new.limit_micros
    and (old.id = new.id and old.spent_micros + 10000 > old.limit_micros) is not true
  )
  execute function pb.emit_budget_event();

create or replace trigger emit_first_budget_event after insert on pb.budget_windows
  for each row when (new.budget_id is not null and new.spent_micros + 10000 > new.limit_micros)
  execute function pb.emit_budget_event();

create or replace trigger emit_budget_warnings after update on pb.budget_windows
  for each row when (new.spent_micros >= new.next_alert_micros) execute function pb.emit_budget_warnings();

create or replace trigger emit_first_budget_warnings after insert on pb.budget_windows
  for each row when (new.spent_micros >= new.next_alert_micros) execute function pb.emit_budget_warnings();

create or replace trigger delete_sign_in_tokens after delete on pb.people
  for each row execute function pb.delete_sign_in_tokens();

create constraint trigger account_has_owner after delete or update on pb.members
  deferrable initially deferred for each row when (old.role = 'owner') execute function pb.require_owner();

create or replace trigger delete_apps_of_former_member after delete on pb.members
  for each row execute function pb.delete_member_apps();

create or replace trigger delete_apps_of_viewer after update of role on pb.members
  for each row when (new.role = 'viewer') execute function pb.delete_member_apps();

create or replace trigger cell_transfers_append_only before update or delete on pb.cell_transfers
  for each row execute function pb.forbid_change();

create or replace trigger record_approval_limit after update on pb.approval_limit
  for each row execute function pb.record_approval_limit();

create or replace trigger changes_append_only before update or delete on pb.changes
  for each row execute function pb.guard_change();

create or replace trigger changes_in_open_hour before insert on pb.changes
  for each row execute function pb.stamp_record('at');

create or replace trigger adjustments_in_open_hour before insert or update of decided_at on pb.adjustments
  for each row when (new.decided_at is not null) execute function pb.stamp_record('decided_at');

create or replace trigger changes_no_truncate before truncate on pb.changes
  for each statement execute function pb.forbid_change();

-- Ledger tables are append-only, even for the owner. Retention drops partitions, which fires no trigger. A row trigger applies to the
-- partitions too, but pb.make_partitions must create their TRUNCATE triggers.
create or replace trigger transfers_append_only before update or delete on pb.transfers
  for each row execute function pb.forbid_change();

create or replace trigger transfers_no_truncate before truncate on pb.transfers
  for each statement execute function pb.forbid_change();

create or replace trigger payments_append_only before update or delete on pb.payments
  for each row execute function pb.forbid_change();

create or replace trigger payments_no_truncate before truncate on pb.payments
  for each statement execute function pb.forbid_change();

create or replace trigger refunds_append_only before update or delete on pb.refunds
  for each row execute function pb.forbid_change();

create or replace trigger refunds_no_truncate before truncate on pb.refunds
  for each statement execute function pb.forbid_change();

create or replace trigger reversals_forward_only before update or delete on pb.reversals
  for each row execute function pb.guard_reversal();

create or replace trigger reversals_no_truncate before truncate on pb.reversals
  for each statement execute function pb.forbid_change();

create or replace trigger wallet_hours_append_only before update or delete on pb.wallet_hours
  for each row execute function pb.forbid_change();

create or replace trigger wallet_hours_no_truncate before truncate on pb.wallet_hours
  for each statement execute function pb.forbid_change();

create or replace trigger ledger_hours_filled_once before update or delete on pb.ledger_hours
  for each row execute function pb.guard_ledger_hour();

create or replace trigger ledger_hours_no_truncate before truncate on pb.ledger_hours
  for each statement execute function pb.forbid_change();

create or replace trigger closed_days_append_only before update or delete on pb.closed_days
  for each row execute function pb.forbid_change();

create or replace trigger closed_days_no_truncate before truncate on pb.closed_days
  for each statement execute function pb.forbid_change();

create or replace trigger hour_trees_append_only before update or delete on pb.hour_trees
  for each row execute function pb.forbid_change();

create or replace trigger hour_trees_no_truncate before truncate on pb.hour_trees
  for each statement execute function pb.forbid_change();

create or replace trigger ledger_days_append_only before update or delete on pb.ledger_days
  for each row execute function pb.forbid_change();

create or replace trigger ledger_days_no_truncate before truncate on pb.ledger_days
  for each statement execute function pb.forbid_change();
