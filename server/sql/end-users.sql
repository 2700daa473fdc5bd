-- Settings for the ids of end users, which callers send in Search-For. They are stored as hashes under the wallet's data key,
-- unless the owner chooses to store the ids themselves.

-- Chooses whether later searches store the ids themselves. Servers cache the setting with the wallet's keys, which therefore
-- count as changed.
create or replace function pb.set_end_user_ids(p_actor uuid, p_stores_plain_ids boolean) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was_plain boolean;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  was_plain := coalesce(
    (select e.stores_plain_ids from pb.end_user_settings e where e.wallet_id = pb.own_wallet()), false
  );
  insert into pb.end_user_settings (wallet_id, stores_plain_ids) values (pb.own_wallet(), p_stores_plain_ids)
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
