-- Adjustments by operators, trial balance and month close. In a transfer, from_account is the debit side and to_account
-- the credit side:
--
--   wallet    -> cash         payout       a balance is paid out to the customer
--   bad_debt  -> receivable   write_off    the debt of a wallet is not collected
--   fees      -> cash         fee          the processor's fee of a payment
--   wallet    -> breakage     breakage     a balance is forfeited
--   wallet    -> other_cells  transfer_out a balance is transferred to another cell: see cell-transfers.sql
--   other_cells -> wallet     transfer_in  a balance is transferred from another cell
--   cash      -> wallet       top_up       an invoice was paid, or a payment that no webhook reported
--   promotion -> wallet       credit       a promotion
--   reversed legs             correction   a credit, a top-up or one of the above was wrong
--
-- pb.adjustments is the gate. Its row is inserted or changed in the transaction that moves the money.

-- Moves the money of a requested adjustment. The caller has locked the wallet. If that is not possible, raises PB010 with the
-- outcome as its message.
create or replace function pb.book_adjustment(p_adjustment uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  a pb.adjustments;
  w pb.wallets;
  debit pb.ledger_account;
  credit pb.ledger_account;
  owed bigint := 0;
  fault text;
  main_id uuid;
  owed_id uuid;
begin
  select * into strict a from pb.adjustments r where r.id = p_adjustment;
  select * into strict w from pb.wallets r where r.id = a.wallet_id;
  -- Checked again, because the processor can report between the request and the approval.
  fault := pb.adjustment_fault(a.kind, a.reference, a.wallet_id, a.amount_micros);
  if fault is null and a.kind in ('invoice', 'promotion', 'payment') then
    perform pb.book_credit(a);
    return;
  elsif a.kind = 'correction' then
    select t.to_account, t.from_account into debit, credit from pb.transfers t where t.id = a.reference::uuid;
  else
    debit := case a.kind
      when 'write_off' then 'bad_debt' when 'fee' then 'fees' when 'transfer_in' then 'other_cells' else 'wallet' end;
    credit := case a.kind
      when 'write_off' then 'receivable' when 'breakage' then 'breakage' when 'transfer_out' then 'other_cells'
      when 'transfer_in' then 'wallet' else 'cash' end;
  end if;
  if debit = 'wallet' then
    owed := a.amount_micros - least(a.amount_micros, w.credited_micros - w.debited_micros - w.held_micros);
  end if;
  fault := case
    when fault is not null then fault
    when a.kind = 'transfer_out' and w.suspended_at is not null then 'wallet_suspended'
    when a.kind = 'transfer_out' and w.owed_micros > 0 then 'wallet_owes'
    when owed > 0 and a.kind <> 'correction' then 'insufficient_balance'
    when credit = 'receivable' and a.amount_micros > w.owed_micros then 'exceeds_debt'
  end;
  if fault is not null then
    raise exception using errcode = 'PB010', message = fault;
  end if;

  update pb.wallets r
  set debited_micros = r.debited_micros + case debit when 'wallet' then a.amount_micros - owed else 0 end,
      credited_micros = r.credited_micros + case credit when 'wallet' then a.amount_micros else 0 end,
      owed_micros = r.owed_micros + owed + case
        when debit = 'receivable' then a.amount_micros when credit = 'receivable' then -a.amount_micros else 0 end
  where r.id = a.wallet_id;
  if owed < a.amount_micros then
    main_id := pb.new_uuid();
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (main_id, a.wallet_id, a.kind::pb.transfer_kind, debit, credit, a.amount_micros - owed, pb.entry_time());
  end if;
  if owed > 0 then
    owed_id := pb.new_uuid();
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (owed_id, a.wallet_id, 'correction', 'receivable', credit, owed, pb.entry_time());
  end if;
  update pb.adjustments r
  set state = 'booked', decided_at = clock_timestamp(), owed_micros = owed, transfer_id = main_id,
      owed_transfer_id = owed_id
  where r.id = p_adjustment;
  perform pb.settle_debts(array[a.wallet_id]);
end
$$;

-- Books a credit through pb.top_up, whose gate is the payment id.
create or replace function pb.book_credit(a pb.adjustments) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_transfer uuid := pb.new_uuid();
begin
  perform pb.top_up(
    array[pb.payment_id_of(a.kind, a.reference)], array[a.wallet_id], array[a.amount_micros], array[v_transfer],
    case a.kind when 'promotion' then 'credit' else 'top_up' end::pb.transfer_kind
  );
  update pb.adjustments r set state = 'booked', decided_at = clock_timestamp(), transfer_id = v_transfer where r.id = a.id;
end
$$;

-- An operator's reference must not be the id of a payment.
create or replace function pb.payment_id_of(p_kind text, p_reference text) returns text
language sql immutable set search_path = pg_catalog, pg_temp
begin atomic
  select case p_kind when 'payment' then p_reference else 'manual:' || p_reference end;
end;

-- Returns the reason an adjustment cannot be booked, or NULL. The caller has locked the wallet.
create or replace function pb.adjustment_fault(p_kind text, p_reference text, p_wallet uuid, p_amount bigint) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  known pb.payments;
begin
  if p_kind = 'correction' then
    return pb.correction_fault(p_reference::uuid);
  elsif p_kind not in ('invoice', 'promotion', 'payment') then
    return null;
  end if;
  select * into known from pb.payments p where p.payment_id = pb.payment_id_of(p_kind, p_reference);
  return case
    when p_kind = 'payment' and (known.wallet_id, known.amount_micros) = (p_wallet, p_amount) then 'already_credited'
    when known.payment_id is not null then 'conflicting'
    when pb.is_deleted(p_wallet) then 'unknown_wallet'
  end;
end
$$;

-- Requests an adjustment, and books it unless a second operator must approve it. The reference of a correction is the corrected
-- transfer, which determines the wallet and the amount. The reference of a fee is the payment, which determines the wallet.
create or replace function pb.operator_adjust(
  p_operator text, p_reason text, p_kind text, p_reference text, p_wallet uuid default null, p_amount bigint default null
) returns table (outcome text, adjustment_id uuid, wallet_id uuid, amount_micros bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  known pb.adjustments;
  fault text;
begin
  -- Serializes adjustments, so that two concurrent ones cannot both be within the limit.
  perform from pb.approval_limit for update;
  wallet_id := p_wallet;
  amount_micros := p_amount;
  if p_kind = 'correction' then
    select t.wallet_id, t.amount_micros into wallet_id, amount_micros from pb.transfers t
    where t.id = p_reference::uuid and (p_wallet is null or t.wallet_id = p_wallet);
    outcome := case when not found then 'unknown_transfer' end;
  elsif p_kind = 'fee' then
    select p.wallet_id into wallet_id from pb.payments p
    where p.payment_id = p_reference and (p_wallet is null or p.wallet_id = p_wallet);
    outcome := case when not found then 'unknown_payment' end;
  end if;
  if wallet_id is not null then
    perform pb.lock_wallets(array[wallet_id]);
  end if;
  if outcome is null and not exists (select from pb.wallets w where w.id = wallet_id) then
    outcome := 'unknown_wallet';
  end if;
  if outcome is not null then
    return next;
    return;
  end if;

  select * into known from pb.adjustments a
  where a.kind = p_kind and a.reference = p_reference and a.state <> 'rejected';
  fault := pb.adjustment_fault(p_kind, p_reference, wallet_id, amount_micros);
  if known.id is not null then
    adjustment_id := known.id;
    outcome := case
      when (known.wallet_id, known.amount_micros) is distinct from (wallet_id, amount_micros) then 'conflicting'
      when known.state = 'requested' then 'requested'
      else 'repeated'
    end;
  elsif fault is not null then
    outcome := fault;
  else
    begin
      insert into pb.adjustments as a (kind, reference, wallet_id, amount_micros, limit_micros, reason, operator)
      select p_kind, p_reference, wallet_id, amount_micros, l.limit_micros, p_reason, p_operator from pb.approval_limit l
      returning a.id into adjustment_id;
      outcome := 'requested';
      if not pb.needs_approval(p_operator, p_kind, amount_micros) then
        perform pb.book_adjustment(adjustment_id);
        outcome := 'booked';
      end if;
    exception when sqlstate 'PB010' then
      outcome := sqlerrm;
      adjustment_id := null;
    end;
  end if;
  perform pb.record_operator_act(
    p_operator, p_reason, 'adjustment.request', p_reference, wallet_id, outcome,
    p_after => jsonb_build_object('kind', p_kind, 'amount', pb.usd(amount_micros), 'adjustment', adjustment_id)
  );
  return next;
end
$$;

-- Whether a second operator must approve, which is the case if the amount, together with the amounts that the operator booked
-- alone in the last 24 hours, exceeds the limit. Each fee is compared with the limit separately and does not count towards it.
create or replace function pb.needs_approval(p_operator text, p_kind text, p_amount bigint) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return p_amount + (
    select coalesce(sum(a.amount_micros), 0) from pb.adjustments a
    where a.operator = p_operator and a.requested_at > clock_timestamp() - interval '24 hours'
      and a.state = 'booked' and a.approver is null and a.kind <> 'fee' and p_kind <> 'fee'
  ) > (select l.limit_micros from pb.approval_limit l);
end
$$;

-- Returns the reason a transfer cannot be corrected, or NULL. A payment that the processor has reported is refunded there, and the
-- report of the refund takes the money back. A correction would take it twice. pb.reverse_payment handles the opposite order.
create or replace function pb.correction_fault(p_transfer uuid) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  t pb.transfers := (select r from pb.transfers r where r.id = p_transfer);
begin
  return case
    when t.id is null then 'unknown_transfer'
    when t.kind::text not in ('credit', 'top_up', 'payout', 'write_off', 'fee', 'breakage') then 'not_correctable'
    when exists (
      select from pb.payments p
      where p.transfer_id = p_transfer and (
        exists (select from pb.top_ups u where u.payment_id = p.payment_id)
        or exists (select from pb.reversals r where r.payment_id = p.payment_id)
      )
    ) then 'refund_at_processor'
    when t.kind = 'write_off' and t.amount_micros > pb.written_off(t.wallet_id) then 'debt_recovered'
  end;
end
$$;

-- Approves or rejects a requested adjustment. An operator can withdraw their own request, but not approve it.
create or replace function pb.operator_decide_adjustment(
  p_operator text, p_reason text, p_adjustment uuid, is_approved boolean
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  a pb.adjustments;
  result text;
begin
  perform pb.lock_wallets(array(select r.wallet_id from pb.adjustments r where r.id = p_adjustment));
  select * into a from pb.adjustments r where r.id = p_adjustment for update;
  if a.id is null then
    return 'unknown_adjustment';
  end if;
  if a.state <> 'requested' then
    result := case when (a.state = 'booked') = is_approved then 'repeated' else 'already_' || a.state end;
  elsif not is_approved then
    update pb.adjustments r
    set state = 'rejected', decided_at = clock_timestamp(), approver = nullif(p_operator, r.operator)
    where r.id = p_adjustment;
    result := 'rejected';
  elsif a.operator = p_operator then
    result := 'own_request';
  else
    begin
      update pb.adjustments r set approver = p_operator where r.id = p_adjustment;
      perform pb.book_adjustment(p_adjustment);
      result := 'booked';
    exception when sqlstate 'PB010' then
      result := sqlerrm;
    end;
  end if;
  perform pb.record_operator_act(
    p_operator, p_reason, case when is_approved then 'adjustment.approve' else 'adjustment.reject' end, a.reference,
    a.wallet_id, result,
    p_after => jsonb_build_object('kind', a.kind, 'amount', pb.usd(a.amount_micros), 'adjustment', a.id)
  );
  return result;
end
$$;

-- Debits and credits of every account up to the end of a month: the trial balance of the last closed month before it plus
-- the transfers since. A transfer counts at created_at. Its id is at most a day off, so only partitions near the
-- period are read.
create or replace function pb.trial_balance(p_month date)
returns table (account text, code smallint, type text, name text, debit_micros bigint, credit_micros bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  until_at timestamptz := (p_month + interval '1 month') at time zone 'utc';
  base pb.closed_months;
  since_at timestamptz;
  first_id uuid;
begin
  select * into base from pb.closed_months c where c.month < p_month order by c.month desc limit 1;
  since_at := coalesce((base.month + interval '1 month') at time zone 'utc', '-infinity');
  first_id := case when base.month is null then pb.retained_since() else pb.uuid_floor(since_at - interval '2 days') end;
  -- Sums of archived days have no date.
  if (select r.retained_since + 2 from pb.retention r)
    > pb.utc_day(case when base.month is null then until_at else since_at end)
  then
    raise exception 'transfers of % are archived', to_char(p_month, 'YYYY-MM') using errcode = 'restrict_violation';
  end if;
  return query
  with entries as (
    select t.from_account::text as debit, t.to_account::text as credit, sum(t.amount_micros) as micros
    from pb.transfers t
    where t.id >= first_id and t.id < pb.uuid_floor(until_at + interval '2 days')
      and t.created_at >= since_at and t.created_at < until_at
    group by 1, 2
    union all
    select o.from_account::text, o.to_account::text, o.amount_micros from pb.openings o where base.month is null
  )
  select a.account, a.code, a.type, a.name,
    (coalesce((b.line ->> 'debit_micros')::bigint, 0)
      + coalesce((select sum(e.micros) from entries e where e.debit = a.account), 0))::bigint,
    (coalesce((b.line ->> 'credit_micros')::bigint, 0)
      + coalesce((select sum(e.micros) from entries e where e.credit = a.account), 0))::bigint
  from pb.ledger_accounts a
  left join jsonb_array_elements(base.trial_balance) as b (line) on b.line ->> 'account' = a.account
  order by a.code;
end
$$;

-- Closes the books of a month and saves its trial balance. Entries are dated when they are booked, so none can be added
-- to a month that ended an hour ago. Reconciliation compares the saved trial balance. Months are closed in order.
create or replace function pb.close_month(p_operator text, p_reason text, p_month date) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ended_at timestamptz := (p_month + interval '1 month') at time zone 'utc';
  result text;
begin
  lock table pb.closed_months in share row exclusive mode;
  result := case
    when exists (select from pb.closed_months c where c.month = p_month) then 'repeated'
    when clock_timestamp() < ended_at + interval '1 hour' then 'not_over'
    when exists (select from pb.closed_months) and not exists (
      select from pb.closed_months c where c.month = (p_month - interval '1 month')::date
    ) then 'out_of_order'
    when (select c.differences from pb.reconciliations c where c.at > ended_at order by c.at desc limit 1)
      is distinct from 0 then 'not_reconciled'
    else 'closed'
  end;
  if result = 'closed' then
    -- Amounts as text, because readers of JSON round large numbers.
    insert into pb.closed_months (month, closed_by, trial_balance)
    select p_month, p_operator, jsonb_agg(
      to_jsonb(t)
      || jsonb_build_object('debit_micros', t.debit_micros::text, 'credit_micros', t.credit_micros::text)
    )
    from pb.trial_balance(p_month) t;
  end if;
  perform pb.record_operator_act(p_operator, p_reason, 'month.close', to_char(p_month, 'YYYY-MM'), p_outcome => result);
  return result;
end
$$;
