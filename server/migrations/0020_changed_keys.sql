-- Why: a server remembers the keys it has looked up. With this it may do so for as long as nobody changes them: every
-- quarter of a second it asks, once for all keys, which ones changed of late, instead of looking up each of ten thousand
-- keys every second. Whether a cent is spent is still decided by the hold, under the wallet's lock.

-- Its body as text. From 15.20 on PostgreSQL refuses a column with a default where a function with a parsed body takes
-- the table's row.
create or replace function pb.describe_key(k pb.keys) returns jsonb stable language sql as $$
  select jsonb_build_object('id', k.id, 'name', k.name, 'mode', k.mode, 'start', k.start)
$$;

-- A constant default, so that no row is written. Uses of a key do not touch it and stay HOT updates.
alter table pb.keys add column changed_at timestamptz not null default '-infinity';
create index keys_by_change on pb.keys (changed_at) where changed_at > '-infinity';

create function pb.note_key_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.changed_at := clock_timestamp();
  return new;
end
$$;

create trigger key_changed before update of scopes, allowed_ips, searches_per_second, searches_in_flight, expires_at, revoked_at
  on pb.keys for each row execute function pb.note_key_change();

-- A suspension concerns every key of the wallet. Named columns only: the update of every search does not come by here.
create function pb.note_suspension() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update pb.keys k set changed_at = clock_timestamp() where k.wallet_id = new.id;
  return null;
end
$$;

create trigger wallet_suspended after update of suspended_at on pb.wallets
  for each row when (old.suspended_at is distinct from new.suspended_at) execute function pb.note_suspension();

-- By the database's clock alone. The stretch is longer than a transaction that changes a key can last.
create function pb.changed_keys() returns setof uuid
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select k.id from pb.keys k where k.changed_at > clock_timestamp() - interval '15 seconds';
end;

-- As pb.find_keys, which servers of the version before still call, and whether the key ends by itself one day: of that
-- nobody is told, so such a key is looked up again every second.
create function pb.look_up_keys(digests bytea[])
returns table (
  digest bytea, id uuid, wallet_id uuid, mode pb.key_mode, scopes text[], allowed_ips text[],
  searches_per_second integer, searches_in_flight integer,
  is_revoked boolean, is_expired boolean, is_suspended boolean, is_passing boolean
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return query
  select k.digest, k.id, k.wallet_id, k.mode, k.scopes, k.allowed_ips::text[],
    k.searches_per_second, k.searches_in_flight,
    k.revoked_at is not null, k.expires_at is not null and k.expires_at <= clock_timestamp(),
    w.suspended_at is not null, k.expires_at is not null
  from pb.keys k join pb.wallets w on w.id = k.wallet_id
  where k.digest = any (digests);
end
$$;

revoke all on function pb.changed_keys(), pb.look_up_keys(bytea[]), pb.note_key_change(), pb.note_suspension() from public;
grant execute on function pb.changed_keys, pb.look_up_keys to pennyblack_ledger;
