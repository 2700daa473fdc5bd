-- The processor can take a payment back, by a refund or a dispute, after the owner has spent it. A balance is never
-- negative: the available money is taken, and the wallet owes the rest, which the next available money pays. A dispute
-- suspends the wallet; when it is won, the money comes back and the suspension is lifted.
--
--   wallet     -> cash         reversal        the available part
--   receivable -> cash         receivable      the rest, which the wallet owes
--   cash       -> wallet       reinstatement   a dispute was won, or a refund failed
--   wallet     -> receivable   settlement      payment of what is owed

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
    and new.returned_transfer_id is not distinct from coalesce(old.returned_transfer_id, new.returned_transfer_id)
    and array_position(array['taken', 'lost', 'returned'], new.state)
      >= array_position(array['taken', 'lost', 'returned'], old.state)
  then
    return new;
  end if;
  raise exception 'a reversal only moves forward' using errcode = 'restrict_violation';
end
$$;

-- Takes a payment back: the available part from the wallet, which owes the rest.
create or replace function pb.debit_reversal(p_reversal text, p_wallet uuid, p_kind text, p_amount bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz := pb.entry_time();
  taken bigint;
  owed bigint;
  taken_id uuid;
  owed_id uuid;
  was_frozen boolean;
begin
  select least(p_amount, w.credited_micros - w.debited_micros - w.held_micros), w.suspended_at is not null
  into strict taken, was_frozen from pb.wallets w where w.id = p_wallet;
  owed := p_amount - taken;

  update pb.wallets w
  set debited_micros = w.debited_micros + taken,
      owed_micros = w.owed_micros + owed,
      suspended_at = case when p_kind = 'dispute' then coalesce(w.suspended_at, now_at) else w.suspended_at end
  where w.id = p_wallet;
  if taken > 0 then
    taken_id := pb.new_uuid();
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (taken_id, p_wallet, 'reversal', 'wallet', 'cash', taken, now_at);
  end if;
  if owed > 0 then
    owed_id := pb.new_uuid();
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (owed_id, p_wallet, 'receivable', 'receivable', 'cash', owed, now_at);
  end if;
  update pb.reversals r
  set taken_micros = taken, owed_micros = owed, taken_transfer_id = taken_id, owed_transfer_id = owed_id,
      froze_at = case when p_kind = 'dispute' and not was_frozen then now_at end
  where r.reversal_id = p_reversal;
end
$$;

-- The processor returned the money: credits the wallet, which first pays what it owes.
create or replace function pb.credit_reinstatement(p_reversal text, p_wallet uuid, p_amount bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_transfer uuid := pb.new_uuid();
begin
  update pb.reversals r set returned_transfer_id = v_transfer, state = 'returned', changed_at = clock_timestamp()
  where r.reversal_id = p_reversal;
  insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
  values (v_transfer, p_wallet, 'reinstatement', 'cash', 'wallet', p_amount, pb.entry_time());
  -- Lifts the suspension if a dispute caused it and none is left; never an operator's suspension.
  update pb.wallets w
  set credited_micros = w.credited_micros + p_amount,
      suspended_at = case
        when exists (select from pb.reversals r where r.wallet_id = p_wallet and r.froze_at = w.suspended_at)
          and not exists (
            select from pb.reversals r where r.wallet_id = p_wallet and r.kind = 'dispute' and r.state <> 'returned'
          )
        then null else w.suspended_at
      end
  where w.id = p_wallet;
  perform pb.settle_debts(array[p_wallet]);
end
$$;

-- Applies the processor's report of a refund or dispute, in whatever order reports arrive. With paid_top_up, the payment
-- is booked first, in the same transaction: its report may not have arrived yet.
drop function if exists pb.reverse_payment(text, text, text, text, text, bigint, text);
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
      perform pb.debit_reversal(p_reversal, v_wallet, p_kind, p_amount);
    end if;
    result := p_state;
  elsif (known.wallet_id, known.payment_id, known.kind, known.amount_micros)
    <> (v_wallet, p_payment, p_kind, p_amount) then
    perform pb.open_payment_notice('reversal_changed', p_reversal, v_wallet, p_amount);
    result := 'conflicting';
  elsif p_state = 'returned' and known.state <> 'returned' then
    perform pb.credit_reinstatement(p_reversal, v_wallet, p_amount);
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
