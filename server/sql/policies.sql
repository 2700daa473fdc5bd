-- Row-level security. A tenant reads only the rows of the wallet named for its transaction. An operator, the payment tasks and the
-- worker read the rows of all wallets. The sub-select is evaluated once per statement, while the bare function would be called for
-- every row.
--
-- Each block (separated by blank lines) is applied only when its text changes, because replacing a policy locks its
-- table.

create policy own_wallet on pb.wallets for select to pennyblack_tenant
  using (id = (select pb.own_wallet()));

create policy own_transfers on pb.transfers for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_keys on pb.keys for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_budgets on pb.budgets for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_key_limits on pb.key_limit_budgets for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_windows on pb.budget_windows for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_searches on pb.searches for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_unheld_requests on pb.unheld_requests for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_usage_hours on pb.usage_hours for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_usage_days on pb.usage_days for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_usage_end_users on pb.usage_end_users for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_end_user_settings on pb.end_user_settings for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_events on pb.events for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_endpoints on pb.webhook_endpoints for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_deliveries on pb.webhook_deliveries for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_top_ups on pb.top_ups for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_customer on pb.payment_customers for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

create policy own_auto_top_up on pb.auto_top_ups for select to pennyblack_tenant
  using (wallet_id = (select pb.own_wallet()));

-- Operators see the reason and the operator of a change, and owners do not. roles.sql grants the columns.
create policy own_changes on pb.changes for select to pennyblack_tenant
  using (
    visibility = 'owner'
    and account_id = (select w.account_id from pb.wallets w where w.id = (select pb.own_wallet()))
    and (wallet_id is null or wallet_id = (select pb.own_wallet()))
  );

create policy paid_wallets on pb.wallets for select to pennyblack_payments using (true);

create policy paid_top_ups on pb.top_ups for select to pennyblack_payments using (true);

create policy paid_customers on pb.payment_customers for select to pennyblack_payments using (true);

create policy every_wallet on pb.wallets for select to pennyblack_operator using (true);

create policy every_transfer on pb.transfers for select to pennyblack_operator using (true);

create policy every_key on pb.keys for select to pennyblack_operator using (true);

create policy every_change on pb.changes for select to pennyblack_operator using (true);

create policy every_unheld_request on pb.unheld_requests for select to pennyblack_operator using (true);

create policy every_search on pb.searches for select to pennyblack_operator using (true);

create policy every_window on pb.budget_windows for select to pennyblack_operator using (true);

create policy every_hour on pb.usage_hours for select to pennyblack_operator using (true);

create policy every_day on pb.usage_days for select to pennyblack_operator using (true);

create policy reconciled_wallets on pb.wallets for select to pennyblack_worker using (true);

create policy reconciled_transfers on pb.transfers for select to pennyblack_worker using (true);

create policy reconciled_searches on pb.searches for select to pennyblack_worker using (true);

create policy reconciled_keys on pb.keys for select to pennyblack_worker using (true);

create policy reconciled_budgets on pb.budgets for select to pennyblack_worker using (true);

create policy reconciled_windows on pb.budget_windows for select to pennyblack_worker using (true);

create policy reconciled_usage_hours on pb.usage_hours for select to pennyblack_worker using (true);

create policy reconciled_usage_days on pb.usage_days for select to pennyblack_worker using (true);

create policy verified_changes on pb.changes for select to pennyblack_worker using (true);

create policy reconciled_top_ups on pb.top_ups for select to pennyblack_worker using (true);

