-- Wallet locks and suspension.
--
-- Lock order everywhere: wallets in ascending id, then their budgets, then their searches. All work on a wallet's money
-- happens under the lock of its row, so everything read after taking the lock is final.

-- Locks wallets for every write except holds, captures, releases and expiry, which have their own statements. Raises an error
-- if one of them is being moved (PB002) or is not active in this cell (PB003). See moves.sql.
create or replace function pb.lock_wallets(wallet_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_fenced_wallets(wallet_ids);
  perform pb.require_no_fence(wallet_ids);
end
$$;

create or replace function pb.require_no_fence(wallet_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  reason text;
begin
  reason := (
    select pb.why_fenced(w.id) from pb.wallets w
    where w.id = any (wallet_ids) and w.fenced_until > clock_timestamp() limit 1
  );
  if reason = 'account_moved' then
    raise exception 'the account is in another cell' using errcode = 'PB003';
  elsif reason is not null then
    raise exception 'the account is being moved' using errcode = 'PB002';
  end if;
end
$$;

-- For changes of the account itself, such as its members. The caller has locked the account, which a move locks as well, so
-- that no search waits.
create or replace function pb.require_no_account_fence(p_account uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.require_no_fence(array(select w.id from pb.wallets w where w.account_id = p_account));
end
$$;

-- For writes that a move waits for: a search that was admitted is settled.
create or replace function pb.lock_fenced_wallets(wallet_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.require_timeline(nullif(current_setting('pb.min_timeline', true), '')::integer);
  perform from pb.wallets w where w.id = any (wallet_ids) order by w.id for no key update;
end
$$;

-- Why a fenced wallet accepts no writes: 'account_moved' if another cell owns its account, otherwise 'account_moving'.
create or replace function pb.why_fenced(p_wallet uuid) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return case when pb.owner_cell(p_wallet) is null then 'account_moving' else 'account_moved' end;
end
$$;

-- The cell that owns the wallet's account, or NULL if it is this one or the account is being moved here: an arrival has a
-- higher epoch than the owner that is known here, and its fence has not ended long ago.
create or replace function pb.owner_cell(p_wallet uuid) returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select o.cell
  from pb.wallets w join pb.account_owners o on o.account_id = w.account_id
  where w.id = p_wallet and w.fenced_until = 'infinity'
    and not exists (
      select from pb.arrivals a
      where a.account_id = w.account_id and a.epoch > o.epoch and a.fence > clock_timestamp() - interval '10 seconds'
    );
end;

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

-- Every suspension has its own timestamp: a dispute that is won lifts only the suspension that it caused.
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

create or replace function pb.set_alerts(new_email text, new_low_balance_micros bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  update pb.wallets w set alert_email = new_email, low_balance_micros = new_low_balance_micros
  where w.id = pb.own_wallet();
  return found;
end
$$;
