-- Settings for the ids of end users, which callers send in Search-For. A wallet has its own key for hashes, so that equal
-- ids of two wallets do not correlate and a rotation of PENNYBLACK_SECRET changes no hash.

-- Returns the wallet's sealed key. If it has none, p_sealed_key becomes its key. Servers cache the settings with the wallet's
-- keys, which therefore count as changed.
create or replace function pb.create_end_user_key(p_sealed_key bytea) returns bytea
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  insert into pb.end_user_settings (wallet_id, sealed_key) values (pb.own_wallet(), p_sealed_key)
  on conflict do nothing;
  if found then
    update pb.keys k set changed_at = clock_timestamp() where k.wallet_id = pb.own_wallet();
  end if;
  return (select e.sealed_key from pb.end_user_settings e where e.wallet_id = pb.own_wallet());
end
$$;

-- Chooses whether later searches store the ids themselves. p_sealed_key: see pb.create_end_user_key.
create or replace function pb.set_end_user_ids(
  p_actor uuid, p_stores_plain_ids boolean, p_sealed_key bytea
) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was_plain boolean;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  was_plain := coalesce(
    (select e.stores_plain_ids from pb.end_user_settings e where e.wallet_id = pb.own_wallet()), false
  );
  insert into pb.end_user_settings (wallet_id, sealed_key, stores_plain_ids)
  values (pb.own_wallet(), p_sealed_key, p_stores_plain_ids)
  on conflict (wallet_id) do update set stores_plain_ids = excluded.stores_plain_ids;
  update pb.keys k set changed_at = clock_timestamp() where k.wallet_id = pb.own_wallet();
  perform pb.record_own_change(
    p_actor, 'end_user_settings.change', pb.own_wallet()::text,
    jsonb_build_object('stores_plain_ids', was_plain), jsonb_build_object('stores_plain_ids', p_stores_plain_ids)
  );
  return true;
end
$$;

-- Deletes usage by end user: of live searches after 90 days, of test searches after 7.
create or replace function pb.delete_old_end_users(p_limit integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  deleted integer;
  today date := pb.utc_day(clock_timestamp());
begin
  with old as materialized (
    select u.wallet_id, u.day, u.mode, u.end_user from pb.usage_end_users u
    where u.day < today - 7 and u.day < today - case u.mode when 'test' then 7 else 90 end
    limit p_limit for update skip locked
  )
  delete from pb.usage_end_users u using old
  where (u.wallet_id, u.day, u.mode, u.end_user) = (old.wallet_id, old.day, old.mode, old.end_user);
  get diagnostics deleted = row_count;
  return deleted;
end
$$;
