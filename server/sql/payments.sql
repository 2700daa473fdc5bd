-- Top-ups through a payment processor. The processor reports payments out of order, late and more than once, and each is credited
-- once. Functions take the wallet from the transaction and reject reports that contradict the row of the top-up.

-- Opens a notice for an operator, unless the same one is open.
create or replace function pb.open_payment_notice(p_reason text, p_subject text, p_wallet uuid, p_amount bigint)
returns void
language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.payment_notices (reason, subject, wallet_id, amount_micros)
  values (p_reason, p_subject, p_wallet, p_amount)
  on conflict (subject, reason) where closed_at is null do nothing;
end;

create or replace function pb.record_payment_event(
  p_event text, p_type text, p_wallet uuid, p_payment text, p_outcome text
) returns void
language sql set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.payment_events (event_id, type, wallet_id, payment_id, outcome, received_at)
  select p_event, p_type, p_wallet, p_payment, p_outcome, clock_timestamp() where p_event is not null
  on conflict (event_id) do nothing;
end;

-- Returns whether an operator has corrected the credit of this payment. The money was then taken back, and a refund or dispute takes
-- nothing.
create or replace function pb.is_corrected(p_payment text) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return exists (
    select from pb.payments p
    join pb.adjustments a on a.kind = 'correction' and a.reference = p.transfer_id::text and a.state = 'booked'
    where p.payment_id = p_payment
  );
end
$$;

-- Opens a top-up, or returns the one that this Idempotency-Key opened. The card is saved only if the owner has set up
-- automatic top-ups. customer_id is the wallet's customer at the processor, if there is one yet.
create or replace function pb.begin_top_up(new_id uuid, p_amount bigint, p_key bytea, p_fingerprint bytea)
returns table (id uuid, is_new boolean, is_same boolean, saves_card boolean, checkout_url text, customer_id text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  insert into pb.top_ups (id, wallet_id, kind, amount_micros, saves_card, key_hmac, fingerprint)
  select new_id, w.id, 'checkout', p_amount,
    exists (select from pb.auto_top_ups a where a.wallet_id = w.id), p_key, p_fingerprint
  from pb.wallets w where w.id = pb.own_wallet()
  on conflict (wallet_id, key_hmac) do nothing;
  return query
  select t.id, t.id = new_id, t.fingerprint = p_fingerprint, t.saves_card, t.checkout_url, c.customer_id
  from pb.top_ups t left join pb.payment_customers c on c.wallet_id = t.wallet_id
  where t.wallet_id = pb.own_wallet() and t.key_hmac = p_key;
end
$$;

-- Records the checkout session of a top-up. A later session of the same top-up is ignored.
create or replace function pb.record_checkout(p_top_up uuid, p_checkout text, p_url text, p_end timestamptz)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  update pb.top_ups t
  set checkout_id = p_checkout, checkout_url = p_url, expires_at = p_end
  where t.id = p_top_up and t.wallet_id = pb.own_wallet() and t.checkout_id is null;
end
$$;

-- Records the wallet's customer and returns the one in use.
create or replace function pb.record_customer(p_customer text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  insert into pb.payment_customers (wallet_id, customer_id) values (pb.own_wallet(), p_customer)
  on conflict (wallet_id) do nothing;
  return (select c.customer_id from pb.payment_customers c where c.wallet_id = pb.own_wallet());
end
$$;

-- Credits the payment of a top-up once. The gate, the top-up's status and the event are one transaction. If the amount or the wallet
-- is wrong (a mistake or a forgery) or the account is deleted (the payment must be refunded), nothing moves and a notice is opened.
create or replace function pb.book_payment(
  p_event text, p_type text, p_top_up uuid, p_payment text, p_amount bigint, p_receipt text
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_wallet uuid := pb.own_wallet();
  expected pb.top_ups;
  fault text;
  result text;
begin
  perform pb.lock_wallets(array[v_wallet]);
  -- Cells can share an account at the processor, which then reports every payment to all of them.
  if not exists (select from pb.wallets w where w.id = v_wallet) and exists (select from pb.cell) then
    return 'other_cell';
  end if;
  perform from pb.auto_top_ups a where a.wallet_id = v_wallet for update;
  select * into expected from pb.top_ups t where t.id = p_top_up and t.wallet_id = v_wallet for update;
  fault := case
    when expected.id is null then 'wrong_wallet'
    when expected.amount_micros is distinct from p_amount then 'wrong_amount'
    when expected.payment_id <> p_payment then 'second_payment'
  end;
  if fault is null then
    select t.outcome into strict result
    from pb.top_up(array[p_payment], array[v_wallet], array[p_amount], array[pb.new_uuid()], 'top_up') t;
    fault := case result when 'conflicting' then 'payment_taken' when 'unknown_wallet' then 'account_deleted' end;
  end if;
  if fault is not null then
    result := 'conflicting';
    perform pb.open_payment_notice(fault, p_payment, v_wallet, p_amount);
  else
    -- Even after 'failed' or 'expired', because that report may have been premature or late.
    update pb.top_ups t
    set status = case when t.payment_id is null then 'succeeded' else t.status end,
        settled_at = case when t.payment_id is null then clock_timestamp() else t.settled_at end,
        payment_id = p_payment, receipt_url = coalesce(t.receipt_url, p_receipt), failure = null
    where t.id = p_top_up and (t.payment_id is null or (t.receipt_url is null and p_receipt is not null));
    if expected.payment_id is null and pb.is_corrected(p_payment) then
      perform pb.open_payment_notice('reported_after_correction', p_payment, v_wallet, p_amount);
    end if;
    if expected.kind = 'automatic' and expected.payment_id is null then
      update pb.auto_top_ups a set declines = 0, off_at = null where a.wallet_id = v_wallet and a.off_at is null;
    end if;
  end if;
  perform pb.record_payment_event(p_event, p_type, v_wallet, p_payment, result);
  return result;
end
$$;

-- Ends a top-up without a payment, if it is of the given kind (NULL: any). A payment that is booked later takes precedence.
create or replace function pb.end_top_up(
  p_event text, p_type text, p_top_up uuid, p_status text, p_failure text, p_kind text
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_wallet uuid := pb.own_wallet();
  ended pb.top_ups;
begin
  if p_status not in ('failed', 'expired') then
    raise exception 'a top-up does not end as %', p_status using errcode = '22023';
  end if;
  perform pb.lock_wallets(array[v_wallet]);
  -- Locks the automatic top-up before its top-up, in the same order as pb.begin_auto_top_ups.
  perform from pb.auto_top_ups a where a.wallet_id = v_wallet for update;
  update pb.top_ups t
  set status = p_status, settled_at = clock_timestamp(), failure = left(p_failure, 64)
  where t.id = p_top_up and t.wallet_id = v_wallet and t.status = 'pending'
    and t.kind = coalesce(p_kind, t.kind)
  returning * into ended;
  if ended.kind = 'automatic' then
    perform pb.record_decline(v_wallet);
  end if;
  if ended.status = 'failed' then
    perform pb.emit_event(v_wallet, 'top_up.failed', jsonb_build_object(
      'currency', 'usd', 'amount', pb.usd(ended.amount_micros), 'reason', coalesce(ended.failure, 'unknown')
    ));
  end if;
  perform pb.record_payment_event(
    p_event, p_type, v_wallet, null, case when ended.id is null then 'repeated' else p_status end
  );
  return case when ended.id is null then 'repeated' else p_status end;
end
$$;

-- Expires up to p_limit top-ups without a checkout at the processor that were opened over 25 hours ago. Returns how many. A
-- checkout expires only when the processor reports it, because a payment in progress can take days.
create or replace function pb.expire_top_ups(p_limit integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  expired integer;
begin
  update pb.top_ups t set status = 'expired', settled_at = clock_timestamp()
  where t.status = 'pending' and t.id in (
    select d.id from pb.top_ups d
    where d.status = 'pending' and d.kind = 'checkout'
      and d.checkout_id is null and d.created_at < clock_timestamp() - interval '25 hours'
    order by d.created_at limit p_limit for update skip locked
  );
  get diagnostics expired = row_count;
  return expired;
end
$$;

-- Deletes up to p_limit events of the processor that are older than 90 days. The rows that prevent double crediting
-- (payments, reversals) stay. Returns how many.
create or replace function pb.delete_old_payment_events(p_limit integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  deleted integer;
begin
  delete from pb.payment_events e where e.event_id in (
    select o.event_id from pb.payment_events o
    where o.received_at < clock_timestamp() - interval '90 days' limit p_limit
  );
  get diagnostics deleted = row_count;
  return deleted;
end
$$;

-- Postpones the next automatic top-up by 1, 6 and 24 hours. After the fourth decline it is off until the owner sets it again.
create or replace function pb.record_decline(p_wallet uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  has_ended boolean;
begin
  update pb.auto_top_ups a
  set declines = a.declines + 1,
      next_attempt_at = clock_timestamp()
        + (array[interval '1 hour', interval '6 hours', interval '24 hours', interval '24 hours'])[a.declines + 1],
      off_at = case when a.declines = 3 then clock_timestamp() end
  where a.wallet_id = p_wallet and a.declines < 4
  returning a.off_at is not null into has_ended;
  if has_ended then
    perform pb.open_payment_notice('automatic_top_up_off', p_wallet::text, p_wallet, null);
    perform pb.record_system_change(p_wallet, 'auto_top_up.stop', p_wallet::text, 'four declines in a row');
  end if;
end
$$;

-- Opens a top-up for each automatic top-up that is due: the balance minus the debt is below the threshold, a card is saved, the
-- caps are not reached, and nothing is in progress. The row of the automatic top-up is the lock. Balances are read without a
-- lock, so that no search waits; a stale balance only delays the top-up.
create or replace function pb.begin_auto_top_ups(new_ids uuid[])
returns table (id uuid, wallet_id uuid, amount_micros bigint, customer_id text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  due uuid;
  opened integer := 0;
begin
  for due in
    select a.wallet_id
    from pb.auto_top_ups a join pb.wallets w on w.id = a.wallet_id
    where a.off_at is null and a.next_attempt_at <= clock_timestamp() and w.suspended_at is null
      -- After a refund or dispute, nothing is charged until the owner sets the automatic top-up again.
      and not exists (select from pb.reversals r where r.wallet_id = a.wallet_id and r.created_at > a.set_at)
      and w.credited_micros - w.debited_micros - w.held_micros - w.owed_micros < a.threshold_micros
    order by a.wallet_id
    for update of a skip locked
  loop
    exit when opened = cardinality(new_ids);
    return query
    insert into pb.top_ups as t (id, wallet_id, kind, amount_micros, saves_card)
    select new_ids[opened + 1], a.wallet_id, 'automatic', a.amount_micros, false
    from pb.auto_top_ups a join pb.wallets w on w.id = a.wallet_id, lateral (
      select
        coalesce(sum(b.amount_micros) filter (where pb.utc_day(b.created_at) = pb.utc_day(clock_timestamp())), 0)
          as of_day,
        coalesce(sum(b.amount_micros), 0) as of_month
      from pb.top_ups b
      where b.wallet_id = a.wallet_id and b.kind = 'automatic' and b.status not in ('failed', 'expired')
        and b.created_at >= pb.utc_month(clock_timestamp())::timestamp at time zone 'utc'
    ) taken
    where a.wallet_id = due
      and w.credited_micros - w.debited_micros - w.held_micros - w.owed_micros < a.threshold_micros
      and taken.of_day + a.amount_micros <= a.day_cap_micros
      and taken.of_month + a.amount_micros <= a.month_cap_micros
      and exists (
        select from pb.top_ups c where c.wallet_id = a.wallet_id and c.saves_card and c.payment_id is not null
      )
    on conflict (wallet_id) where kind = 'automatic' and status = 'pending' do nothing
    returning t.id, t.wallet_id, t.amount_micros,
      (select p.customer_id from pb.payment_customers p where p.wallet_id = t.wallet_id);
    if found then
      opened := opened + 1;
    end if;
  end loop;
end
$$;

-- The settings of an automatic top-up for the list of changes.
create or replace function pb.auto_top_up_settings(p_wallet uuid) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (
    select jsonb_build_object(
      'threshold', pb.usd(a.threshold_micros), 'amount', pb.usd(a.amount_micros), 'day_cap', pb.usd(a.day_cap_micros),
      'month_cap', pb.usd(a.month_cap_micros), 'is_off', a.off_at is not null
    )
    from pb.auto_top_ups a where a.wallet_id = p_wallet
  );
end
$$;

create or replace function pb.set_auto_top_up(
  p_actor uuid, p_threshold bigint, p_amount bigint, p_day_cap bigint, p_month_cap bigint
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  settings_before jsonb;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  settings_before := pb.auto_top_up_settings(pb.own_wallet());
  insert into pb.auto_top_ups as a (wallet_id, threshold_micros, amount_micros, day_cap_micros, month_cap_micros)
  values (pb.own_wallet(), p_threshold, p_amount, p_day_cap, p_month_cap)
  on conflict (wallet_id) do update
  set threshold_micros = p_threshold, amount_micros = p_amount,
      day_cap_micros = p_day_cap, month_cap_micros = p_month_cap,
      declines = 0, next_attempt_at = clock_timestamp(), off_at = null, set_at = clock_timestamp();
  perform pb.record_own_change(
    p_actor, 'auto_top_up.set', pb.own_wallet()::text, settings_before, pb.auto_top_up_settings(pb.own_wallet())
  );
end
$$;

-- Stops using the saved card, so a later automatic top-up needs a new one. A charge in progress is not repeated. If it succeeded, the
-- processor reports it and the payment is booked.
create or replace function pb.delete_auto_top_up(p_actor uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  settings_before jsonb;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  settings_before := pb.auto_top_up_settings(pb.own_wallet());
  delete from pb.auto_top_ups a where a.wallet_id = pb.own_wallet();
  update pb.top_ups t set saves_card = false where t.wallet_id = pb.own_wallet() and t.saves_card;
  update pb.top_ups t set status = 'failed', failure = 'ended', settled_at = clock_timestamp()
  where t.wallet_id = pb.own_wallet() and t.kind = 'automatic' and t.status = 'pending';
  if settings_before is not null then
    perform pb.record_own_change(p_actor, 'auto_top_up.delete', pb.own_wallet()::text, settings_before);
  end if;
  return settings_before is not null;
end
$$;
