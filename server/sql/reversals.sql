-- The processor can take a payment back, by a refund or a dispute, after the owner has spent it. A balance is never
-- negative, so only the available money is taken. The wallet owes the rest, which the next available money pays. A dispute
-- suspends the wallet. When it is won, the money comes back and the suspension is lifted.
--
--   wallet     -> cash         reversal        the available part
--   receivable -> cash         receivable      the rest, which the wallet owes
--   cash       -> wallet       reinstatement   a dispute was won, or a refund failed
--   receivable -> bad_debt     recovery        debt that was written off is owed again, before a reinstatement pays it
--   wallet     -> receivable   settlement      payment of a debt

-- Amounts and transfers of a reversal are set once, and its state only moves forward: taken -> lost -> returned.
create or replace function pb.guard_reversal() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'UPDATE'
    and (new.reversal_id, new.payment_id, new.wallet_id, new.kind, new.amount_micros, new.created_at)
      = (old.reversal_id, old.payment_id, old.wallet_id, old.kind, old.amount_micros, old.created_at)
    and (
      (new.taken_micros, new.owed_micros) = (old.taken_micros, old.owed_micros)
      or num_nonnulls(old.taken_transfer_id, old.owed_transfer_id) = 0
    )
    and new.taken_transfer_id is not distinct from coalesce(old.taken_transfer_id, new.taken_transfer_id)
    and new.owed_transfer_id is not distinct from coalesce(old.owed_transfer_id, new.owed_transfer_id)
    and (new.recovered_micros = old.recovered_micros or old.state <> 'returned')
    and new.returned_transfer_id is not distinct from coalesce(old.returned_transfer_id, new.returned_transfer_id)
    and array_position(array['taken', 'lost', 'returned'], new.state)
      >= array_position(array['taken', 'lost', 'returned'], old.state)
  then
    return new;
  end if;
  raise exception 'a reversal only moves forward' using errcode = 'restrict_violation';
end
$$;

-- Takes the available part of a payment back from the wallet, which owes the rest. Takes nothing if an operator has corrected the
-- payment. A dispute suspends the wallet in any case.
create or replace function pb.debit_reversal(p_reversal text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz := pb.entry_time();
  rev pb.reversals := (select r from pb.reversals r where r.reversal_id = p_reversal);
  amount bigint := case when pb.is_corrected(rev.payment_id) then 0 else rev.amount_micros end;
  taken bigint;
  owed bigint;
  taken_id uuid;
  owed_id uuid;
  was_frozen boolean;
begin
  select least(amount, w.credited_micros - w.debited_micros - w.held_micros), w.suspended_at is not null
  into strict taken, was_frozen from pb.wallets w where w.id = rev.wallet_id;
  owed := amount - taken;

  update pb.wallets w
  set debited_micros = w.debited_micros + taken,
      owed_micros = w.owed_micros + owed,
      suspended_at = case when rev.kind = 'dispute' then coalesce(w.suspended_at, now_at) else w.suspended_at end
  where w.id = rev.wallet_id;
  if taken > 0 then
    taken_id := pb.new_uuid();
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (taken_id, rev.wallet_id, 'reversal', 'wallet', 'cash', taken, now_at);
  end if;
  if owed > 0 then
    owed_id := pb.new_uuid();
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (owed_id, rev.wallet_id, 'receivable', 'receivable', 'cash', owed, now_at);
  end if;
  update pb.reversals r
  set taken_micros = taken, owed_micros = owed, taken_transfer_id = taken_id, owed_transfer_id = owed_id,
      froze_at = case when rev.kind = 'dispute' and not was_frozen then now_at end
  where r.reversal_id = p_reversal;
  if rev.kind = 'dispute' and not was_frozen then
    perform pb.record_system_change(rev.wallet_id, 'wallet.suspend', rev.wallet_id::text, 'payment disputed');
  end if;
end
$$;

-- The amount written off for a wallet that has not been recovered.
create or replace function pb.written_off(p_wallet uuid) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (
    select coalesce(sum(a.amount_micros), 0) from pb.adjustments a
    where a.wallet_id = p_wallet and a.kind = 'write_off' and a.state = 'booked' and not exists (
      select from pb.adjustments c
      where c.kind = 'correction' and c.reference = a.transfer_id::text and c.state = 'booked'
    )
  ) - (select coalesce(sum(r.recovered_micros), 0) from pb.reversals r where r.wallet_id = p_wallet);
end
$$;

-- Handles money that the processor returned. Credits the amount of the reversal to the wallet, which first pays its debt. The rest
-- pays debt that was written off, which is booked as owed again for that, before the customer gets it.
create or replace function pb.credit_reinstatement(p_reversal text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  rev pb.reversals := (select r from pb.reversals r where r.reversal_id = p_reversal);
  amount bigint := rev.taken_micros + rev.owed_micros;
  owed bigint := (select w.owed_micros from pb.wallets w where w.id = rev.wallet_id);
  recovered bigint := least(greatest(amount - owed, 0), pb.written_off(rev.wallet_id));
  v_transfer uuid := case when amount > 0 then pb.new_uuid() end;
  recovered_id uuid := case when recovered > 0 then pb.new_uuid() end;
  was_suspended boolean := (select w.suspended_at is not null from pb.wallets w where w.id = rev.wallet_id);
begin
  update pb.reversals r
  set returned_transfer_id = v_transfer, recovered_micros = recovered, recovered_transfer_id = recovered_id,
      state = 'returned', changed_at = clock_timestamp()
  where r.reversal_id = p_reversal;
  if amount > 0 then
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (v_transfer, rev.wallet_id, 'reinstatement', 'cash', 'wallet', amount, pb.entry_time());
  end if;
  if recovered > 0 then
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (recovered_id, rev.wallet_id, 'recovery', 'receivable', 'bad_debt', recovered, pb.entry_time());
  end if;
  -- Lifts a suspension that a dispute caused if no other dispute is left, but never an operator's suspension.
  update pb.wallets w
  set credited_micros = w.credited_micros + amount,
      owed_micros = w.owed_micros + recovered,
      suspended_at = case
        when exists (select from pb.reversals r where r.wallet_id = w.id and r.froze_at = w.suspended_at)
          and not exists (
            select from pb.reversals r where r.wallet_id = w.id and r.kind = 'dispute' and r.state <> 'returned'
          )
        then null else w.suspended_at
      end
  where w.id = rev.wallet_id;
  if was_suspended and exists (select from pb.wallets w where w.id = rev.wallet_id and w.suspended_at is null) then
    perform pb.record_system_change(rev.wallet_id, 'wallet.resume', rev.wallet_id::text, 'dispute won');
  end if;
  perform pb.settle_debts(array[rev.wallet_id]);
end
$$;

-- Applies the processor's report of a refund or dispute, in any order of arrival. With paid_top_up, the payment
-- is booked first, in the same transaction, because its report may not have arrived yet.
create or replace function pb.reverse_payment(
  p_event text, p_type text, p_reversal text, p_kind text, p_payment text, p_amount bigint, p_state text,
  paid_top_up uuid default null, paid_micros bigint default null, paid_receipt text default null
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_wallet uuid := pb.own_wallet();
  known pb.reversals;
  result text;
begin
  perform pb.lock_wallets(array[v_wallet]);
  if paid_top_up is not null then
    perform pb.book_payment(null, null, paid_top_up, p_payment, paid_micros, paid_receipt);
  end if;
  select * into known from pb.reversals r where r.reversal_id = p_reversal;
  if not exists (select from pb.payments p where p.payment_id = p_payment and p.wallet_id = v_wallet) then
    -- The payment was never credited.
    result := 'not_credited';
  elsif known.reversal_id is null then
    insert into pb.reversals
      (reversal_id, payment_id, wallet_id, kind, state, amount_micros, taken_micros, owed_micros, created_at,
       changed_at)
    values
      (p_reversal, p_payment, v_wallet, p_kind, p_state, p_amount, 0, 0, clock_timestamp(), clock_timestamp());
    if p_state <> 'returned' then
      perform pb.debit_reversal(p_reversal);
    end if;
    result := p_state;
  elsif (known.wallet_id, known.payment_id, known.kind, known.amount_micros)
    <> (v_wallet, p_payment, p_kind, p_amount) then
    perform pb.open_payment_notice('reversal_changed', p_reversal, v_wallet, p_amount);
    result := 'conflicting';
  elsif p_state = 'returned' and known.state <> 'returned' then
    perform pb.credit_reinstatement(p_reversal);
    result := 'returned';
  elsif p_state = 'lost' and known.state = 'taken' then
    update pb.reversals r set state = 'lost', changed_at = clock_timestamp() where r.reversal_id = p_reversal;
    result := 'lost';
  elsif p_state = 'lost' and known.state = 'returned' then
    perform pb.open_payment_notice('won_then_lost', p_reversal, v_wallet, p_amount);
    result := 'conflicting';
  else
    result := 'repeated';
  end if;
  if result in ('taken', 'returned', 'lost') and pb.is_corrected(p_payment) then
    perform pb.open_payment_notice('reported_after_correction', p_payment, v_wallet, p_amount);
  end if;
  -- The operator must write off the debt, or pay out or forfeit the money.
  if result in ('taken', 'lost', 'returned') and pb.is_deleted(v_wallet) and exists (
    select from pb.wallets w
    where w.id = v_wallet and (w.owed_micros > 0 or result = 'returned' and w.credited_micros > w.debited_micros)
  ) then
    perform pb.open_payment_notice('account_deleted', p_reversal, v_wallet, p_amount);
  end if;

  update pb.top_ups t
  set refunded_micros = r.refunded,
      status = case
        when r.is_disputed then 'disputed' when r.refunded >= t.amount_micros then 'refunded' else 'succeeded'
      end
  from (
    select coalesce(sum(x.amount_micros) filter (where x.kind = 'refund' and x.state = 'taken'), 0)::bigint as refunded,
      coalesce(bool_or(x.kind = 'dispute' and x.state <> 'returned'), false) as is_disputed
    from pb.reversals x where x.payment_id = p_payment
  ) r
  where t.payment_id = p_payment and t.wallet_id = v_wallet and result in ('taken', 'returned', 'lost');
  perform pb.record_payment_event(p_event, p_type, v_wallet, p_payment, result);
  return result;
end
$$;
