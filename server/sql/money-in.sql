-- Money enters a wallet once per payment, no matter how many webhooks, polls and retries report it, and a search is refunded
-- at most once. The gate tables pb.payments and pb.refunds ensure that, in the transaction that moves the money.

-- Credits payments, which first pay what the wallet owes. 'repeated': already credited, nothing moves. 'conflicting': the
-- same payment id with another wallet or amount, which an operator must look at. The wallet of a deleted account is unknown,
-- because it has no owner to spend the money. The returned balance is the one before the settlement.
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
  now_at := pb.entry_time();

  return query
  with given as (
    -- An item for an unknown wallet must not count as the first of its payment.
    select b.*, a.id is not null as is_known,
      row_number() over (partition by b.payment_id, a.id is not null order by b.item) = 1 as is_first
    from unnest(payment_ids, wallet_ids, amounts_micros, transfer_ids) with ordinality
      as b (payment_id, wallet_id, amount_micros, transfer_id, item)
    left join pb.wallets w on w.id = b.wallet_id
    left join pb.accounts a on a.id = w.account_id and a.deleted_at is null
  ), gated as (
    insert into pb.payments (payment_id, wallet_id, transfer_id, amount_micros, created_at)
    select g.payment_id, g.wallet_id, g.transfer_id, g.amount_micros, now_at
    from given g
    where g.is_first and g.is_known
    -- A fixed order, so that two batches with the same payments for different wallets cannot deadlock.
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
      when not g.is_known and (p.wallet_id, p.amount_micros) is distinct from (g.wallet_id, g.amount_micros)
        then 'unknown_wallet'
      when g.is_first and t.payment_id is not null then 'credited'
      -- Rows inserted by this statement are not visible to it, so the first item of the batch is used instead.
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

  perform pb.settle_debts(wallet_ids);
end
$$;

-- Refunds the price of captured searches, which first pays the wallet's debt. Budgets are not restored, because they limit searches
-- made. The returned balance is the one before the settlement.
create or replace function pb.refund(search_ids uuid[], wallet_ids uuid[], transfer_ids uuid[], reasons text[])
returns table (item integer, outcome text, balance_micros bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  first_id uuid := (select id from unnest(search_ids) id order by id limit 1);
  last_id uuid := (select id from unnest(search_ids) id order by id desc limit 1);
  now_at timestamptz;
begin
  perform pb.lock_wallets(wallet_ids);
  now_at := pb.entry_time();

  return query
  with given as (
    -- An item with the wrong wallet must not count as the first of its search.
    select b.*, row_number() over (partition by b.search_id, b.wallet_id order by b.item) = 1 as is_first,
      s.state, s.price_micros
    from unnest(search_ids, wallet_ids, transfer_ids, reasons) with ordinality
      as b (search_id, wallet_id, transfer_id, reason, item)
    left join pb.searches s
      on s.id = b.search_id and s.wallet_id = b.wallet_id and s.id between first_id and last_id
  ), gated as (
    insert into pb.refunds (search_id, wallet_id, transfer_id, reason, created_at)
    select search_id, wallet_id, transfer_id, reason, now_at
    from given where is_first and state = 'captured' and price_micros > 0
    on conflict (search_id) do nothing
    returning search_id, wallet_id, transfer_id
  ), entries as (
    insert into pb.transfers
      (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
    select t.transfer_id, t.wallet_id, t.search_id, 'refund', 'revenue', 'wallet', g.price_micros, now_at
    from gated t join given g on (g.search_id, g.wallet_id) = (t.search_id, t.wallet_id) and g.is_first
  ), credited as (
    update pb.wallets w set credited_micros = w.credited_micros + got.micros
    from (
      select t.wallet_id, sum(g.price_micros)::bigint as micros
      from gated t join given g on (g.search_id, g.wallet_id) = (t.search_id, t.wallet_id) and g.is_first
      group by t.wallet_id
    ) got
    where w.id = got.wallet_id
    returning w.id, w.credited_micros - w.debited_micros as balance
  )
  select g.item::integer,
    case
      when g.state is distinct from 'captured' or g.price_micros = 0 then 'not_captured'
      when g.is_first and t.search_id is not null then 'refunded'
      else 'repeated'
    end,
    coalesce(c.balance, w.credited_micros - w.debited_micros)
  from given g
  left join pb.wallets w on w.id = g.wallet_id
  left join gated t on t.search_id = g.search_id
  left join credited c on c.id = g.wallet_id;

  perform pb.settle_debts(wallet_ids);
end
$$;

-- Uses the wallets' available money to pay their debts, with one transfer per wallet. The caller has locked the wallets and calls
-- this whenever money has become available, so that no wallet can spend while it owes.
create or replace function pb.settle_debts(wallet_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  debt record;
begin
  for debt in
    select w.id, least(w.owed_micros, w.credited_micros - w.debited_micros - w.held_micros) as micros
    from pb.wallets w
    where w.id = any (wallet_ids) and w.owed_micros > 0 and w.credited_micros - w.debited_micros - w.held_micros > 0
  loop
    update pb.wallets w
    set debited_micros = w.debited_micros + debt.micros, owed_micros = w.owed_micros - debt.micros
    where w.id = debt.id;
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (pb.new_uuid(), debt.id, 'settlement', 'wallet', 'receivable', debt.micros, pb.entry_time());
  end loop;
end
$$;
