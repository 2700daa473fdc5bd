-- Why: at less than full load most batches are of one search, and then it is not the rows that cost but the statements: what
-- a table checks and when a trigger fires is read from its text by each of them, so long rules are slow rules.

-- Follows from the others: what was credited is at least what was debited and is held, and neither is below zero.
alter table pb.wallets drop constraint wallets_credited_micros_check;

-- Not for captures, of which there are as many as of all others together. Called, and not read anew each time.
create function pb.fits_other_kinds(
  kind pb.transfer_kind, from_account pb.ledger_account, to_account pb.ledger_account, search_id uuid
)
returns boolean immutable language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return (search_id is not null) = (kind = 'refund')
    and kind::text || ' ' || from_account::text || ' ' || to_account::text = any (
      '{refund revenue wallet, top_up cash wallet, credit promotion wallet, reversal wallet cash,
        receivable receivable cash, reinstatement cash wallet, settlement wallet receivable}'::text[]
    );
end
$$;

-- Three rules of 0001 and 0016 in one, a third of their length. Every row that kept those keeps this one. A capture bears its
-- search's id, which makes "captured once" a primary key.
alter table pb.transfers
  drop constraint both_legs_fit_the_kind,
  drop constraint searches_named_where_one_paid,
  drop constraint capture_bears_its_search,
  add constraint legs_and_search_fit_the_kind check (
    case kind
      when 'capture' then from_account = 'wallet' and to_account = 'revenue' and search_id is not null and id = search_id
      else pb.fits_other_kinds(kind, from_account, to_account, search_id)
    end
  ) not valid;

-- As in 0013, but whether a threshold was crossed is asked here, only of wallets that are below one.
create or replace function pb.tell_of_balance() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  balance_was bigint := old.credited_micros - old.debited_micros;
  balance bigint := new.credited_micros - new.debited_micros;
  the_type text;
  was jsonb;
  said jsonb;
begin
  if (balance >= 10000 or balance_was < 10000)
    and (balance < new.low_balance_micros and (balance_was < old.low_balance_micros) is not true) is not true
  then
    return null;
  end if;
  foreach the_type in array array['wallet.low_balance', 'wallet.depleted'] loop
    was := pb.describe_wallet(the_type, old);
    said := pb.describe_wallet(the_type, new);
    if was is null and said is not null then
      perform pb.note_event_hourly(new.id, new.id, the_type, said);
    end if;
  end loop;
  return null;
end
$$;

create or replace trigger tell_of_balance
  after update of credited_micros, debited_micros, low_balance_micros on pb.wallets
  for each row when (new.credited_micros - new.debited_micros < greatest(new.low_balance_micros, 10000))
  execute function pb.tell_of_balance();

-- As in 0003. Charges a batch of searches that worked. The ledger entry and the stored answer are written with the state,
-- or none of them is. A hold whose life is over is not captured, however late its sweeper is.
create or replace function pb.capture(search_ids uuid[], wallet_ids uuid[], answers bytea[])
returns table (item integer, state text, balance_micros bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  first_id uuid := search_ids[1];
  last_id uuid := first_id;
  now_at timestamptz;
  captured_now integer;
  price bigint;
begin
  if cardinality(search_ids) = 1 and answers is null then
    perform from pb.wallets w where w.id = wallet_ids[1] for no key update;
    now_at := clock_timestamp();
    update pb.searches s set state = 'captured', settled_at = now_at
    where s.id = first_id and s.wallet_id = wallet_ids[1] and s.state = 'pending' and s.expires_at > now_at
    returning s.price_micros into price;
    if price > 0 then
      insert into pb.transfers (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
      values (first_id, wallet_ids[1], first_id, 'capture', 'wallet', 'revenue', price, now_at);
      update pb.wallets w
      set debited_micros = w.debited_micros + price, held_micros = w.held_micros - price
      where w.id = wallet_ids[1]
      returning w.credited_micros - w.debited_micros into balance_micros;
      item := 1;
      state := 'captured';
      return next;
      return;
    end if;
  end if;

  perform from pb.wallets w where w.id = any (wallet_ids) order by w.id for no key update;
  now_at := clock_timestamp();
  if cardinality(search_ids) > 1 then
    first_id := (select id from unnest(search_ids) id order by id limit 1);
    last_id := (select id from unnest(search_ids) id order by id desc limit 1);
  end if;

  with captured as (
    update pb.searches s
    set state = 'captured', settled_at = now_at
    where s.id = any (search_ids) and s.id between first_id and last_id
      and coalesce((s.id, s.wallet_id) in (select * from unnest(search_ids, wallet_ids)), false)
      and s.state = 'pending' and s.expires_at > now_at
    returning s.id, s.wallet_id, s.price_micros, s.mode, s.idempotency_hmac
  ), entries as (
    insert into pb.transfers
      (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
    select id, wallet_id, id, 'capture', 'wallet', 'revenue', price_micros, now_at
    from captured where price_micros > 0
  ), stored as (
    -- The first mention of an id is nearly always the only one; searching for the pair each time is quadratic.
    update pb.idempotency c set answer = case
      when wallet_ids[array_position(search_ids, p.id)] = p.wallet_id then answers[array_position(search_ids, p.id)]
      else (
        select i.answer from unnest(search_ids, wallet_ids, answers) as i (search_id, wallet_id, answer)
        where i.search_id = p.id and i.wallet_id = p.wallet_id limit 1
      )
    end
    from captured p
    where p.idempotency_hmac is not null
      and c.wallet_id = p.wallet_id and c.mode = p.mode and c.key_hmac = p.idempotency_hmac
      and c.search_id = p.id
  ), charged as (
    update pb.wallets w
    set debited_micros = w.debited_micros + paid.micros, held_micros = w.held_micros - paid.micros
    from (select wallet_id, sum(price_micros)::bigint as micros from captured group by wallet_id) paid
    where w.id = paid.wallet_id and paid.micros > 0
  )
  select count(*) into captured_now from captured;

  -- Nearly always all of them: then there is nothing left to look up.
  if captured_now = cardinality(search_ids) then
    return query
      select i.item::integer, 'captured', w.credited_micros - w.debited_micros
      from unnest(wallet_ids) with ordinality as i (wallet_id, item) join pb.wallets w on w.id = i.wallet_id;
  else
    return query select * from pb.search_states(search_ids, wallet_ids, now_at);
  end if;
end
$$;
