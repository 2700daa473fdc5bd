-- Data keys. Values that depend on a wallet's callers are derived from a random key of the wallet, which is encrypted under
-- PENNYBLACK_SECRET. A rotation encrypts the keys again and does not change the values derived from them. A server never replaces
-- a key that it cannot open. docs/decisions/0030-data-keys.md gives the reasons.

-- Returns the wallet's encrypted data key. If it has none, p_new becomes its key, unless it is NULL. Returns NULL if the account was
-- deleted. Servers cache the data key with the wallet's API keys, which therefore count as changed.
create or replace function pb.own_data_key(p_new bytea) returns bytea
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  stored bytea := (select d.sealed from pb.data_keys d where d.wallet_id = pb.own_wallet());
begin
  if stored is not null or p_new is null then
    return stored;
  end if;
  -- The deletion of the account waits for this lock, or has happened before it.
  perform pb.lock_wallets(array[pb.own_wallet()]);
  insert into pb.data_keys (wallet_id, sealed)
  select pb.own_wallet(), p_new where not pb.is_deleted(pb.own_wallet())
  on conflict do nothing;
  if found then
    update pb.keys k set changed_at = clock_timestamp() where k.wallet_id = pb.own_wallet();
  end if;
  return (select d.sealed from pb.data_keys d where d.wallet_id = pb.own_wallet());
end
$$;

-- The encrypted data key of the installation. If there is none, p_new becomes it.
create or replace function pb.installation_data_key(p_new bytea) returns bytea
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into pb.data_keys (wallet_id, sealed) values ('00000000-0000-0000-0000-000000000000', p_new)
  on conflict do nothing;
  return (select d.sealed from pb.data_keys d where d.wallet_id = '00000000-0000-0000-0000-000000000000');
end
$$;

-- The ids of the secrets that a process must list. One index look-up per secret, regardless of the number of keys.
create or replace function pb.secrets_in_use() returns setof text
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  with recursive used as (
    (select d.secret_id as id from pb.data_keys d order by d.secret_id limit 1)
    union all
    select (select d.secret_id from pb.data_keys d where d.secret_id > u.id order by d.secret_id limit 1)
    from used u where u.id is not null
  )
  select u.id from used u where u.id is not null;
end;

-- Replaces data keys and deletes the claims that depend on them. Only the owner calls it, after a leak of database and secret.
create or replace function pb.replace_data_keys(wallet_ids uuid[], new_keys bytea[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(wallet_ids);
  update pb.data_keys d set sealed = n.sealed
  from unnest(wallet_ids, new_keys) as n (wallet_id, sealed) where d.wallet_id = n.wallet_id;
  delete from pb.idempotency c where c.wallet_id = any (wallet_ids);
  update pb.keys k set changed_at = clock_timestamp() where k.wallet_id = any (wallet_ids);
end
$$;
