-- The amount a wallet owes was in a table of its own, and a hold did not consider it: money released after a refund could
-- be spent while the refund was owed. The amount is now in the row of the wallet, which a hold reads in any case.

-- The SQL body of this function uses the row type of pb.wallets, and PostgreSQL then refuses to add a column with a
-- default. The same function in PL/pgSQL has no such dependency.
do $migration$
begin
  if to_regprocedure('pb.describe_wallet(text, pb.wallets)') is not null then
    execute $function$
    create or replace function pb.describe_wallet(p_type text, w pb.wallets) returns jsonb stable language plpgsql
    set search_path = pg_catalog, pg_temp as $$
    begin
      return case
        when p_type = 'wallet.low_balance' and w.credited_micros - w.debited_micros < w.low_balance_micros then
          jsonb_build_object(
            'wallet_id', w.id, 'currency', 'usd',
            'balance', pb.usd(w.credited_micros - w.debited_micros), 'low_balance', pb.usd(w.low_balance_micros)
          )
        when p_type = 'wallet.depleted' and w.credited_micros - w.debited_micros < pb.price_micros() then
          jsonb_build_object(
            'wallet_id', w.id, 'currency', 'usd',
            'balance', pb.usd(w.credited_micros - w.debited_micros), 'price', pb.usd(pb.price_micros())
          )
      end;
    end
    $$;
    $function$;
  end if;
end
$migration$;

-- Not part of wallet_never_below_zero: a wallet whose whole balance is on hold may owe all of it.
alter table pb.wallets add column owed_micros bigint not null default 0 check (owed_micros >= 0);
update pb.wallets w set owed_micros = r.owed_micros from pb.receivables r where r.wallet_id = w.id and r.owed_micros > 0;

-- Settles what can be paid now. From now on, the functions in server/sql do so whenever money becomes available.
do $$
declare
  debt record;
begin
  for debt in
    select w.id, least(w.owed_micros, w.credited_micros - w.debited_micros - w.held_micros) as micros
    from pb.wallets w where w.owed_micros > 0 and w.credited_micros - w.debited_micros - w.held_micros > 0
  loop
    update pb.wallets w
    set debited_micros = w.debited_micros + debt.micros, owed_micros = w.owed_micros - debt.micros
    where w.id = debt.id;
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    values (pb.new_uuid(), debt.id, 'settlement', 'wallet', 'receivable', debt.micros, clock_timestamp());
  end loop;
end
$$;

-- The previous release reads this relation. Remove the view one release later.
drop table pb.receivables;
create view pb.receivables with (security_invoker = true) as select id as wallet_id, owed_micros from pb.wallets;
