-- `npm run admin -- database accept` is in the audit log.
alter table pb.audit_log drop constraint known_acts;
alter table pb.audit_log add constraint known_acts check (act in (
  'credit', 'top_up', 'refund', 'suspend', 'resume', 'revoke_key', 'create_wallet', 'delete_account', 'close_notice',
  'adjust', 'approve_adjustment', 'reject_adjustment', 'close_month', 'accept_database'
));

-- The timelines on which money was moved. Synchronous replicas have the row as soon as the first such transaction is
-- acknowledged, so they know of a promotion while the promoted primary is down. See server/sql/timeline.sql.
create table pb.timelines (
  timeline integer primary key,
  system_identifier bigint not null,
  recorded_at timestamptz not null default clock_timestamp()
);
