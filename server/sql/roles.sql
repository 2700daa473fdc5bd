-- Privileges of the roles that servers connect as, and that the admin command switches to. All privileges on functions are
-- revoked and granted again, in one transaction, so that this file is the complete list.
--
--   pennyblack_ledger     paid searches: calls functions, reads no table
--   pennyblack_tenant     one wallet: reads the rows of the transaction's wallet, changes them through functions
--   pennyblack_payments   payment processor: books and reverses payments, cannot open a top-up at a checkout
--   pennyblack_operator   reads all wallets, acts through functions that write pb.changes
--   pennyblack_people     sign-in, teams and connected apps: calls functions, reads no table
--   pennyblack_worker     background jobs: reads the ledger, changes rows through functions
--
-- An error in the server's SQL can therefore neither move money outside the functions nor show one tenant another's
-- rows. The ledger role has no row-level security, because a batch contains many wallets and the setting names only one.
--
-- `npm run admin -- database setup` creates the roles, because they belong to the whole cluster.

revoke all on all functions in schema pb
  from public, pennyblack_ledger, pennyblack_tenant, pennyblack_payments, pennyblack_operator, pennyblack_people,
    pennyblack_worker;

grant usage on schema pb
  to pennyblack_ledger, pennyblack_tenant, pennyblack_payments, pennyblack_operator, pennyblack_people,
    pennyblack_worker;

grant execute on function pb.read_identity
  to pennyblack_ledger, pennyblack_tenant, pennyblack_payments, pennyblack_operator, pennyblack_people,
    pennyblack_worker;

grant execute on function
  pb.hold, pb.capture, pb.release, pb.find_principals, pb.changed_keys, pb.record_key_uses, pb.write_tally, pb.write_requests,
  pb.read_schema_version, pb.secrets_in_use, pb.report_server, pb.upstream_costs, pb.read_status
  to pennyblack_ledger;

grant execute on function
  pb.own_wallet, pb.utc_day, pb.utc_month, pb.name_person,
  pb.create_own_budget, pb.change_own_budget, pb.archive_own_budget, pb.request_own_increase,
  pb.label_own_account, pb.create_own_key, pb.change_own_key, pb.rotate_own_key, pb.revoke_own_key,
  pb.own_data_key, pb.set_end_user_ids,
  pb.usage_as_of, pb.are_requests_complete, pb.searches_listed_since, pb.requests_listed_since, pb.own_search_ids, pb.own_end_user_usage, pb.own_version,
  pb.own_top_up_entry, pb.own_proof,
  pb.set_alerts, pb.create_webhook, pb.change_webhook, pb.delete_webhook, pb.rotate_webhook_secret, pb.test_webhook,
  pb.replay_delivery,
  pb.begin_top_up, pb.record_checkout, pb.record_customer, pb.set_auto_top_up, pb.delete_auto_top_up
  to pennyblack_tenant;

-- A payment is credited only for a top-up that the tenant role or an automatic top-up has opened, so no role can credit a
-- wallet on its own.
grant execute on function
  pb.book_payment, pb.end_top_up, pb.reverse_payment, pb.begin_auto_top_ups, pb.expire_top_ups, pb.open_payment_notice,
  pb.delete_old_payment_events, pb.record_comparison
  to pennyblack_payments;

grant execute on function
  pb.operator_refund, pb.operator_suspend, pb.operator_revoke_key, pb.operator_health,
  pb.operator_adjust, pb.operator_transfer, pb.operator_decide_adjustment, pb.operator_close_notice, pb.operator_accept_database,
  pb.operator_view, pb.operator_read_team, pb.open_incident, pb.update_incident, pb.read_status,
  pb.own_wallet, pb.own_search_ids, pb.searches_listed_since, pb.requests_listed_since, pb.are_requests_complete, pb.utc_day,
  pb.close_month, pb.trial_balance, pb.find_principals, pb.read_schema_version, pb.usage_as_of,
  pb.webhook_lag
  to pennyblack_operator;

grant execute on function
  pb.request_sign_in, pb.create_sign_in_token, pb.redeem_sign_in, pb.begin_session, pb.join_account, pb.end_session, pb.end_all_sessions,
  pb.read_session, pb.authorize_session, pb.installation_data_key, pb.open_own_account, pb.read_team, pb.invite_to_team, pb.revoke_invitation,
  pb.change_team, pb.read_own_invitation, pb.accept_own_invitation,
  pb.begin_oidc_session, pb.connect_app, pb.read_apps, pb.set_app_wallet, pb.forget_app,
  pb.read_budget_requests, pb.decide_budget_request
  to pennyblack_people;

-- The worker expires holds, closes hours, counts usage, delivers events and deletes expired rows. It cannot change or
-- delete rows of the ledger in any other way. Retention drops partitions, which only the owner can do.
grant execute on function
  pb.read_schema_version, pb.sweep, pb.roll_up_usage, pb.recount_usage, pb.count_status, pb.read_status, pb.usage_as_of, pb.make_partitions,
  pb.partition_days_ahead, pb.drop_old_requests, pb.dispatch_events, pb.claim_deliveries, pb.return_delivery, pb.finish_delivery,
  pb.webhook_lag, pb.claim_alert_emails, pb.finish_alert_email, pb.claim_sign_in_emails, pb.finish_sign_in_email,
  pb.delete_expired_answers, pb.delete_ended_windows, pb.delete_old_end_users, pb.delete_old_events, pb.delete_expired_sign_ins,
  pb.prunable_partitions, pb.find_test_wallet, pb.delete_test_searches, pb.save_reconciliation,
  pb.prepare_hour, pb.close_hour, pb.sign_hour, pb.sign_day, pb.secrets_in_use, pb.report_worker,
  pb.trial_balance, pb.retained_since, pb.price_micros, pb.utc_day, pb.utc_month, pb.uuid_floor
  to pennyblack_worker;

-- Columns that a tenant can read. The digest of a key and the secret of a webhook are not among them.
revoke all on
  pb.wallets, pb.transfers, pb.keys, pb.budgets, pb.key_limits, pb.key_limit_budgets, pb.budget_windows, pb.budget_requests, pb.searches,
  pb.usage_hours, pb.usage_days, pb.events, pb.webhook_endpoints, pb.webhook_deliveries, pb.top_ups, pb.payment_customers, pb.auto_top_ups,
  pb.reversals, pb.payment_notices, pb.changes, pb.audit_log, pb.reconciliations, pb.upstream_days,
  pb.upstream_hours, pb.upstream_wallet_days, pb.abandoned_calls, pb.accounts, pb.people, pb.members, pb.payments,
  pb.refunds, pb.idempotency, pb.openings, pb.window_openings, pb.retention, pb.usage_watermark,
  pb.adjustments, pb.ledger_watermark, pb.ledger_hours, pb.ledger_days, pb.wallet_hours, pb.wallet_checkpoints,
  pb.window_checkpoints, pb.closed_months, pb.data_keys, pb.process_reports, pb.unheld_requests, pb.incomplete_hours, pb.end_user_settings, pb.usage_end_users, pb.identities, pb.app_settings, pb.connected_apps
  from pennyblack_ledger, pennyblack_tenant, pennyblack_payments, pennyblack_operator, pennyblack_people,
    pennyblack_worker;

grant select (
  id, name, account_id, credited_micros, debited_micros, held_micros, owed_micros, suspended_at, created_at, low_balance_micros,
  alert_email
) on pb.wallets to pennyblack_tenant;
grant select (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
  on pb.transfers to pennyblack_tenant;
grant select (
  id, wallet_id, mode, name, start, scopes, allowed_ips, searches_per_second, searches_in_flight, limits_id, compat, sources, max_run,
  external_id, expires_at, revoked_at, revoked_reason, rotated_from, last_used_at, created_at
) on pb.keys to pennyblack_tenant;
grant select (
  id, wallet_id, mode, name, amount_micros, period, per_end_user, alerts, raise_micros, raise_ends_at, external_id, created_at,
  archived_at
) on pb.budgets to pennyblack_tenant;
grant select (limits_id, wallet_id, budget_id, position) on pb.key_limit_budgets to pennyblack_tenant;
grant select (id, wallet_id, mode, budget_id, subject, limit_micros, spent_micros, opened_at, resets_at)
  on pb.budget_windows to pennyblack_tenant;
grant select (
  id, wallet_id, key_id, mode, state, price_micros, held_at, settled_at, window_ids, category, outcome, end_user,
  auth_ms, hold_ms, upstream_ms, rank_ms
) on pb.searches to pennyblack_tenant;
grant select (id, wallet_id, key_id, mode, outcome, run, end_user, transport) on pb.unheld_requests to pennyblack_tenant;
grant select (wallet_id, hour, key_id, mode, category, outcome, was_held, searches, charged_micros)
  on pb.usage_hours to pennyblack_tenant;
grant select (wallet_id, day, key_id, mode, category, outcome, was_held, searches, charged_micros)
  on pb.usage_days to pennyblack_tenant;
grant select (wallet_id, day, mode, end_user, searches, charged_micros) on pb.usage_end_users to pennyblack_tenant;
grant select (wallet_id, stores_plain_ids) on pb.end_user_settings to pennyblack_tenant;
grant select (id, wallet_id, type, data, created_at) on pb.events to pennyblack_tenant;
grant select (
  id, wallet_id, url, description, events, previous_until, failing_since, disabled_at, disabled_reason, external_id,
  created_at
) on pb.webhook_endpoints to pennyblack_tenant;
grant select (
  id, wallet_id, endpoint_id, event_id, state, attempts, due_at, last_attempt_at, response_status, last_error,
  created_at
) on pb.webhook_deliveries to pennyblack_tenant;
grant select (
  id, wallet_id, kind, status, amount_micros, refunded_micros, saves_card, checkout_url, receipt_url, failure,
  created_at, expires_at, settled_at
) on pb.top_ups to pennyblack_tenant;
grant select (wallet_id, customer_id) on pb.payment_customers to pennyblack_tenant;
grant select (
  wallet_id, threshold_micros, amount_micros, day_cap_micros, month_cap_micros, declines, next_attempt_at, off_at
) on pb.auto_top_ups to pennyblack_tenant;

grant select (id, number, at, actor, actor_id, act, subject, account_id, wallet_id, outcome, before, after, visibility)
  on pb.changes to pennyblack_tenant;

grant select (id, suspended_at) on pb.wallets to pennyblack_payments;
grant select (id, wallet_id, kind, status, checkout_id, payment_id, amount_micros, created_at, expires_at, settled_at)
  on pb.top_ups to pennyblack_payments;
grant select (compared_until) on pb.payment_comparison to pennyblack_payments, pennyblack_worker;
grant select (wallet_id, customer_id) on pb.payment_customers to pennyblack_payments;
grant select (reversal_id, kind, state, created_at) on pb.reversals to pennyblack_payments;
grant select (id, reason, subject, wallet_id, amount_micros, found_at, closed_at)
  on pb.payment_notices to pennyblack_payments;

grant select (id, name, account_id, credited_micros, debited_micros, held_micros, owed_micros, suspended_at, created_at)
  on pb.wallets to pennyblack_operator;
grant select (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
  on pb.transfers to pennyblack_operator;
grant select (id, wallet_id, mode, name, start, scopes, expires_at, revoked_at, created_at)
  on pb.keys to pennyblack_operator;
grant select (
  id, wallet_id, key_id, mode, state, price_micros, held_at, settled_at, window_ids, category, outcome, end_user,
  auth_ms, hold_ms, upstream_ms, rank_ms, upstreams
) on pb.searches to pennyblack_operator;
-- The name of a search's run.
grant select (id, budget_id, subject) on pb.budget_windows to pennyblack_operator;
grant select (id, wallet_id, key_id, mode, outcome, run, end_user, transport) on pb.unheld_requests to pennyblack_operator;
grant select (wallet_id, hour, key_id, mode, outcome, was_held, searches) on pb.usage_hours to pennyblack_operator;
grant select (wallet_id, day, charged_micros) on pb.usage_days to pennyblack_operator;
grant select (payment_id, transfer_id) on pb.payments to pennyblack_operator;
grant select (
  id, kind, reference, wallet_id, amount_micros, reason, operator, requested_at, state, transfer_id, owed_transfer_id
) on pb.adjustments to pennyblack_operator;
grant select (id, reason, subject, wallet_id, amount_micros, found_at, closed_at)
  on pb.payment_notices to pennyblack_operator;
grant select (month, closed_at, trial_balance) on pb.closed_months to pennyblack_operator;
grant select (
  id, number, at, actor, operator, actor_id, act, subject, account_id, wallet_id, reason, outcome, before, after, visibility
) on pb.changes to pennyblack_operator;
-- The ids of the secrets only, not the encrypted keys.
grant select (secret_id) on pb.data_keys to pennyblack_operator;
grant select (process_id, kind, secret_ids, seen_at) on pb.process_reports to pennyblack_operator;
grant select on
  pb.audit_log, pb.reconciliations, pb.upstream_days, pb.upstream_hours, pb.upstream_wallet_days, pb.abandoned_calls,
  pb.accounts, pb.people, pb.members, pb.cell, pb.cell_transfers
  to pennyblack_operator;

-- The columns that reconciliation compares, and the addresses for alerts. No digest of a key, secret or session.
grant select on
  pb.wallets, pb.transfers, pb.searches, pb.budgets, pb.budget_windows, pb.payments, pb.refunds,
  pb.reversals, pb.openings, pb.window_openings, pb.retention, pb.usage_hours, pb.usage_days,
  pb.usage_watermark, pb.reconciliations, pb.adjustments, pb.ledger_watermark, pb.ledger_hours, pb.ledger_days,
  pb.wallet_hours, pb.wallet_checkpoints, pb.window_checkpoints, pb.closed_months, pb.changes
  to pennyblack_worker;
grant select (id, wallet_id) on pb.keys to pennyblack_worker;
grant select (id, deleted_at) on pb.accounts to pennyblack_worker;
grant select (id, wallet_id, status, amount_micros, refunded_micros, payment_id, created_at)
  on pb.top_ups to pennyblack_worker;
grant select (wallet_id, mode, key_hmac, search_id, claimed_at, answer) on pb.idempotency to pennyblack_worker;
