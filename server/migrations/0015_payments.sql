-- Why: money comes in by itself. An owner opens a top-up, pays at the processor, and the wallet is credited once per
-- payment, however often, late or out of order the processor announces it. An owner may also let us charge a saved
-- card when the balance is low. And an operator can credit an invoice or a promotion, saying why and who.
--
-- What the processor says arrives signed and names the wallet that we gave it. The functions here take that wallet from
-- the transaction, as all that write for a tenant do, and believe nothing that our own row of the top-up denies.

-- Used by the next migration: a new word of a type can be written only after the transaction that made it.
alter type pb.transfer_kind add value 'reversal';
alter type pb.transfer_kind add value 'receivable';
alter type pb.transfer_kind add value 'settlement';
alter type pb.transfer_kind add value 'reinstatement';
alter type pb.ledger_account add value 'receivable';

-- The processor's name for a wallet's owner: receipts and the saved card hang on it.
create table pb.payment_customers (
  wallet_id uuid primary key references pb.wallets,
  customer_id text not null unique check (length(customer_id) between 1 and 255),
  created_at timestamptz not null default clock_timestamp()
);

-- One row is one wish to add money, whoever had it: the owner, or the owner's standing order.
create table pb.top_ups (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  kind text not null check (kind in ('checkout', 'automatic')),
  status text not null default 'pending'
    check (status in ('pending', 'succeeded', 'failed', 'expired', 'refunded', 'disputed')),
  amount_micros bigint not null check (amount_micros > 0 and amount_micros % 10000 = 0),
  refunded_micros bigint not null default 0 check (refunded_micros >= 0),
  saves_card boolean not null,
  key_hmac bytea check (octet_length(key_hmac) = 32),
  fingerprint bytea check (octet_length(fingerprint) = 32),
  checkout_id text unique,
  checkout_url text check (length(checkout_url) <= 4096),
  -- Which of the processor's payments paid it. Two payments for one top-up are a matter for a person.
  payment_id text unique,
  receipt_url text check (length(receipt_url) <= 4096),
  -- Why it failed: a word of the processor's, never its sentence.
  failure text check (length(failure) <= 64),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  settled_at timestamptz,
  constraint asked_for_with_a_key check ((kind = 'checkout') = (key_hmac is not null and fingerprint is not null)),
  constraint settled_when_not_pending check ((settled_at is null) = (status = 'pending')),
  constraint paid_by_a_payment check ((payment_id is not null) = (status in ('succeeded', 'refunded', 'disputed'))),
  unique (wallet_id, key_hmac)
);

create index top_ups_by_wallet on pb.top_ups (wallet_id, id desc);
create index top_ups_pending on pb.top_ups (created_at) where status = 'pending';
create index top_ups_settled on pb.top_ups (settled_at) where payment_id is not null;
-- At most one charge of a saved card is under way for a wallet.
create unique index one_automatic_at_a_time on pb.top_ups (wallet_id) where kind = 'automatic' and status = 'pending';

-- The standing order of an owner. A decline puts the next attempt off; after the fourth it is off until set anew.
create table pb.auto_top_ups (
  wallet_id uuid primary key references pb.wallets,
  threshold_micros bigint not null check (threshold_micros > 0),
  amount_micros bigint not null check (amount_micros > 0 and amount_micros % 10000 = 0),
  day_cap_micros bigint not null check (day_cap_micros >= amount_micros),
  month_cap_micros bigint not null check (month_cap_micros >= day_cap_micros),
  declines integer not null default 0 check (declines between 0 and 4),
  next_attempt_at timestamptz not null default clock_timestamp(),
  off_at timestamptz,
  set_at timestamptz not null default clock_timestamp(),
  constraint off_after_four_declines check ((off_at is not null) = (declines = 4))
);

-- What the processor told us and what we did about it. Its key spares work; the gate of a credit is pb.payments.
create table pb.payment_events (
  event_id text primary key check (length(event_id) between 1 and 255),
  type text not null check (length(type) <= 255),
  wallet_id uuid,
  payment_id text,
  outcome text not null,
  received_at timestamptz not null
);

create index payment_events_by_time on pb.payment_events using brin (received_at);

-- What a person has to look at: nothing was credited because of it, or something was that should not have been.
create table pb.payment_notices (
  id uuid primary key default gen_random_uuid(),
  reason text not null check (reason in (
    'wrong_wallet', 'wrong_amount', 'second_payment', 'payment_taken', 'not_paid_there', 'reversal_changed',
    'won_then_lost', 'automatic_top_up_off'
  )),
  subject text not null check (length(subject) <= 255),
  wallet_id uuid,
  amount_micros bigint,
  found_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz,
  closed_by text check (length(closed_by) between 1 and 255)
);

create unique index one_open_notice on pb.payment_notices (subject, reason) where closed_at is null;

-- Money that an operator booked: an invoice that was paid, or a gift. The reference is its payment's name.
create table pb.manual_credits (
  reference text primary key check (length(reference) between 1 and 200),
  wallet_id uuid not null references pb.wallets,
  kind text not null check (kind in ('invoice', 'promotion')),
  amount_micros bigint not null check (amount_micros > 0),
  reason text not null check (length(reason) between 1 and 500),
  operator text not null check (length(operator) between 1 and 255),
  created_at timestamptz not null default clock_timestamp()
);

create function pb.note_for_a_person(the_reason text, the_subject text, the_wallet uuid, the_amount bigint) returns void
language sql set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.payment_notices (reason, subject, wallet_id, amount_micros)
  values (the_reason, the_subject, the_wallet, the_amount)
  on conflict (subject, reason) where closed_at is null do nothing;
end;

create function pb.note_payment_event(
  the_event text, the_type text, the_wallet uuid, the_payment text, the_outcome text
) returns void
language sql set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.payment_events (event_id, type, wallet_id, payment_id, outcome, received_at)
  select the_event, the_type, the_wallet, the_payment, the_outcome, clock_timestamp() where the_event is not null
  on conflict (event_id) do nothing;
end;

-- A UUIDv7 of this moment, for rows whose id decides their partition.
create function pb.new_uuid() returns uuid volatile language sql set search_path = pg_catalog, pg_temp
begin atomic
  select (
    lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
    || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14)
  )::uuid;
end;

-- Opens a top-up, or finds the one that this Idempotency-Key already opened.
create function pb.begin_top_up(new_id uuid, the_amount bigint, the_key bytea, the_fingerprint bytea)
returns table (id uuid, is_new boolean, is_same boolean, saves_card boolean, checkout_url text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  -- A card is kept only for an owner who asked for automatic top-ups.
  insert into pb.top_ups (id, wallet_id, kind, amount_micros, saves_card, key_hmac, fingerprint)
  select new_id, w.id, 'checkout', the_amount,
    exists (select from pb.auto_top_ups a where a.wallet_id = w.id), the_key, the_fingerprint
  from pb.wallets w where w.id = pb.own_wallet()
  on conflict (wallet_id, key_hmac) do nothing;
  return query
  select t.id, t.id = new_id, t.fingerprint = the_fingerprint, t.saves_card, t.checkout_url
  from pb.top_ups t where t.wallet_id = pb.own_wallet() and t.key_hmac = the_key;
end
$$;

-- The first checkout of a top-up is the only one that anybody is sent to.
create function pb.note_checkout(the_top_up uuid, the_checkout text, the_url text, the_end timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update pb.top_ups t
  set checkout_id = the_checkout, checkout_url = the_url, expires_at = the_end
  where t.id = the_top_up and t.wallet_id = pb.own_wallet() and t.checkout_id is null;
end
$$;

create function pb.note_customer(the_customer text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into pb.payment_customers (wallet_id, customer_id) values (pb.own_wallet(), the_customer)
  on conflict (wallet_id) do nothing;
  return (select c.customer_id from pb.payment_customers c where c.wallet_id = pb.own_wallet());
end
$$;

-- Credits the payment of a top-up, once; the gate, the top-up's status and the event are one transaction.
-- The amount or the wallet may be wrong only by a mistake or a forgery: then nothing moves and a person looks.
create function pb.book_payment(
  the_event text, the_type text, the_top_up uuid, the_payment text, the_amount bigint, the_receipt text
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  the_wallet uuid := pb.own_wallet();
  wanted pb.top_ups;
  fault text;
  result text;
begin
  perform pb.lock_wallets(array[the_wallet]);
  perform from pb.auto_top_ups a where a.wallet_id = the_wallet for update;
  select * into wanted from pb.top_ups t where t.id = the_top_up and t.wallet_id = the_wallet for update;
  fault := case
    when wanted.id is null then 'wrong_wallet'
    when wanted.amount_micros is distinct from the_amount then 'wrong_amount'
    when wanted.payment_id <> the_payment then 'second_payment'
  end;
  if fault is null then
    select t.outcome into strict result
    from pb.top_up(array[the_payment], array[the_wallet], array[the_amount], array[pb.new_uuid()], 'top_up') t;
    if result = 'conflicting' then
      fault := 'payment_taken';
    end if;
  end if;
  if fault is not null then
    result := 'conflicting';
    perform pb.note_for_a_person(fault, the_payment, the_wallet, the_amount);
  else
    -- Also after "failed" or "expired": those were said too early, or arrived too late.
    update pb.top_ups t
    set status = case when t.payment_id is null then 'succeeded' else t.status end,
        settled_at = case when t.payment_id is null then clock_timestamp() else t.settled_at end,
        payment_id = the_payment, receipt_url = coalesce(t.receipt_url, the_receipt), failure = null
    where t.id = the_top_up and (t.payment_id is null or (t.receipt_url is null and the_receipt is not null));
    if wanted.kind = 'automatic' and wanted.payment_id is null then
      update pb.auto_top_ups a set declines = 0, off_at = null where a.wallet_id = the_wallet and a.off_at is null;
    end if;
  end if;
  perform pb.note_payment_event(the_event, the_type, the_wallet, the_payment, result);
  return result;
end
$$;

-- A top-up, of the kind if one is named, that ended without a payment. A payment that is booked later still wins.
create function pb.end_top_up(
  the_event text, the_type text, the_top_up uuid, the_status text, the_failure text, the_kind text
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  the_wallet uuid := pb.own_wallet();
  ended pb.top_ups;
begin
  if the_status not in ('failed', 'expired') then
    raise exception 'a top-up does not end as %', the_status using errcode = '22023';
  end if;
  -- The standing order before its top-up, because pb.begin_auto_top_ups takes them that way too.
  perform from pb.auto_top_ups a where a.wallet_id = the_wallet for update;
  update pb.top_ups t
  set status = the_status, settled_at = clock_timestamp(), failure = left(the_failure, 64)
  where t.id = the_top_up and t.wallet_id = the_wallet and t.status = 'pending'
    and t.kind = coalesce(the_kind, t.kind)
  returning * into ended;
  if ended.kind = 'automatic' then
    perform pb.note_decline(the_wallet);
  end if;
  if ended.status = 'failed' then
    perform pb.note_event(the_wallet, 'top_up.failed', jsonb_build_object(
      'currency', 'usd', 'amount', pb.usd(ended.amount_micros), 'reason', coalesce(ended.failure, 'unknown')
    ));
  end if;
  perform pb.note_payment_event(
    the_event, the_type, the_wallet, null, case when ended.id is null then 'repeated' else the_status end
  );
  return case when ended.id is null then 'repeated' else the_status end;
end
$$;

-- One hour, six, a day; then nothing more until the owner sets it anew.
create function pb.note_decline(the_wallet uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  has_ended boolean;
begin
  update pb.auto_top_ups a
  set declines = a.declines + 1,
      next_attempt_at = clock_timestamp()
        + (array[interval '1 hour', interval '6 hours', interval '24 hours', interval '24 hours'])[a.declines + 1],
      off_at = case when a.declines = 3 then clock_timestamp() end
  where a.wallet_id = the_wallet and a.declines < 4
  returning a.off_at is not null into has_ended;
  if has_ended then
    perform pb.note_for_a_person('automatic_top_up_off', the_wallet::text, the_wallet, null);
  end if;
end
$$;

-- Opens a top-up for each standing order that is due: low balance, a card, room under its caps, nothing under way.
-- The row of the order is the lock: what is read after it is final, because success is written before it can be
-- taken again. Balances are read without a lock: a search never waits for this, and a stale one only means "later".
create function pb.begin_auto_top_ups(new_ids uuid[])
returns table (id uuid, wallet_id uuid, amount_micros bigint, customer_id text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  due uuid;
  made integer := 0;
begin
  for due in
    select a.wallet_id
    from pb.auto_top_ups a join pb.wallets w on w.id = a.wallet_id
    where a.off_at is null and a.next_attempt_at <= clock_timestamp() and w.suspended_at is null
      -- Money that was given back or disputed is not fetched again until the owner sets the order anew.
      and not exists (select from pb.reversals r where r.wallet_id = a.wallet_id and r.created_at > a.set_at)
      and w.credited_micros - w.debited_micros - w.held_micros < a.threshold_micros
    order by a.wallet_id
    for update of a skip locked
  loop
    exit when made = cardinality(new_ids);
    return query
    insert into pb.top_ups as t (id, wallet_id, kind, amount_micros, saves_card)
    select new_ids[made + 1], a.wallet_id, 'automatic', a.amount_micros, false
    from pb.auto_top_ups a join pb.wallets w on w.id = a.wallet_id, lateral (
      select
        coalesce(sum(b.amount_micros) filter (where pb.utc_day(b.created_at) = pb.utc_day(clock_timestamp())), 0) as of_day,
        coalesce(sum(b.amount_micros), 0) as of_month
      from pb.top_ups b
      where b.wallet_id = a.wallet_id and b.kind = 'automatic' and b.status not in ('failed', 'expired')
        and b.created_at >= pb.utc_month(clock_timestamp())::timestamp at time zone 'utc'
    ) taken
    where a.wallet_id = due
      and w.credited_micros - w.debited_micros - w.held_micros < a.threshold_micros
      and taken.of_day + a.amount_micros <= a.day_cap_micros
      and taken.of_month + a.amount_micros <= a.month_cap_micros
      and exists (
        select from pb.top_ups c where c.wallet_id = a.wallet_id and c.saves_card and c.payment_id is not null
      )
    on conflict (wallet_id) where kind = 'automatic' and status = 'pending' do nothing
    returning t.id, t.wallet_id, t.amount_micros,
      (select p.customer_id from pb.payment_customers p where p.wallet_id = t.wallet_id);
    if found then
      made := made + 1;
    end if;
  end loop;
end
$$;

create function pb.set_auto_top_up(the_threshold bigint, the_amount bigint, the_day_cap bigint, the_month_cap bigint)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into pb.auto_top_ups as a (wallet_id, threshold_micros, amount_micros, day_cap_micros, month_cap_micros)
  values (pb.own_wallet(), the_threshold, the_amount, the_day_cap, the_month_cap)
  on conflict (wallet_id) do update
  set threshold_micros = the_threshold, amount_micros = the_amount,
      day_cap_micros = the_day_cap, month_cap_micros = the_month_cap,
      declines = 0, next_attempt_at = clock_timestamp(), off_at = null, set_at = clock_timestamp();
end
$$;

-- The card that was kept for it is of no more use to us either: a later standing order needs a new one. A charge that is
-- under way is not made again; if it was made, the processor tells us, and the payment wins.
create function pb.drop_auto_top_up() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was_set boolean;
begin
  delete from pb.auto_top_ups a where a.wallet_id = pb.own_wallet();
  was_set := found;
  update pb.top_ups t set saves_card = false where t.wallet_id = pb.own_wallet() and t.saves_card;
  update pb.top_ups t set status = 'failed', failure = 'ended', settled_at = clock_timestamp()
  where t.wallet_id = pb.own_wallet() and t.kind = 'automatic' and t.status = 'pending';
  return was_set;
end
$$;

grant execute on function
  pb.begin_top_up, pb.note_checkout, pb.note_customer, pb.book_payment, pb.end_top_up,
  pb.set_auto_top_up, pb.drop_auto_top_up
  to pennyblack_tenant;

grant select (
  id, wallet_id, kind, status, amount_micros, refunded_micros, saves_card, checkout_url, receipt_url, failure,
  created_at, expires_at, settled_at
) on pb.top_ups to pennyblack_tenant;
grant select (wallet_id, customer_id) on pb.payment_customers to pennyblack_tenant;
grant select (
  wallet_id, threshold_micros, amount_micros, day_cap_micros, month_cap_micros, declines, next_attempt_at, off_at
) on pb.auto_top_ups to pennyblack_tenant;

alter table pb.top_ups enable row level security;
alter table pb.payment_customers enable row level security;
alter table pb.auto_top_ups enable row level security;
create policy own_top_ups on pb.top_ups for select to pennyblack_tenant using (wallet_id = pb.own_wallet());
create policy own_customer on pb.payment_customers for select to pennyblack_tenant using (wallet_id = pb.own_wallet());
create policy own_auto_top_up on pb.auto_top_ups for select to pennyblack_tenant using (wallet_id = pb.own_wallet());
