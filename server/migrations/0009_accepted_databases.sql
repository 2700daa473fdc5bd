-- `npm run admin -- database accept` is in the audit log.
alter table pb.audit_log drop constraint known_acts;
alter table pb.audit_log add constraint known_acts check (act in (
  'credit', 'top_up', 'refund', 'suspend', 'resume', 'revoke_key', 'create_wallet', 'delete_account', 'close_notice',
  'adjust', 'approve_adjustment', 'reject_adjustment', 'close_month', 'accept_database'
));
