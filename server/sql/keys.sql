-- API keys. Each change is one function under the wallet lock, so that it is ordered with the wallet's holds: after a
-- revocation or a lowered budget has committed, no later hold succeeds against it. The lock also makes the state of the
-- acting key final: a server caches keys, and a management key that was revoked must not create another one meanwhile.
--
-- Functions that write for a tenant take the wallet from the transaction (pb.own_wallet) and never from an argument, so
-- that an error in the server's SQL cannot affect another wallet.

-- Finds keys of all wallets by digest. `has_expiry`: the server must look the key up again, because expiry is not a
-- change. `end_user_key` is NULL until the wallet's first search with an end user.
drop function if exists pb.find_principals(bytea[]);
create or replace function pb.find_principals(digests bytea[])
returns table (
  digest bytea, id uuid, wallet_id uuid, mode pb.key_mode, scopes text[], allowed_ips text[],
  searches_per_second integer, searches_in_flight integer,
  is_revoked boolean, is_expired boolean, is_suspended boolean, has_expiry boolean, compat jsonb,
  end_user_key bytea, stores_plain_end_users boolean
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return query
  select k.digest, k.id, k.wallet_id, k.mode, k.scopes, k.allowed_ips::text[],
    k.searches_per_second, k.searches_in_flight,
    k.revoked_at is not null, k.expires_at is not null and k.expires_at <= clock_timestamp(),
    w.suspended_at is not null, k.expires_at is not null, k.compat, e.sealed_key, coalesce(e.stores_plain_ids, false)
  from pb.keys k join pb.wallets w on w.id = k.wallet_id left join pb.end_user_settings e on e.wallet_id = k.wallet_id
  where k.digest = any (digests);
end
$$;

-- As pb.find_principals, for servers of the previous release, whose prepared statements do not accept another column. The
-- next release drops it.
create or replace function pb.find_keys(digests bytea[])
returns table (
  digest bytea, id uuid, wallet_id uuid, mode pb.key_mode, scopes text[], allowed_ips text[],
  searches_per_second integer, searches_in_flight integer,
  is_revoked boolean, is_expired boolean, is_suspended boolean, has_expiry boolean
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

-- Keys that changed within the last 15 s by the database's clock, which is longer than a transaction that changes a key
-- can last. Servers poll it to evict cached keys.
create or replace function pb.changed_keys() returns setof uuid
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select k.id from pb.keys k where k.changed_at > clock_timestamp() - interval '15 seconds';
end;

-- Records that keys were used. Skips rows that are locked; they are recorded the next time.
create or replace function pb.record_key_uses(key_ids uuid[]) returns void
language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  update pb.keys k set last_used_at = clock_timestamp()
  where k.id in (
    select f.id from pb.keys f
    where f.id = any (key_ids)
      and (f.last_used_at is null or f.last_used_at < clock_timestamp() - interval '20 seconds')
    for no key update skip locked
  );
end;

-- Once this commits, every hold for the key that is not yet decided sees it. Returns false if the key was already
-- revoked.
create or replace function pb.revoke_key(p_wallet uuid, p_key uuid, reason text default 'operator') returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[p_wallet]);
  update pb.keys k set revoked_at = clock_timestamp(), revoked_reason = reason
  where k.id = p_key and k.wallet_id = p_wallet and k.revoked_at is null;
  return found;
end
$$;

-- Why this actor (a key or a session) may not manage the keys of the transaction's wallet, or NULL if it may. The
-- caller has locked the wallet. The session and the membership stay locked until the caller commits, so that a person
-- who signs out or is removed creates no key afterwards. A session or membership that is just being deleted counts as
-- deleted (SKIP LOCKED), because nothing may wait here for anything but the wallet.
create or replace function pb.check_manager(p_actor uuid, creates_key boolean default false) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  is_suspended boolean := (select w.suspended_at is not null from pb.wallets w where w.id = pb.own_wallet());
  k pb.keys;
  s pb.sessions;
  v_role pb.member_role;
begin
  select * into k from pb.keys f where f.id = p_actor and f.wallet_id = pb.own_wallet();
  if found then
    return case
      when k.revoked_at is not null then 'api_key_revoked'
      when k.expires_at <= clock_timestamp() then 'api_key_expired'
      when is_suspended then 'account_suspended'
      when not ('keys:write' = any (k.scopes)) then 'insufficient_scope'
    end;
  end if;
  select * into s from pb.sessions f where f.id = p_actor for key share skip locked;
  if not found then
    return 'api_key_invalid';
  elsif not pb.is_live(s) then
    return 'session_required';
  end if;
  select m.role into v_role
  from pb.members m
  where m.person_id = s.person_id
    and m.account_id = (select w.account_id from pb.wallets w where w.id = pb.own_wallet())
  for share skip locked;
  return case
    when v_role is null or v_role = 'viewer' then 'insufficient_role'
    when is_suspended then 'account_suspended'
    when creates_key and pb.fresh_until(s) <= clock_timestamp() then 'reauthentication_required'
  end;
end
$$;

-- Whether the actor may grant these scopes. A key may grant the scopes it has, `keys:write` includes `keys:read`, and every
-- management key may grant `search`. A person may grant everything that a management key can have; pb.check_manager has checked the session.
create or replace function pb.can_grant_scopes(p_actor uuid, p_scopes text[]) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(
    (
      select array_remove(p_scopes, 'search')
        <@ (k.scopes || case when 'keys:write' = any (k.scopes) then array['keys:read'] else array[]::text[] end)
      from pb.keys k where k.id = p_actor and k.wallet_id = pb.own_wallet()
    ),
    exists (select from pb.sessions s where s.id = p_actor)
  );
end;

-- A wallet has at most 1,000 active keys and creates at most 1,000 a day. This runs under the wallet lock, so it reads
-- at most the newest 2,000 keys that are not revoked.
create or replace function pb.is_below_key_limit() returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select (
    select count(*) < 1000
    from (
      select k.expires_at from pb.keys k
      where k.wallet_id = pb.own_wallet() and k.revoked_at is null order by k.id desc limit 2000
    ) newest
    where newest.expires_at is null or newest.expires_at > clock_timestamp()
  ) and (
    select count(*) < 1000
    from (
      select from pb.keys k
      where k.wallet_id = pb.own_wallet() and k.id >= pb.uuid_floor(clock_timestamp() - interval '1 day') limit 1000
    ) created_today
  );
end;

-- The limits of a key, as total, day, month, end_user and end_user_period, after the budget and the end_user_limit of
-- p_changes are applied. A limit that is not in p_changes does not change; null removes one.
create or replace function pb.merge_key_limits(p_limits jsonb, p_changes jsonb) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp
return jsonb_strip_nulls(
  p_limits
  || case jsonb_typeof(p_changes -> 'budget')
    when 'object' then p_changes -> 'budget'
    when 'null' then '{"total": null, "day": null, "month": null}'
    else '{}' end
  || case when p_changes ? 'end_user_limit' then jsonb_build_object(
    'end_user', p_changes #> '{end_user_limit,amount}', 'end_user_period', p_changes #> '{end_user_limit,period}'
  ) else '{}' end
);

-- Creates a budget with these limits, or changes an existing one, and returns its id. A budget without limits is removed
-- from every key that shares it, so that their searches take the fast path again.
create or replace function pb.save_key_budget(p_id uuid, p_mode pb.key_mode, p_limits jsonb) returns uuid
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_limits = '{}' then
    update pb.keys k set budget_id = null where k.wallet_id = pb.own_wallet() and k.budget_id = p_id;
    return null;
  end if;
  insert into pb.key_budgets as b (
    id, wallet_id, mode, total_limit_micros, day_limit_micros, month_limit_micros, end_user_limit_micros,
    end_user_period
  )
  values (
    coalesce(p_id, gen_random_uuid()), pb.own_wallet(), p_mode, (p_limits ->> 'total')::bigint,
    (p_limits ->> 'day')::bigint, (p_limits ->> 'month')::bigint, (p_limits ->> 'end_user')::bigint,
    p_limits ->> 'end_user_period'
  )
  on conflict (id) do update
  set total_limit_micros = excluded.total_limit_micros, day_limit_micros = excluded.day_limit_micros,
    month_limit_micros = excluded.month_limit_micros, end_user_limit_micros = excluded.end_user_limit_micros,
    end_user_period = excluded.end_user_period
  where b.wallet_id = pb.own_wallet()
  returning b.id into p_id;
  return p_id;
end
$$;

-- p_options: name, scopes, allowed_ips, expires_at, searches_per_second, searches_in_flight, compat, budget with total, day
-- and month in micros, and end_user_limit with amount in micros and period. The server has validated them.
create or replace function pb.create_own_key(
  p_actor uuid, new_id uuid, new_mode pb.key_mode, new_start text, new_pepper smallint, new_digest bytea,
  p_options jsonb
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
  new_budget uuid;
  w record;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  refusal := pb.check_manager(p_actor, true);
  if refusal is not null then
    return refusal;
  end if;
  select * into w from jsonb_to_record(p_options) as r (
    name text, scopes text[], allowed_ips text[], expires_at timestamptz,
    searches_per_second integer, searches_in_flight integer, budget jsonb, end_user_limit jsonb,
    compat jsonb
  );
  if not pb.can_grant_scopes(p_actor, w.scopes) then
    return 'insufficient_scope';
  elsif not pb.is_below_key_limit() then
    return 'key_limit_reached';
  end if;
  new_budget := pb.save_key_budget(null, new_mode, pb.merge_key_limits('{}', p_options));
  insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, allowed_ips, expires_at,
    searches_per_second, searches_in_flight, budget_id, compat)
  values (new_id, pb.own_wallet(), new_mode, w.name, new_start, new_pepper, new_digest, w.scopes,
    w.allowed_ips::cidr[], w.expires_at, w.searches_per_second, w.searches_in_flight, new_budget, w.compat);
  return 'done';
end
$$;

-- p_changes: as p_options of pb.create_own_key, without scopes; omitted fields do not change. Budget limits are merged
-- one by one.
create or replace function pb.change_own_key(p_actor uuid, p_key uuid, p_changes jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
  k pb.keys;
  limits jsonb;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  refusal := pb.check_manager(p_actor);
  if refusal is not null then
    return refusal;
  end if;
  select * into k from pb.keys f where f.id = p_key and f.wallet_id = pb.own_wallet();
  if not found then
    return 'not_found';
  elsif k.revoked_at is not null then
    return 'key_not_active';
  -- A rotated key must end when promised: it may have leaked.
  elsif p_changes ? 'expires_at' and exists (select from pb.keys n where n.rotated_from = p_key) then
    return 'key_not_active';
  elsif k.mode = 'mgmt' and 'object' in (jsonb_typeof(p_changes -> 'budget'), jsonb_typeof(p_changes -> 'end_user_limit'))
  then
    return 'budget_without_spending';
  end if;

  if p_changes ?| array['budget', 'end_user_limit'] then
    select jsonb_build_object(
      'total', b.total_limit_micros, 'day', b.day_limit_micros, 'month', b.month_limit_micros,
      'end_user', b.end_user_limit_micros, 'end_user_period', b.end_user_period)
    into limits from pb.key_budgets b where b.id = k.budget_id and b.wallet_id = k.wallet_id;
    k.budget_id :=
      pb.save_key_budget(k.budget_id, k.mode, pb.merge_key_limits(coalesce(limits, '{}'), p_changes));
  end if;

  -- Fields that are not in p_changes keep their value.
  k := jsonb_populate_record(k, p_changes - '{budget,end_user_limit}'::text[]);
  update pb.keys f set name = k.name, allowed_ips = k.allowed_ips, expires_at = k.expires_at,
    searches_per_second = k.searches_per_second, searches_in_flight = k.searches_in_flight, budget_id = k.budget_id, compat = k.compat
  where f.id = p_key and f.wallet_id = pb.own_wallet();
  return 'done';
end
$$;

-- Creates a copy of the key with a new secret. The old key expires after the grace period.
create or replace function pb.rotate_own_key(
  p_actor uuid, old_id uuid, new_id uuid, new_start text, new_pepper smallint, new_digest bytea,
  grace_seconds integer
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
  now_at timestamptz;
  k pb.keys;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  now_at := clock_timestamp();
  refusal := pb.check_manager(p_actor, true);
  if refusal is not null then
    return refusal;
  end if;
  select * into k from pb.keys f where f.id = old_id and f.wallet_id = pb.own_wallet();
  if not found then
    return 'not_found';
  elsif k.revoked_at is not null or k.expires_at <= now_at
    or exists (select from pb.keys f where f.rotated_from = old_id)
    -- The key of a connected app has no secret to replace.
    or exists (select from pb.connected_apps a where a.key_id = old_id) then
    return 'key_not_active';
  elsif not pb.can_grant_scopes(p_actor, k.scopes) then
    return 'insufficient_scope';
  -- During the grace period both keys are active.
  elsif grace_seconds > 0 and not pb.is_below_key_limit() then
    return 'key_limit_reached';
  end if;
  insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, allowed_ips, expires_at,
    searches_per_second, searches_in_flight, budget_id, compat, rotated_from)
  values (new_id, k.wallet_id, k.mode, k.name, new_start, new_pepper, new_digest, k.scopes, k.allowed_ips,
    k.expires_at, k.searches_per_second, k.searches_in_flight, k.budget_id, k.compat, old_id);
  update pb.keys f
  set expires_at = least(coalesce(f.expires_at, 'infinity'), now_at + make_interval(secs => grace_seconds))
  where f.id = old_id and f.wallet_id = k.wallet_id;
  return 'done';
end
$$;

-- Revoking a revoked key changes nothing.
create or replace function pb.revoke_own_key(p_actor uuid, p_key uuid) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  refusal := pb.check_manager(p_actor);
  if refusal is not null then
    return refusal;
  elsif not exists (select from pb.keys k where k.id = p_key and k.wallet_id = pb.own_wallet()) then
    return 'not_found';
  end if;
  perform pb.revoke_key(pb.own_wallet(), p_key, 'owner');
  return 'done';
end
$$;

create or replace function pb.touch_key() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.changed_at := clock_timestamp();
  return new;
end
$$;

-- A suspension affects every key of the wallet.
create or replace function pb.touch_wallet_keys() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update pb.keys k set changed_at = clock_timestamp() where k.wallet_id = new.id;
  return null;
end
$$;
