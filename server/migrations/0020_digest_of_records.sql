-- The audit log, approvers and reasons could be changed without `admin verify` reporting it. Each closed hour now has a digest
-- of them, which is part of its root. See pb.records in server/sql/hours.sql. Hours closed before this migration do not
-- verify any more.
alter table pb.ledger_hours
  add column records_digest bytea not null default decode(repeat('00', 32), 'hex')
    check (octet_length(records_digest) = 32);
alter table pb.ledger_hours alter column records_digest drop default;

create index audit_by_time on pb.audit_log (at);
create index adjustments_by_decision on pb.adjustments (decided_at);
