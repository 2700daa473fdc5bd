-- Apps that people connect with OAuth. An app is identified by the person and by the client id at the provider, both taken from
-- a token that the server has verified. It spends through its own key, whose digest the server derives from the identity,
-- so that look-ups, limits, budgets, usage and revocation work as for every other key.
--
--   sign-in through the provider --pb.begin_oidc_session--> pb.identities
--   a person turns apps on for a wallet --pb.set_app_wallet--> pb.app_settings
--   first request of an app --pb.connect_app--> pb.connected_apps and pb.keys
--
-- The key is revoked when the right to spend ends: by a revocation in the console, or by a change of the membership or of the
-- person's subject.

-- Deletes apps and revokes their keys. The caller has locked the wallets. A key gets another digest, because the app would get
-- the same one if it connected again.
create or replace function pb.delete_apps(p_keys uuid[], p_reason text default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.record_system_change(
    k.wallet_id, 'app.disconnect', k.id::text, p_reason, jsonb_build_object('name', k.name)
  )
  from pb.keys k where k.id = any (p_keys) and k.revoked_at is null;
  delete from pb.connected_apps a where a.key_id = any (p_keys);
  update pb.keys k
  set digest = sha256(uuid_send(gen_random_uuid())), revoked_at = coalesce(k.revoked_at, clock_timestamp()),
    revoked_reason = case when k.revoked_at is null then 'owner' else k.revoked_reason end
  where k.id = any (p_keys);
end
$$;

-- A person who leaves an account or becomes a viewer loses the apps that spend from its wallets.
create or replace function pb.delete_member_apps() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  own_wallets uuid[] := array(select w.id from pb.wallets w where w.account_id = old.account_id);
begin
  -- pb.connect_app locks the membership, so no app is added once it has changed.
  if exists (
    select from pb.connected_apps a where a.person_id = old.person_id and a.wallet_id = any (own_wallets)
  ) then
    perform pb.lock_wallets(own_wallets);
    perform pb.delete_apps(array(
      select a.key_id from pb.connected_apps a where a.person_id = old.person_id and a.wallet_id = any (own_wallets)
    ), 'membership changed');
  end if;
  delete from pb.app_settings s where s.person_id = old.person_id and s.wallet_id = any (own_wallets);
  return null;
end
$$;

-- Starts a session after a sign-in through the provider, and records the person's subject there. If the person had another
-- subject, or the subject belonged to another person, their apps are deleted, because the address may have been reassigned.
create or replace function pb.begin_oidc_session(
  p_email text, is_sign_up_open boolean, new_session bytea, old_session bytea, proven_at timestamptz,
  p_issuer text, p_subject text
) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_person uuid := pb.begin_session(p_email, is_sign_up_open, new_session, old_session, proven_at);
  replaced uuid[];
begin
  if v_person is null or exists (
    select from pb.identities i where i.issuer = p_issuer and i.subject = p_subject and i.person_id = v_person
  ) then
    return v_person;
  end if;
  with gone as (
    delete from pb.identities i
    where i.issuer = p_issuer and (i.person_id = v_person or i.subject = p_subject) returning i.person_id
  )
  select array_agg(g.person_id) into replaced from gone g;
  if replaced is not null then
    perform pb.lock_wallets(array(select a.wallet_id from pb.connected_apps a where a.person_id = any (replaced)));
    perform pb.delete_apps(
      array(select a.key_id from pb.connected_apps a where a.person_id = any (replaced)), 'another person signed in'
    );
  end if;
  insert into pb.identities as i (issuer, subject, person_id) values (p_issuer, p_subject, v_person)
  on conflict (issuer, subject) do update set person_id = excluded.person_id;
  return v_person;
end
$$;

-- The limits that the apps of a person share. NULL before the first app is connected, or if their limits were removed.
create or replace function pb.find_app_limits(p_person uuid, p_wallet uuid) returns uuid
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select k.limits_id from pb.connected_apps a join pb.keys k on k.id = a.key_id
  where a.person_id = p_person and a.wallet_id = p_wallet and k.limits_id is not null
  order by k.id desc limit 1;
end;

-- Connects an app that has no key with this digest yet, if its person has turned apps on. Returns 'connected', 'disconnected' if
-- the app's key was revoked, 'not_connected', or 'too_many'. A person can have 20 apps, including disconnected ones.
create or replace function pb.connect_app(
  p_issuer text, p_subject text, p_client text, p_name text, new_key uuid, new_pepper smallint, new_digest bytea
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_person uuid := (select i.person_id from pb.identities i where i.issuer = p_issuer and i.subject = p_subject);
  a pb.connected_apps;
  s pb.app_settings;
begin
  perform pb.lock_wallets(array(
    select f.wallet_id from pb.app_settings f where f.person_id = v_person
    union select f.wallet_id from pb.connected_apps f where f.person_id = v_person and f.client_id = p_client
  ));
  select * into a from pb.connected_apps f where f.person_id = v_person and f.client_id = p_client;
  if found then
    -- Another server has just connected it, or its digest was made with a pepper that is no longer listed.
    update pb.keys k set digest = new_digest, pepper_version = new_pepper
    where k.id = a.key_id and k.wallet_id = a.wallet_id and k.revoked_at is null;
    return case when found then 'connected' else 'disconnected' end;
  end if;

  select * into s from pb.app_settings f where f.person_id = v_person;
  -- The membership stays locked until this commits, as in pb.check_manager.
  perform from pb.members m
  where m.person_id = v_person and m.role <> 'viewer'
    and m.account_id = (select w.account_id from pb.wallets w where w.id = s.wallet_id)
  for share skip locked;
  if not found then
    return 'not_connected';
  end if;
  perform set_config('pb.wallet_id', s.wallet_id::text, true);
  if (select count(*) from pb.connected_apps f where f.person_id = v_person) >= 20 or not pb.is_below_key_limit() then
    return 'too_many';
  end if;
  insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, limits_id)
  values (new_key, s.wallet_id, 'live', p_name, 'oauth', new_pepper, new_digest, array['search', 'wallet:read'], coalesce(
    pb.find_app_limits(v_person, s.wallet_id),
    pb.save_key_limits(s.wallet_id, null, 'live', jsonb_build_object('day', s.day_limit_micros))
  ));
  insert into pb.connected_apps (key_id, wallet_id, person_id, client_id)
  values (new_key, s.wallet_id, v_person, p_client);
  perform pb.record_person_change(
    v_person, null, 'app.connect', new_key::text, p_wallet => s.wallet_id,
    p_after => jsonb_build_object('name', p_name, 'budget_day', pb.usd(s.day_limit_micros))
  );
  return 'connected';
end
$$;

-- The apps of a wallet, and the settings of the signed-in person. NULL if the person is not a member.
create or replace function pb.read_apps(p_session bytea, p_wallet uuid) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.find_session(p_session);
begin
  return (
    select jsonb_build_object(
      'has_identity', exists (select from pb.identities i where i.person_id = s.person_id),
      'wallet_id', (select f.wallet_id from pb.app_settings f where f.person_id = s.person_id),
      -- Owners can change the budget through the key of any app.
      'day_micros', (
        select coalesce(
          pb.read_key_limits(pb.find_app_limits(f.person_id, f.wallet_id)) ->> 'day', f.day_limit_micros::text
        )
        from pb.app_settings f where f.person_id = s.person_id
      ),
      'apps', (
        select coalesce(jsonb_agg(jsonb_build_object(
          'key_id', c.key_id, 'client_id', c.client_id, 'email', p.email, 'you', p.id = s.person_id
        ) order by c.key_id desc), '[]')
        from pb.connected_apps c join pb.people p on p.id = c.person_id where c.wallet_id = w.id
      )
    )
    from pb.wallets w
    join pb.accounts a on a.id = w.account_id and a.deleted_at is null
    join pb.members own on own.account_id = a.id and own.person_id = s.person_id
    where w.id = p_wallet
  );
end
$$;

-- Locks the wallet and names it for pb.check_manager. Returns the session.
create or replace function pb.lock_wallet_for_session(p_session bytea, p_wallet uuid) returns pb.sessions
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[p_wallet]);
  perform set_config('pb.wallet_id', p_wallet::text, true);
  return pb.find_session(p_session);
end
$$;

-- Lets apps of the signed-in person connect and spend from this wallet, or stops new ones if day_micros is NULL. All apps, including
-- those already connected, share the daily budget.
create or replace function pb.set_app_wallet(p_session bytea, p_wallet uuid, day_micros bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.lock_wallet_for_session(p_session, p_wallet);
  refusal text := pb.check_manager(s.id, day_micros is not null);
  day_before bigint;
  limits_id uuid := pb.find_app_limits(s.person_id, p_wallet);
begin
  if refusal is not null then
    return refusal;
  end if;
  select f.day_limit_micros into day_before from pb.app_settings f
  where f.person_id = s.person_id and f.wallet_id = p_wallet;
  if day_micros is null then
    delete from pb.app_settings f where f.person_id = s.person_id and f.wallet_id = p_wallet;
    if found then
      perform pb.record_own_change(
        s.id, 'app_settings.delete', s.person_id::text, jsonb_build_object('budget_day', pb.usd(day_before))
      );
    end if;
  else
    insert into pb.app_settings as f (person_id, wallet_id, day_limit_micros)
    values (s.person_id, p_wallet, day_micros)
    on conflict (person_id) do update set wallet_id = excluded.wallet_id, day_limit_micros = excluded.day_limit_micros;
    if limits_id is not null then
      perform pb.save_key_limits(
        p_wallet, limits_id, 'live', pb.read_key_limits(limits_id) || jsonb_build_object('day', day_micros)
      );
    end if;
    perform pb.record_own_change(
      s.id, 'app_settings.change', s.person_id::text, jsonb_build_object('budget_day', pb.usd(day_before)),
      jsonb_build_object('budget_day', pb.usd(day_micros))
    );
  end if;
  return 'done';
end
$$;

-- Deletes a disconnected app, so that it can connect again.
create or replace function pb.forget_app(p_session bytea, p_wallet uuid, p_key uuid) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.lock_wallet_for_session(p_session, p_wallet);
  refusal text := pb.check_manager(s.id, true);
begin
  if refusal is not null then
    return refusal;
  elsif not exists (
    select from pb.connected_apps a join pb.keys k on k.id = a.key_id
    where a.key_id = p_key and a.wallet_id = p_wallet and k.revoked_at is not null
  ) then
    return 'not_found';
  end if;
  perform pb.delete_apps(array[p_key]);
  perform pb.record_own_change(s.id, 'app.allow', p_key::text);
  return 'done';
end
$$;
