-- API keys. Each change is one function under the wallet lock, so that it is ordered with the wallet's holds: after a
-- revocation or a lowered budget has committed, no later hold succeeds against it. The lock also makes the state of the
-- acting key final: a server caches keys, and a management key that was revoked must not create another one meanwhile.
--
-- Functions that write for a tenant take the wallet from the transaction (pb.own_wallet) and never from an argument, so
-- that an error in the server's SQL cannot affect another wallet.

-- Finds keys of all wallets by digest. `has_expiry`: the server must look the key up again, because expiry is not a
-- change. `data_key` is NULL until something depends on it.
create or replace function pb.find_principals(digests bytea[])
returns table (
  digest bytea, id uuid, wallet_id uuid, mode pb.key_mode, scopes text[], allowed_ips text[],
  searches_per_second integer, searches_in_flight integer,
  is_revoked boolean, is_expired boolean, is_suspended boolean, has_expiry boolean, compat jsonb,
  sources jsonb, max_run jsonb, data_key bytea, stores_plain_end_users boolean
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return query
  select k.digest, k.id, k.wallet_id, k.mode, k.scopes, k.allowed_ips::text[],
    k.searches_per_second, k.searches_in_flight,
    k.revoked_at is not null, k.expires_at is not null and k.expires_at <= clock_timestamp(),
    w.suspended_at is not null, k.expires_at is not null, k.compat, k.sources, k.max_run, d.sealed,
    coalesce(e.stores_plain_ids, false)
  from pb.keys k join pb.wallets w on w.id = k.wallet_id
  left join pb.data_keys d on d.wallet_id = k.wallet_id left join pb.end_user_settings e on e.wallet_id = k.wallet_id
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

-- Records that keys were used. Skips locked rows, which are recorded the next time.
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

-- Returns the reason this actor (a key or a session) may not manage the keys of the transaction's wallet, or NULL. The
-- caller has locked the wallet. The session and the membership stay locked until the caller commits, so that a person
-- who signs out or is removed creates no key afterwards. A session or membership that is being deleted counts as
-- deleted (SKIP LOCKED), because nothing may wait here for any lock but the wallet's.
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
-- management key may grant `search` and `budgets:request`, which only search keys can have. A person may grant everything that a
-- management key can have; pb.check_manager has checked the session.
create or replace function pb.can_grant_scopes(p_actor uuid, p_scopes text[]) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(
    (
      select array_remove(array_remove(p_scopes, 'search'), 'budgets:request')
        <@ (k.scopes || case when 'keys:write' = any (k.scopes) then array['keys:read'] else array[]::text[] end)
      from pb.keys k where k.id = p_actor and k.wallet_id = pb.own_wallet()
    ),
    exists (select from pb.sessions s where s.id = p_actor)
  );
end;

-- The first of p_fields in which a management key with these values would have fewer restrictions than the acting key, or
-- NULL. Keys of other modes may have fewer, because a key in one network can create keys for servers in others. A session has
-- no restrictions.
create or replace function pb.find_wider_field(
  p_actor uuid, p_mode pb.key_mode, p_fields text[], p_networks cidr[], p_expires_at timestamptz
) returns text
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select case
    when 'allowed_ips' = any (p_fields) and k.allowed_ips is not null and (
      p_networks is null
      or exists (
        select from unnest(p_networks) n
        where not exists (select from unnest(k.allowed_ips) own where n <<= own)
      )
    ) then 'allowed_ips'
    when 'expires_at' = any (p_fields) and k.expires_at < coalesce(p_expires_at, 'infinity') then 'expires_at'
  end
  from pb.keys k where p_mode = 'mgmt' and k.id = p_actor and k.wallet_id = pb.own_wallet();
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

-- The settings of a key for the list of changes.
create or replace function pb.key_settings(k pb.keys) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return jsonb_build_object(
    'name', k.name, 'mode', k.mode, 'start', k.start, 'scopes', k.scopes, 'allowed_ips', k.allowed_ips,
    'expires_at', pb.iso_time(k.expires_at), 'searches_per_second', k.searches_per_second,
    'searches_in_flight', k.searches_in_flight, 'compat', k.compat, 'sources', k.sources,
    'max_run', k.max_run, 'external_id', k.external_id
  ) || (
    select coalesce(jsonb_object_agg(
      case l.key when 'shared' then 'budgets' else 'budget_' || l.key end,
      case when l.key in ('end_user_period', 'shared') then l.value else to_jsonb(pb.usd(l.value::bigint)) end
    ), '{}')
    from jsonb_each(pb.read_key_limits(k.limits_id)) l
  );
end
$$;

-- Whether another key of the wallet has this external id. A revoked key no longer has it.
create or replace function pb.is_key_id_taken(p_mode pb.key_mode, p_external_id text, p_key uuid default null) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select exists (
    select from pb.keys k
    where k.wallet_id = pb.own_wallet() and k.mode = p_mode and k.external_id = p_external_id and k.revoked_at is null
      and k.id is distinct from p_key
  );
end;

-- p_options: external_id, name, scopes, allowed_ips, expires_at, searches_per_second, searches_in_flight, compat, sources, max_run,
-- budget with total, day and month in micros, end_user_limit with amount in micros and period, and budgets, the ids of shared budgets. The server has
-- validated them. A management key has the restrictions of the acting key that are not in p_options.
create or replace function pb.create_own_key(
  p_actor uuid, new_id uuid, new_mode pb.key_mode, new_start text, new_pepper smallint, new_digest bytea,
  p_options jsonb
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
  new_limits uuid;
  wider text;
  k pb.keys;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  refusal := pb.check_manager(p_actor, true);
  if refusal is not null then
    return refusal;
  end if;
  select f.allowed_ips, f.expires_at into k.allowed_ips, k.expires_at
  from pb.keys f where new_mode = 'mgmt' and f.id = p_actor and f.wallet_id = pb.own_wallet();
  k := jsonb_populate_record(k, p_options - '{budget,end_user_limit,budgets}'::text[]);
  wider := pb.find_wider_field(p_actor, new_mode, array['allowed_ips', 'expires_at'], k.allowed_ips, k.expires_at);
  if not pb.can_grant_scopes(p_actor, k.scopes) then
    return 'insufficient_scope';
  elsif wider is not null then
    return wider || '_too_wide';
  elsif not pb.are_own_budgets(new_mode, p_options -> 'budgets') then
    return 'unknown_budget';
  elsif pb.is_key_id_taken(new_mode, k.external_id) then
    return 'external_id_taken';
  elsif not pb.is_below_key_limit() then
    return 'key_limit_reached';
  end if;
  new_limits := pb.save_key_limits(pb.own_wallet(), null, new_mode, pb.merge_key_limits('{}', p_options));
  insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, allowed_ips, expires_at,
    searches_per_second, searches_in_flight, limits_id, compat, sources, max_run, external_id)
  values (new_id, pb.own_wallet(), new_mode, k.name, new_start, new_pepper, new_digest, k.scopes,
    k.allowed_ips, k.expires_at, k.searches_per_second, k.searches_in_flight, new_limits, k.compat, k.sources, k.max_run,
    k.external_id);
  perform pb.record_own_change(p_actor, 'key.create', new_id::text, p_after => pb.key_settings(f))
  from pb.keys f where f.id = new_id and f.wallet_id = pb.own_wallet();
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
  changed pb.keys;
  settings_before jsonb;
  wider text;
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
  -- A rotated key must expire at the end of its grace period, because it may have leaked.
  elsif p_changes ? 'expires_at' and exists (select from pb.keys n where n.rotated_from = p_key) then
    return 'key_not_active';
  elsif k.mode = 'mgmt' and (
    'object' in (
      jsonb_typeof(p_changes -> 'budget'), jsonb_typeof(p_changes -> 'end_user_limit'), jsonb_typeof(p_changes -> 'sources'),
      jsonb_typeof(p_changes -> 'max_run')
    )
    or p_changes -> 'budgets' <> '[]'
  ) then
    return 'budget_without_spending';
  elsif not pb.are_own_budgets(k.mode, p_changes -> 'budgets') then
    return 'unknown_budget';
  end if;
  -- Fields that are not in p_changes keep their value.
  changed := jsonb_populate_record(k, p_changes - '{budget,end_user_limit,budgets}'::text[]);
  wider := pb.find_wider_field(
    p_actor, k.mode, array(select jsonb_object_keys(p_changes)), changed.allowed_ips, changed.expires_at
  );
  if wider is not null then
    return wider || '_too_wide';
  elsif pb.is_key_id_taken(k.mode, changed.external_id, p_key) then
    return 'external_id_taken';
  end if;

  settings_before := pb.key_settings(k);
  if p_changes ?| array['budget', 'end_user_limit', 'budgets'] then
    changed.limits_id := pb.save_key_limits(
      k.wallet_id, k.limits_id, k.mode, pb.merge_key_limits(pb.read_key_limits(k.limits_id), p_changes)
    );
  end if;
  update pb.keys f set name = changed.name, allowed_ips = changed.allowed_ips, expires_at = changed.expires_at,
    searches_per_second = changed.searches_per_second, searches_in_flight = changed.searches_in_flight,
    limits_id = changed.limits_id, compat = changed.compat, sources = changed.sources, max_run = changed.max_run,
    external_id = changed.external_id
  where f.id = p_key and f.wallet_id = pb.own_wallet();
  perform pb.record_own_change(p_actor, 'key.change', p_key::text, settings_before, pb.key_settings(changed));
  return 'done';
end
$$;

-- Creates a copy of the key with a new secret, which takes over the external id. The old key expires after the grace period.
create or replace function pb.rotate_own_key(
  p_actor uuid, old_id uuid, new_id uuid, new_start text, new_pepper smallint, new_digest bytea,
  grace_seconds integer
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
  now_at timestamptz;
  ends timestamptz;
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
  -- Otherwise the actor would get a key that works from networks or at times that its own does not.
  elsif pb.find_wider_field(p_actor, k.mode, array['allowed_ips', 'expires_at'], k.allowed_ips, k.expires_at)
    is not null
  then
    return 'has_fewer_restrictions';
  -- During the grace period both keys are active.
  elsif grace_seconds > 0 and not pb.is_below_key_limit() then
    return 'key_limit_reached';
  end if;
  update pb.keys f
  set expires_at = least(coalesce(f.expires_at, 'infinity'), now_at + make_interval(secs => grace_seconds)),
    external_id = null
  where f.id = old_id and f.wallet_id = k.wallet_id
  returning f.expires_at into ends;
  insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, allowed_ips, expires_at,
    searches_per_second, searches_in_flight, limits_id, compat, sources, max_run, external_id, rotated_from)
  values (new_id, k.wallet_id, k.mode, k.name, new_start, new_pepper, new_digest, k.scopes, k.allowed_ips,
    k.expires_at, k.searches_per_second, k.searches_in_flight, k.limits_id, k.compat, k.sources, k.max_run,
    k.external_id, old_id);
  perform pb.record_own_change(p_actor, 'key.rotate', new_id::text, p_after => jsonb_build_object(
    'name', k.name, 'start', new_start, 'rotated_from', old_id, 'previous_expires_at', pb.iso_time(ends)
  ));
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
  if pb.revoke_key(pb.own_wallet(), p_key, 'owner') then
    perform pb.record_own_change(p_actor, 'key.revoke', p_key::text);
  end if;
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
