-- Wallet locks and suspension.
--
-- Lock order everywhere: wallets in ascending id, then their budgets, then their searches. All work on a wallet's money
-- happens under the lock of its row, so everything read after taking the lock is final.

-- Locks wallets for every write except holds, captures and releases, which have their own statements.
create or replace function pb.lock_wallets(wallet_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.require_timeline(nullif(current_setting('pb.expected_timeline', true), ''));
  perform from pb.wallets w where w.id = any (wallet_ids) order by w.id for no key update;
end
$$;

-- Locks the given wallets without waiting, and returns the ones that another transaction has locked. An id that no wallet
-- has is not returned. Because it never waits, it cannot deadlock.
create or replace function pb.lock_free_wallets(wallet_ids uuid[]) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  locked_ids uuid[] := array(
    select w.id from pb.wallets w where w.id = any (wallet_ids) order by w.id for no key update skip locked
  );
begin
  if cardinality(locked_ids) = (select count(distinct id) from unnest(wallet_ids) id) then
    return '{}';
  end if;
  return array(
    select w.id from pb.wallets w where w.id = any (wallet_ids) except select id from unnest(locked_ids) id
  );
end
$$;

-- Locks the wallets of a batch without waiting. Returns their ids, with NULL in place of each wallet that another transaction has
-- locked. The items of such a wallet match no row and change nothing.
create or replace function pb.skip_locked_wallets(wallet_ids uuid[]) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  busy_ids uuid[] := pb.lock_free_wallets(wallet_ids);
begin
  if cardinality(busy_ids) = 0 then
    return wallet_ids;
  end if;
  return array(
    select case when i.wallet_id <> all (busy_ids) then i.wallet_id end
    from unnest(wallet_ids) with ordinality as i (wallet_id, item) order by i.item
  );
end
$$;

-- Whether the wallet's account was deleted. Final when the wallet is locked.
create or replace function pb.is_deleted(p_wallet uuid) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return exists (
    select from pb.wallets w join pb.accounts a on a.id = w.account_id
    where w.id = p_wallet and a.deleted_at is not null
  );
end
$$;

-- Every suspension has its own timestamp, so that a won dispute lifts only the suspension that it caused.
create or replace function pb.suspend_wallet(p_wallet uuid, is_suspended boolean) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[p_wallet]);
  update pb.wallets w set suspended_at = case when is_suspended then clock_timestamp() end where w.id = p_wallet;
  return found;
end
$$;

-- Every wallet has an account. A wallet inserted without one gets its own.
create or replace function pb.assign_account() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if new.account_id is null then
    insert into pb.accounts (name) values (new.name) returning id into new.account_id;
  end if;
  return new;
end
$$;

create or replace function pb.set_alerts(p_actor uuid, new_email text, new_low_balance_micros bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  w pb.wallets;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  select * into w from pb.wallets f where f.id = pb.own_wallet();
  if not found then
    return false;
  end if;
  update pb.wallets f set alert_email = new_email, low_balance_micros = new_low_balance_micros where f.id = w.id;
  perform pb.record_own_change(
    p_actor, 'alerts.change', w.id::text,
    jsonb_build_object('email', w.alert_email, 'low_balance', pb.usd(w.low_balance_micros)),
    jsonb_build_object('email', new_email, 'low_balance', pb.usd(new_low_balance_micros))
  );
  return true;
end
$$;
