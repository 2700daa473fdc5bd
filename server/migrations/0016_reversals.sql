-- Why: a processor can take a payment back, by a refund or a dispute, after the owner has spent it. A balance is never
-- negative: what is there is taken, the rest is written down as a receivable, and the next top-ups settle that first.
-- A dispute freezes the wallet. When it is won, the money comes back and the wallet thaws.
--
--   wallet  -> cash         reversal        what was there is taken
--   receivable -> cash      receivable      the rest is owed
--   cash    -> wallet       reinstatement   a dispute was won, or a refund failed
--   wallet  -> receivable   settlement      of what came in, what is owed goes first

-- Every row that kept the rule before keeps this wider one, so the old rows need not be read again.
alter table pb.transfers drop constraint both_legs_fit_the_kind;
alter table pb.transfers add constraint both_legs_fit_the_kind check (
  (kind, from_account, to_account) in (
    ('capture', 'wallet', 'revenue'),
    ('refund', 'revenue', 'wallet'),
    ('top_up', 'cash', 'wallet'),
    ('credit', 'promotion', 'wallet'),
    ('reversal', 'wallet', 'cash'),
    ('receivable', 'receivable', 'cash'),
    ('reinstatement', 'cash', 'wallet'),
    ('settlement', 'wallet', 'receivable')
  )
) not valid;

-- What a wallet owes. A row of its own, because the wallet's is the one that every search updates.
create table pb.receivables (
  wallet_id uuid primary key references pb.wallets,
  owed_micros bigint not null check (owed_micros >= 0)
);

-- Gate: one row is one refund or dispute at the processor. taken -> returned | lost, and what was taken is taken once.
create table pb.reversals (
  reversal_id text primary key check (length(reversal_id) between 1 and 255),
  payment_id text not null references pb.payments,
  wallet_id uuid not null references pb.wallets,
  kind text not null check (kind in ('refund', 'dispute')),
  state text not null check (state in ('taken', 'returned', 'lost')),
  amount_micros bigint not null check (amount_micros > 0),
  taken_micros bigint not null check (taken_micros >= 0),
  owed_micros bigint not null check (owed_micros >= 0),
  taken_transfer_id uuid unique,
  owed_transfer_id uuid unique,
  returned_transfer_id uuid unique,
  -- When this dispute froze the wallet. Null if it was frozen already.
  froze_at timestamptz,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  constraint taken_in_whole check (taken_micros + owed_micros in (0, amount_micros)),
  constraint each_part_has_its_transfer check (
    (taken_transfer_id is not null) = (taken_micros > 0) and (owed_transfer_id is not null) = (owed_micros > 0)
  ),
  constraint returned_what_was_taken check (
    (returned_transfer_id is not null) = (state = 'returned' and taken_micros + owed_micros > 0)
  ),
  constraint only_disputes_are_lost check (state <> 'lost' or kind = 'dispute')
);

create index reversals_by_payment on pb.reversals (payment_id);
create index reversals_by_wallet on pb.reversals (wallet_id);

-- Of what the wallets have to spend, what they owe goes first. The caller holds their locks.
create function pb.settle_receivables(wallet_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  debt record;
begin
  for debt in
    select r.wallet_id, least(r.owed_micros, w.credited_micros - w.debited_micros - w.held_micros) as micros
    from pb.receivables r join pb.wallets w on w.id = r.wallet_id
    where r.wallet_id = any (wallet_ids) and r.owed_micros > 0
      and w.credited_micros - w.debited_micros - w.held_micros > 0
  loop
    update pb.receivables r set owed_micros = r.owed_micros - debt.micros where r.wallet_id = debt.wallet_id;
    update pb.wallets w set debited_micros = w.debited_micros + debt.micros where w.id = debt.wallet_id;
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (pb.new_uuid(), debt.wallet_id, 'settlement', 'wallet', 'receivable', debt.micros, clock_timestamp());
  end loop;
end
$$;

-- As in 0005, where its rules are told; and money that came in settles what is owed. (The balance it tells is the one
-- before that.)
create or replace function pb.top_up(
  payment_ids text[], wallet_ids uuid[], amounts_micros bigint[], transfer_ids uuid[], kind pb.transfer_kind
)
returns table (item integer, outcome text, balance_micros bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  now_at timestamptz;
begin
  perform pb.lock_wallets(wallet_ids);
  now_at := clock_timestamp();

  return query
  with given as (
    -- An item for a wallet that does not exist stands in nobody's way.
    select b.*, w.id is not null as is_known,
      row_number() over (partition by b.payment_id, w.id is not null order by b.item) = 1 as is_first
    from unnest(payment_ids, wallet_ids, amounts_micros, transfer_ids) with ordinality
      as b (payment_id, wallet_id, amount_micros, transfer_id, item)
    left join pb.wallets w on w.id = b.wallet_id
  ), gated as (
    insert into pb.payments (payment_id, wallet_id, transfer_id, amount_micros, created_at)
    select g.payment_id, g.wallet_id, g.transfer_id, g.amount_micros, now_at
    from given g
    where g.is_first and g.is_known
    -- Two batches that name the same payments for other wallets wait for each other in one order.
    order by g.payment_id
    on conflict (payment_id) do nothing
    returning payment_id, wallet_id, transfer_id, amount_micros
  ), entries as (
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    select transfer_id, wallet_id, kind,
      case kind when 'credit' then 'promotion' else 'cash' end::pb.ledger_account, 'wallet', amount_micros, now_at
    from gated
  ), credited as (
    update pb.wallets w set credited_micros = w.credited_micros + got.micros
    from (select wallet_id, sum(amount_micros)::bigint as micros from gated group by wallet_id) got
    where w.id = got.wallet_id
    returning w.id, w.credited_micros - w.debited_micros as balance
  )
  select g.item::integer,
    case
      when not g.is_known then 'unknown_wallet'
      when g.is_first and t.payment_id is not null then 'credited'
      -- A row written by this statement is not visible to it: the first of the batch stands in for it.
      when coalesce(p.wallet_id, t.wallet_id) = g.wallet_id
        and coalesce(p.amount_micros, t.amount_micros) = g.amount_micros then 'repeated'
      else 'conflicting'
    end,
    coalesce(c.balance, w.credited_micros - w.debited_micros)
  from given g
  left join pb.wallets w on w.id = g.wallet_id
  left join gated t on t.payment_id = g.payment_id
  left join pb.payments p on p.payment_id = g.payment_id
  left join credited c on c.id = g.wallet_id;

  if kind = 'top_up' then
    perform pb.settle_receivables(array(
      select p.wallet_id from pb.payments p where p.transfer_id = any (transfer_ids)
    ));
  end if;
end
$$;

-- Takes a payment back, in part or in whole: from the wallet what it has to spend, the rest on account.
create function pb.take_back(the_reversal text, the_wallet uuid, the_kind text, the_amount bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz := clock_timestamp();
  taken bigint;
  owed bigint;
  taken_id uuid;
  owed_id uuid;
  was_frozen boolean;
begin
  select least(the_amount, w.credited_micros - w.debited_micros - w.held_micros), w.suspended_at is not null
  into strict taken, was_frozen from pb.wallets w where w.id = the_wallet;
  owed := the_amount - taken;

  update pb.wallets w
  set debited_micros = w.debited_micros + taken,
      suspended_at = case when the_kind = 'dispute' then coalesce(w.suspended_at, now_at) else w.suspended_at end
  where w.id = the_wallet and (taken > 0 or the_kind = 'dispute');
  if taken > 0 then
    taken_id := pb.new_uuid();
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (taken_id, the_wallet, 'reversal', 'wallet', 'cash', taken, now_at);
  end if;
  if owed > 0 then
    owed_id := pb.new_uuid();
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (owed_id, the_wallet, 'receivable', 'receivable', 'cash', owed, now_at);
  end if;
  update pb.reversals r
  set taken_micros = taken, owed_micros = owed, taken_transfer_id = taken_id, owed_transfer_id = owed_id,
      froze_at = case when the_kind = 'dispute' and not was_frozen then now_at end
  where r.reversal_id = the_reversal;
  insert into pb.receivables as d (wallet_id, owed_micros)
  select the_wallet, owed where owed > 0
  on conflict (wallet_id) do update set owed_micros = d.owed_micros + excluded.owed_micros;
end
$$;

-- The processor gave the money back to us: the wallet has it again, and what it owes is settled first.
create function pb.give_back(the_reversal text, the_wallet uuid, the_amount bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  the_transfer uuid := pb.new_uuid();
begin
  update pb.reversals r set returned_transfer_id = the_transfer, state = 'returned', changed_at = clock_timestamp()
  where r.reversal_id = the_reversal;
  insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
  values (the_transfer, the_wallet, 'reinstatement', 'cash', 'wallet', the_amount, clock_timestamp());
  -- It thaws what disputes froze, if none is left; not what an operator suspended.
  update pb.wallets w
  set credited_micros = w.credited_micros + the_amount,
      suspended_at = case
        when exists (select from pb.reversals r where r.wallet_id = the_wallet and r.froze_at = w.suspended_at)
          and not exists (
            select from pb.reversals r where r.wallet_id = the_wallet and r.kind = 'dispute' and r.state <> 'returned'
          )
        then null else w.suspended_at
      end
  where w.id = the_wallet;
  perform pb.settle_receivables(array[the_wallet]);
end
$$;

-- What the processor says of a refund or dispute, in whatever order it says it.
create function pb.reverse_payment(
  the_event text, the_type text, the_reversal text, the_kind text, the_payment text, the_amount bigint, the_state text
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  the_wallet uuid := pb.own_wallet();
  known pb.reversals;
  result text;
begin
  perform pb.lock_wallets(array[the_wallet]);
  select * into known from pb.reversals r where r.reversal_id = the_reversal;
  if not exists (select from pb.payments p where p.payment_id = the_payment and p.wallet_id = the_wallet) then
    -- A payment that was never credited has nothing to take back.
    result := 'not_credited';
  elsif known.reversal_id is null then
    insert into pb.reversals
      (reversal_id, payment_id, wallet_id, kind, state, amount_micros, taken_micros, owed_micros, created_at, changed_at)
    values
      (the_reversal, the_payment, the_wallet, the_kind, the_state, the_amount, 0, 0, clock_timestamp(), clock_timestamp());
    if the_state <> 'returned' then
      perform pb.take_back(the_reversal, the_wallet, the_kind, the_amount);
    end if;
    result := the_state;
  elsif (known.wallet_id, known.payment_id, known.kind, known.amount_micros)
    <> (the_wallet, the_payment, the_kind, the_amount) then
    perform pb.note_for_a_person('reversal_changed', the_reversal, the_wallet, the_amount);
    result := 'conflicting';
  elsif the_state = 'returned' and known.state <> 'returned' then
    perform pb.give_back(the_reversal, the_wallet, the_amount);
    result := 'returned';
  elsif the_state = 'lost' and known.state = 'taken' then
    update pb.reversals r set state = 'lost', changed_at = clock_timestamp() where r.reversal_id = the_reversal;
    result := 'lost';
  elsif the_state = 'lost' and known.state = 'returned' then
    perform pb.note_for_a_person('won_then_lost', the_reversal, the_wallet, the_amount);
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
    from pb.reversals x where x.payment_id = the_payment
  ) r
  where t.payment_id = the_payment and t.wallet_id = the_wallet and result in ('taken', 'returned', 'lost');
  perform pb.note_payment_event(the_event, the_type, the_wallet, the_payment, result);
  return result;
end
$$;

grant execute on function pb.reverse_payment to pennyblack_tenant;

-- An owner sees what is owed.
grant select (wallet_id, owed_micros) on pb.receivables to pennyblack_tenant;
alter table pb.receivables enable row level security;
create policy own_receivable on pb.receivables for select to pennyblack_tenant using (wallet_id = pb.own_wallet());

-- A suspension always has a moment of its own: a dispute that is won lifts what that dispute froze, never what an
-- operator did meanwhile.
create or replace function pb.suspend_wallet(the_wallet uuid, is_suspended boolean) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[the_wallet]);
  update pb.wallets w set suspended_at = case when is_suspended then clock_timestamp() end where w.id = the_wallet;
  return found;
end
$$;
