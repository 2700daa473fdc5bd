-- Accounts, members, invitations and trial credits. The admin command calls these functions as the owner; the console
-- calls them through pb.sessions (console.sql).

-- Ensures that an account keeps at least one owner. The check runs at commit, so that two people can swap roles in one transaction.
-- SECURITY DEFINER, because a deferred trigger runs as the committing role, which may not read accounts.
create or replace function pb.require_owner() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  -- If two owners leave at the same time, the second waits here and then sees that the first has left.
  perform from pb.accounts a where a.id = old.account_id and a.deleted_at is null for no key update;
  if found and not exists (select from pb.members m where m.account_id = old.account_id and m.role = 'owner') then
    raise exception using errcode = 'check_violation', constraint = 'account_has_owner',
      message = 'an account must have at least one owner';
  end if;
  return null;
end
$$;

-- Decides about a trial credit. The caller books the credit in the same transaction. p_address is the HMAC of the address
-- under the data key of the installation.
create or replace function pb.take_trial(p_account uuid, p_address bytea) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  terms pb.trial_terms;
begin
  select * into strict terms from pb.trial_terms;
  if p_address is null or terms.amount_micros = 0 then
    return 'none';
  elsif terms.max_per_day = 0 then
    return 'day_is_full';
  end if;
  insert into pb.trials (account_id, address_hmac, amount_micros)
  values (p_account, p_address, terms.amount_micros) on conflict do nothing;
  if not found then
    return 'already_given';
  end if;
  insert into pb.trial_days as d (day, given) values (pb.utc_day(clock_timestamp()), 1)
  on conflict (day) do update set given = d.given + 1 where d.given < terms.max_per_day;
  if not found then
    delete from pb.trials t where t.account_id = p_account;
    return 'day_is_full';
  end if;
  return 'given';
end
$$;

-- Returns the person with this address, creating them if needed. The first non-empty name is kept.
create or replace function pb.find_or_create_person(p_email text, p_name text) returns uuid
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.people as p (email, name) values (p_email, p_name)
  on conflict (email) do update set name = case when p.name = '' then excluded.name else p.name end
  returning id;
end;

-- Creates an account with a wallet and its owner, and a trial credit if one is available for the address. Without an
-- address there is no trial credit.
create or replace function pb.sign_up(
  p_email text, p_person_name text, p_account_name text, p_wallet uuid,
  trial_address bytea, trial_transfer uuid
) returns table (account_id uuid, trial text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into pb.accounts (name) values (p_account_name) returning id into account_id;
  insert into pb.wallets (id, name, account_id) values (p_wallet, p_account_name, account_id);
  insert into pb.members values (account_id, pb.find_or_create_person(p_email, p_person_name), 'owner');
  trial := pb.take_trial(account_id, trial_address);
  if trial = 'given' then
    perform pb.top_up(
      array['trial-' || account_id], array[p_wallet],
      array(select t.amount_micros from pb.trials t where t.account_id = sign_up.account_id),
      array[trial_transfer], 'credit');
  end if;
  return next;
end
$$;

-- Invites an address, replacing an open invitation. Returns NULL if there is no such account.
create or replace function pb.invite(
  p_account uuid, p_email text, p_role pb.member_role, p_token bytea,
  out id uuid, out expires_at timestamptz
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from pb.accounts a where a.id = p_account and a.deleted_at is null for no key update;
  if found then
    delete from pb.invitations i where i.account_id = p_account and i.email = p_email and i.accepted_at is null;
    insert into pb.invitations as i (account_id, email, role, digest, expires_at)
    values (p_account, p_email, p_role, p_token, clock_timestamp() + interval '7 days')
    returning i.id, i.expires_at into invite.id, invite.expires_at;
  end if;
end
$$;

-- Makes the invited address a member, once. An existing member keeps their role. Returns no row if the token is
-- unknown, used or expired. The account is locked first, as in pb.delete_account, which deletes invitations.
create or replace function pb.accept_invitation(p_token bytea, p_name text)
returns table (account_id uuid, person_id uuid, role pb.member_role)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  i pb.invitations;
begin
  perform from pb.accounts a
  where a.id = (select f.account_id from pb.invitations f where f.digest = p_token) for no key update;
  update pb.invitations f set accepted_at = clock_timestamp()
  where f.digest = p_token and f.accepted_at is null and f.expires_at > clock_timestamp()
  returning f.* into i;
  if not found then
    return;
  end if;
  account_id := i.account_id;
  person_id := pb.find_or_create_person(i.email, p_name);
  insert into pb.members as m (account_id, person_id, role) values (i.account_id, accept_invitation.person_id, i.role)
  on conflict on constraint members_pkey do nothing;
  if found then
    perform pb.record_person_change(
      person_id, account_id, 'member.join', person_id::text,
      p_after => jsonb_build_object('role', i.role, 'invitation', i.id)
    );
  end if;
  select m.role into role from pb.members m
  where m.account_id = i.account_id and m.person_id = accept_invitation.person_id;
  return next;
end
$$;

-- Changes a member's role, or removes the member if new_role is NULL. Fails at commit if no owner would remain.
create or replace function pb.change_member(p_account uuid, p_person uuid, new_role pb.member_role) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from pb.accounts a where a.id = p_account for no key update;
  if new_role is null then
    delete from pb.members m where m.account_id = p_account and m.person_id = p_person;
  else
    update pb.members m set role = new_role where m.account_id = p_account and m.person_id = p_person;
  end if;
  return case when found then 'done' else 'not_found' end;
end
$$;

-- Deletes an account without a balance. Revokes its keys, suspends its wallets, and removes personal data and all values that depend
-- on the data keys of its wallets. Ledger rows stay. One statement, so that no lock waits for a client.
create or replace function pb.delete_account(p_account uuid)
returns table (outcome text, balance_micros bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  own_wallets uuid[];
  former_members uuid[];
begin
  perform from pb.accounts a where a.id = p_account and a.deleted_at is null for no key update;
  if not found then
    return query select 'not_found', 0::bigint;
    return;
  end if;
  -- A count of end users in progress would add rows after they were deleted.
  perform from pb.usage_watermark for share;
  own_wallets := array(select w.id from pb.wallets w where w.account_id = p_account);
  perform pb.lock_wallets(own_wallets);
  select coalesce(sum(w.credited_micros - w.debited_micros), 0)::bigint into balance_micros
  from pb.wallets w where w.id = any (own_wallets);
  if balance_micros > 0 then
    outcome := 'money_left';
    return next;
    return;
  end if;
  -- Webhook receivers and saved cards are personal data.
  delete from pb.webhook_endpoints e where e.wallet_id = any (own_wallets);
  delete from pb.auto_top_ups t where t.wallet_id = any (own_wallets);
  delete from pb.payment_customers c where c.wallet_id = any (own_wallets);
  -- Without the data key, the hashes of end users that remain in searches cannot be computed again.
  delete from pb.data_keys d where d.wallet_id = any (own_wallets);
  delete from pb.idempotency c where c.wallet_id = any (own_wallets);
  delete from pb.end_user_settings e where e.wallet_id = any (own_wallets);
  delete from pb.usage_end_users u where u.wallet_id = any (own_wallets);
  delete from pb.budget_requests r where r.wallet_id = any (own_wallets);
  delete from pb.budget_windows b using pb.budgets g
  where b.wallet_id = any (own_wallets) and g.id = b.budget_id and g.per_end_user;
  -- Callers can put personal data into their ids.
  update pb.budgets b set name = '', external_id = null where b.wallet_id = any (own_wallets) and b.name is not null;
  update pb.wallets w
  set suspended_at = clock_timestamp(), name = '', alert_email = null, low_balance_micros = null
  where w.id = any (own_wallets);
  update pb.keys k set name = '', external_id = null, allowed_ips = null,
    revoked_at = coalesce(k.revoked_at, clock_timestamp()),
    revoked_reason = case when k.revoked_at is null then 'account_deleted' else k.revoked_reason end
  where k.wallet_id = any (own_wallets);
  -- Events contain key names, and the URLs lead to receipts with a person's name.
  delete from pb.events e where e.wallet_id = any (own_wallets);
  update pb.top_ups t set checkout_url = null, receipt_url = null where t.wallet_id = any (own_wallets);
  -- pb.entry_time() is not before the time of any payment that is already booked.
  update pb.accounts a set deleted_at = pb.entry_time(), name = '' where a.id = p_account;
  update pb.changes c set before = null, after = null, salt = null where c.account_id = p_account and c.salt is not null;
  delete from pb.invitations i where i.account_id = p_account;
  with gone as (delete from pb.members m where m.account_id = p_account returning m.person_id)
  select array_agg(g.person_id) into former_members from gone g;
  -- Members of other accounts stay.
  delete from pb.people p
  where p.id = any (former_members) and not exists (select from pb.members m where m.person_id = p.id);
  outcome := 'deleted';
  return next;
end
$$;
