-- Why: a key is found by its digest across all wallets, which no tenant may do; and a revocation must exclude
-- every hold that comes after it, so it queues for the same lock as the holds do.

create function pb.find_keys(digests bytea[])
returns table (
  digest bytea, id uuid, wallet_id uuid, mode pb.key_mode, scopes text[], allowed_ips text[],
  searches_per_second integer, searches_in_flight integer,
  is_revoked boolean, is_expired boolean, is_suspended boolean
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return query
  select k.digest, k.id, k.wallet_id, k.mode, k.scopes, k.allowed_ips::text[],
    k.searches_per_second, k.searches_in_flight,
    k.revoked_at is not null, k.expires_at is not null and k.expires_at <= clock_timestamp(),
    w.suspended_at is not null
  from pb.keys k join pb.wallets w on w.id = k.wallet_id
  where k.digest = any (digests);
end
$$;

-- When this commits, every hold for the key that is not yet decided will see it. True if it was not revoked.
create function pb.revoke_key(the_wallet uuid, the_key uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[the_wallet]);
  update pb.keys k set revoked_at = clock_timestamp()
  where k.id = the_key and k.wallet_id = the_wallet and k.revoked_at is null;
  return found;
end
$$;

create function pb.suspend_wallet(the_wallet uuid, is_suspended boolean) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[the_wallet]);
  update pb.wallets w set suspended_at = case when is_suspended then coalesce(w.suspended_at, clock_timestamp()) end
  where w.id = the_wallet;
  return found;
end
$$;
