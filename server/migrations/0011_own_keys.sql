-- Why: owners manage their keys through the API. Each act is one function under the wallet's lock, so that it is ordered
-- with the wallet's holds: after a revocation or a lowered budget has committed, no later hold succeeds against it.
-- The lock also makes the acting key's own state final: a server remembers a key for a second, and a management key
-- that was revoked must not make another in that second.

alter table pb.keys
  add column last_used_at timestamptz,
  -- The key that this one took the place of.
  add column rotated_from uuid constraint rotated_once unique,
  add column revoked_reason text
    constraint known_reasons check (revoked_reason in ('owner', 'operator', 'leaked', 'account_deleted')),
  add constraint reasons_need_a_revocation check (revoked_reason is null or revoked_at is not null),
  add constraint keys_of_a_wallet unique (wallet_id, id),
  add constraint rotated_within_the_wallet
    foreign key (wallet_id, rotated_from) references pb.keys (wallet_id, id),
  -- Room on the page keeps the note of a key's last use a HOT update.
  set (fillfactor = 70);

drop index pb.keys_by_wallet;

-- The same as before, with a reason.
drop function pb.revoke_key(uuid, uuid);
create function pb.revoke_key(the_wallet uuid, the_key uuid, reason text default 'operator') returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[the_wallet]);
  update pb.keys k set revoked_at = clock_timestamp(), revoked_reason = reason
  where k.id = the_key and k.wallet_id = the_wallet and k.revoked_at is null;
  return found;
end
$$;

-- Notes that keys were used, about now. Never waits: a row that someone else has locked is noted the next time.
create function pb.note_key_uses(key_ids uuid[]) returns void
language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  update pb.keys k set last_used_at = clock_timestamp()
  where k.id in (
    select f.id from pb.keys f
    where f.id = any (key_ids) and (f.last_used_at is null or f.last_used_at < clock_timestamp() - interval '20 seconds')
    for no key update skip locked
  );
end;

-- Why this key of the transaction's wallet may not manage keys, or null if it may. The caller holds the wallet's lock.
create function pb.refuse_manager(by_key uuid) returns text
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select case
    when k.id is null then 'api_key_invalid'
    when k.revoked_at is not null then 'api_key_revoked'
    when k.expires_at <= clock_timestamp() then 'api_key_expired'
    when w.suspended_at is not null then 'account_suspended'
    when not ('keys:write' = any (k.scopes)) then 'insufficient_scope'
  end
  from (values (by_key)) as b (id)
  left join pb.keys k on k.id = b.id and k.wallet_id = pb.own_wallet()
  left join pb.wallets w on w.id = k.wallet_id;
end;

-- What a key may hand on: the scopes it has itself. To search is what every management key may let others do.
create function pb.covers_scopes(by_key uuid, wanted text[]) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select array_remove(wanted, 'search') <@ k.scopes
  from pb.keys k where k.id = by_key and k.wallet_id = pb.own_wallet();
end;

-- A wallet has at most 1,000 keys that work, and gets at most 1,000 new ones in a day. It is asked under the wallet's
-- lock, for which other tenants' searches may wait, so it looks at the newest 2,000 keys that are not revoked at most,
-- however many there have been.
create index keys_not_revoked on pb.keys (wallet_id, id desc) where revoked_at is null;

create function pb.has_room_for_a_key() returns boolean
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
    ) made_today
  );
end;

-- wanted: name, scopes, allowed_ips, expires_at, searches_per_second, searches_in_flight, and budget with total, day
-- and month in micros. The server has checked their shape.
create function pb.create_own_key(
  by_key uuid, new_id uuid, new_mode pb.key_mode, new_start text, new_pepper smallint, new_digest bytea,
  wanted jsonb
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
  new_budget uuid;
  w record;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  refusal := pb.refuse_manager(by_key);
  if refusal is not null then
    return refusal;
  end if;
  select * into w from jsonb_to_record(wanted) as r (
    name text, scopes text[], allowed_ips text[], expires_at timestamptz,
    searches_per_second integer, searches_in_flight integer, budget jsonb
  );
  if not pb.covers_scopes(by_key, w.scopes) then
    return 'insufficient_scope';
  elsif not pb.has_room_for_a_key() then
    return 'key_limit_reached';
  end if;
  if jsonb_typeof(w.budget) = 'object' and jsonb_strip_nulls(w.budget) <> '{}' then
    new_budget := gen_random_uuid();
    insert into pb.key_budgets (id, wallet_id, total_limit_micros, day_limit_micros, month_limit_micros)
    values (new_budget, pb.own_wallet(), (w.budget ->> 'total')::bigint, (w.budget ->> 'day')::bigint,
      (w.budget ->> 'month')::bigint);
  end if;
  insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, allowed_ips, expires_at,
    searches_per_second, searches_in_flight, budget_id)
  values (new_id, pb.own_wallet(), new_mode, w.name, new_start, new_pepper, new_digest, w.scopes,
    w.allowed_ips::cidr[], w.expires_at, w.searches_per_second, w.searches_in_flight, new_budget);
  return 'done';
end
$$;

-- changes: as in create_own_key, but without scopes; what is not named stays. A budget is merged limit by limit, and
-- one without a limit left is taken off every key that shares it, so that their searches are plain again.
create function pb.change_own_key(by_key uuid, the_key uuid, changes jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
  k pb.keys;
  limits jsonb;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  refusal := pb.refuse_manager(by_key);
  if refusal is not null then
    return refusal;
  end if;
  select * into k from pb.keys f where f.id = the_key and f.wallet_id = pb.own_wallet();
  if not found then
    return 'not_found';
  elsif k.revoked_at is not null then
    return 'key_not_active';
  -- What was rotated away ends when it was said to end: it may be the very key that leaked.
  elsif changes ? 'expires_at' and exists (select from pb.keys n where n.rotated_from = the_key) then
    return 'key_not_active';
  elsif k.mode <> 'live' and jsonb_typeof(changes -> 'budget') = 'object' then
    return 'budget_without_spending';
  end if;

  if changes ? 'budget' then
    select jsonb_strip_nulls(jsonb_build_object(
      'total', b.total_limit_micros, 'day', b.day_limit_micros, 'month', b.month_limit_micros))
    into limits from pb.key_budgets b where b.id = k.budget_id and b.wallet_id = k.wallet_id;
    limits := case jsonb_typeof(changes -> 'budget')
      when 'object' then jsonb_strip_nulls(coalesce(limits, '{}') || (changes -> 'budget')) else '{}' end;
    if limits = '{}' then
      update pb.keys f set budget_id = null where f.wallet_id = k.wallet_id and f.budget_id = k.budget_id;
      k.budget_id := null;
    elsif k.budget_id is null then
      k.budget_id := gen_random_uuid();
      insert into pb.key_budgets (id, wallet_id, total_limit_micros, day_limit_micros, month_limit_micros)
      values (k.budget_id, k.wallet_id, (limits ->> 'total')::bigint, (limits ->> 'day')::bigint,
        (limits ->> 'month')::bigint);
    else
      update pb.key_budgets b set total_limit_micros = (limits ->> 'total')::bigint,
        day_limit_micros = (limits ->> 'day')::bigint, month_limit_micros = (limits ->> 'month')::bigint
      where b.id = k.budget_id and b.wallet_id = k.wallet_id;
    end if;
  end if;

  -- What is not named is filled in from the row itself.
  k := jsonb_populate_record(k, changes - 'budget');
  update pb.keys f set name = k.name, allowed_ips = k.allowed_ips, expires_at = k.expires_at,
    searches_per_second = k.searches_per_second, searches_in_flight = k.searches_in_flight, budget_id = k.budget_id
  where f.id = the_key and f.wallet_id = pb.own_wallet();
  return 'done';
end
$$;

-- The new key is the old one in everything but its secret. The old one lives on for the grace and then is expired.
create function pb.rotate_own_key(
  by_key uuid, old_id uuid, new_id uuid, new_start text, new_pepper smallint, new_digest bytea,
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
  refusal := pb.refuse_manager(by_key);
  if refusal is not null then
    return refusal;
  end if;
  select * into k from pb.keys f where f.id = old_id and f.wallet_id = pb.own_wallet();
  if not found then
    return 'not_found';
  elsif k.revoked_at is not null or k.expires_at <= now_at
    or exists (select from pb.keys f where f.rotated_from = old_id) then
    return 'key_not_active';
  -- Whoever holds the new secret has all its scopes.
  elsif not pb.covers_scopes(by_key, k.scopes) then
    return 'insufficient_scope';
  -- With a grace there are two of them for a while.
  elsif grace_seconds > 0 and not pb.has_room_for_a_key() then
    return 'key_limit_reached';
  end if;
  insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, allowed_ips, expires_at,
    searches_per_second, searches_in_flight, budget_id, rotated_from)
  values (new_id, k.wallet_id, k.mode, k.name, new_start, new_pepper, new_digest, k.scopes, k.allowed_ips,
    k.expires_at, k.searches_per_second, k.searches_in_flight, k.budget_id, old_id);
  update pb.keys f
  set expires_at = least(coalesce(f.expires_at, 'infinity'), now_at + make_interval(secs => grace_seconds))
  where f.id = old_id and f.wallet_id = k.wallet_id;
  return 'done';
end
$$;

-- A key that is revoked stays as it is: revoking may be repeated.
create function pb.revoke_own_key(by_key uuid, the_key uuid) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  refusal text;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  refusal := pb.refuse_manager(by_key);
  if refusal is not null then
    return refusal;
  elsif not exists (select from pb.keys k where k.id = the_key and k.wallet_id = pb.own_wallet()) then
    return 'not_found';
  end if;
  perform pb.revoke_key(pb.own_wallet(), the_key, 'owner');
  return 'done';
end
$$;

grant execute on function pb.note_key_uses to pennyblack_ledger;
grant execute on function
  pb.create_own_key, pb.change_own_key, pb.rotate_own_key, pb.revoke_own_key, pb.utc_day, pb.utc_month
  to pennyblack_tenant;

-- All but the digest.
grant select (id, wallet_id, mode, name, start, scopes, allowed_ips, searches_per_second, searches_in_flight, budget_id,
  expires_at, revoked_at, revoked_reason, rotated_from, last_used_at, created_at)
  on pb.keys to pennyblack_tenant;
grant select (id, wallet_id, total_limit_micros, day_limit_micros, month_limit_micros, total_spent_micros, day,
  day_spent_micros, month, month_spent_micros)
  on pb.key_budgets to pennyblack_tenant;

alter table pb.keys enable row level security;
alter table pb.key_budgets enable row level security;
create policy own_keys on pb.keys for select to pennyblack_tenant using (wallet_id = pb.own_wallet());
create policy own_key_budgets on pb.key_budgets for select to pennyblack_tenant using (wallet_id = pb.own_wallet());

-- Ends an account: its keys are revoked, its wallets suspended, and what is personal is gone. The books stay, and so does
-- what a wallet still holds, as the record of what was forfeited. One statement, so that no lock waits for a client.
create function pb.delete_account(the_account uuid, may_forfeit boolean)
returns table (outcome text, balance_micros bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  own_wallets uuid[];
  had_people uuid[];
begin
  perform from pb.accounts a where a.id = the_account and a.deleted_at is null for no key update;
  if not found then
    return query select 'not_found', 0::bigint;
    return;
  end if;
  own_wallets := array(select w.id from pb.wallets w where w.account_id = the_account);
  perform pb.lock_wallets(own_wallets);
  select coalesce(sum(w.credited_micros - w.debited_micros), 0)::bigint into balance_micros
  from pb.wallets w where w.id = any (own_wallets);
  if balance_micros > 0 and not may_forfeit then
    outcome := 'money_left';
    return next;
    return;
  end if;
  -- Who was told of events and how a card is found is personal too. The tables come with later migrations.
  delete from pb.webhook_endpoints e where e.wallet_id = any (own_wallets);
  delete from pb.auto_top_ups t where t.wallet_id = any (own_wallets);
  delete from pb.payment_customers c where c.wallet_id = any (own_wallets);
  update pb.wallets w
  set suspended_at = clock_timestamp(), name = '', alert_email = null, low_balance_micros = null
  where w.id = any (own_wallets);
  update pb.keys k set name = '', allowed_ips = null,
    revoked_at = coalesce(k.revoked_at, clock_timestamp()),
    revoked_reason = case when k.revoked_at is null then 'account_deleted' else k.revoked_reason end
  where k.wallet_id = any (own_wallets);
  -- The events name keys; the links lead to a receipt with a name on it.
  delete from pb.events e where e.wallet_id = any (own_wallets);
  update pb.top_ups t set checkout_url = null, receipt_url = null where t.wallet_id = any (own_wallets);
  update pb.accounts a set deleted_at = clock_timestamp(), name = '' where a.id = the_account;
  delete from pb.invitations i where i.account_id = the_account;
  with gone as (delete from pb.members m where m.account_id = the_account returning m.person_id)
  select array_agg(g.person_id) into had_people from gone g;
  -- Whoever is a member elsewhere stays.
  delete from pb.people p
  where p.id = any (had_people) and not exists (select from pb.members m where m.person_id = p.id);
  outcome := 'deleted';
  return next;
end
$$;
