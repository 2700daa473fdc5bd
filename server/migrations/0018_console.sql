-- Why: people sign in to a console and do there what a management key does. Whether they may is decided where it is
-- decided for keys: by the database, under the lock of what they change. So a session can be the actor of the functions
-- of own keys, and `pennyblack_people` is the role that signs people in. It calls the functions below and reads no table,
-- above all no wallet's money; each of its acts names a session by the digest of its token, which only the browser has.
--
--   a mailed token --pb.redeem_sign_in--+
--   an OpenID Connect provider ---------+--> pb.sessions --pb.enter_wallet--> a member's role in the wallet's account
--   an invitation --pb.join_account-----+
--
-- A session ends after 30 days, after 7 days of silence, and at once when its row goes: by sign-out or with its person.
-- What makes credentials or moves trust needs a sign-in younger than 15 minutes, so that a stolen session cannot.

-- The token itself is in the e-mail alone.
create table pb.sign_in_tokens (
  digest bytea primary key check (octet_length(digest) = 32),
  email text not null check (email = lower(email) and email ~ '^[^@\s]+@[^@\s]+$' and length(email) <= 254),
  -- Whether whoever is not known yet becomes a person by it.
  may_sign_up boolean not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
);

create index sign_in_tokens_by_email on pb.sign_in_tokens (email);

create table pb.sessions (
  id uuid primary key default gen_random_uuid(),
  digest bytea not null unique check (octet_length(digest) = 32),
  person_id uuid not null references pb.people on delete cascade,
  -- When they last proved who they are.
  authenticated_at timestamptz not null,
  seen_at timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default clock_timestamp()
);

create index sessions_by_person on pb.sessions (person_id);

-- Mail that waits for the worker. Its token is sealed under a key that the database does not have, and goes with the row
-- as soon as it is sent.
create table pb.letters (
  id uuid primary key,
  sign_in_digest bytea references pb.sign_in_tokens on delete cascade,
  invitation_id uuid references pb.invitations on delete cascade,
  sealed bytea not null,
  due_at timestamptz not null default clock_timestamp(),
  attempts smallint not null default 0,
  constraint a_letter_is_about_one_thing check (num_nonnulls(sign_in_digest, invitation_id) = 1)
);

create index letters_due on pb.letters (due_at);
create index letters_by_sign_in on pb.letters (sign_in_digest);
create index letters_by_invitation on pb.letters (invitation_id);

-- Who is deleted leaves no address in a link they asked for.
create function pb.forget_sign_ins() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  delete from pb.sign_in_tokens t where t.email = old.email;
  return null;
end
$$;

create trigger forget_sign_ins after delete on pb.people for each row execute function pb.forget_sign_ins();

-- A deferred trigger runs at commit, as whoever commits; the server's roles may not look at accounts.
alter function pb.keep_an_owner() security definer;

create function pb.is_live(s pb.sessions) returns boolean stable language sql
  return s.created_at > clock_timestamp() - interval '30 days' and s.seen_at > clock_timestamp() - interval '7 days';

create function pb.fresh_until(s pb.sessions) returns timestamptz stable language sql
  return s.authenticated_at + interval '15 minutes';

-- Who manages keys: a key of the wallet, or a session of someone whose role in the wallet's account lets them.

drop function pb.refuse_manager(uuid);

-- Why this actor may not manage the keys of the transaction's wallet, or null if it may. The caller holds the wallet's
-- lock. The session and the membership are held until the caller commits, so that whoever signs out or is removed makes
-- no key after the answer to that; one that is just being taken away counts as gone, because nobody may wait here for
-- anything but the wallet.
create function pb.refuse_manager(by_actor uuid, mints boolean default false) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  is_suspended boolean := (select w.suspended_at is not null from pb.wallets w where w.id = pb.own_wallet());
  k pb.keys;
  s pb.sessions;
  the_role pb.member_role;
begin
  select * into k from pb.keys f where f.id = by_actor and f.wallet_id = pb.own_wallet();
  if found then
    return case
      when k.revoked_at is not null then 'api_key_revoked'
      when k.expires_at <= clock_timestamp() then 'api_key_expired'
      when is_suspended then 'account_suspended'
      when not ('keys:write' = any (k.scopes)) then 'insufficient_scope'
    end;
  end if;
  select * into s from pb.sessions f where f.id = by_actor for key share skip locked;
  if not found then
    return 'api_key_invalid';
  elsif not pb.is_live(s) then
    return 'session_required';
  end if;
  select m.role into the_role
  from pb.members m
  where m.person_id = s.person_id
    and m.account_id = (select w.account_id from pb.wallets w where w.id = pb.own_wallet())
  for share skip locked;
  return case
    when the_role is null or the_role = 'viewer' then 'insufficient_role'
    when is_suspended then 'account_suspended'
    when mints and pb.fresh_until(s) <= clock_timestamp() then 'reauthentication_required'
  end;
end
$$;

-- A person hands on what a management key can have. pb.refuse_manager has looked at the session before.
create or replace function pb.covers_scopes(by_key uuid, wanted text[]) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(
    (
      select array_remove(wanted, 'search') <@ k.scopes
      from pb.keys k where k.id = by_key and k.wallet_id = pb.own_wallet()
    ),
    exists (select from pb.sessions s where s.id = by_key)
  );
end;

-- As before, but for the word true: these two make a key.

create or replace function pb.create_own_key(
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
  refusal := pb.refuse_manager(by_key, true);
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

create or replace function pb.rotate_own_key(
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
  refusal := pb.refuse_manager(by_key, true);
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

-- Accounts and the people in them. The admin command calls these as the owner; people get to them through a session.

-- Asked for in vain the name stays what they called themselves first.
create function pb.know_person(the_email text, the_name text) returns uuid
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.people as p (email, name) values (the_email, the_name)
  on conflict (email) do update set name = case when p.name = '' then excluded.name else p.name end
  returning id;
end;

-- An account with a wallet and its owner, and a trial credit if there is one left for that address. No keys.
create function pb.sign_up(
  the_email text, the_person_name text, the_account_name text, the_wallet uuid,
  trial_address bytea, trial_micros bigint, trials_a_day integer, trial_transfer uuid
) returns table (account_id uuid, trial text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into pb.accounts (name) values (the_account_name) returning id into account_id;
  insert into pb.wallets (id, name, account_id) values (the_wallet, the_account_name, account_id);
  insert into pb.members values (account_id, pb.know_person(the_email, the_person_name), 'owner');
  trial := 'none';
  if trial_micros > 0 then
    trial := pb.take_trial(account_id, trial_address, trial_micros, trials_a_day);
  end if;
  if trial = 'given' then
    perform pb.top_up(
      array['trial-' || account_id], array[the_wallet], array[trial_micros], array[trial_transfer], 'credit');
  end if;
  return next;
end
$$;

-- Invites an address, in place of an open invitation to it. Null if there is no such account.
create function pb.invite(
  the_account uuid, the_email text, the_role pb.member_role, the_token bytea,
  out id uuid, out expires_at timestamptz
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from pb.accounts a where a.id = the_account and a.deleted_at is null for no key update;
  if found then
    delete from pb.invitations i where i.account_id = the_account and i.email = the_email and i.accepted_at is null;
    insert into pb.invitations as i (account_id, email, role, digest, expires_at)
    values (the_account, the_email, the_role, the_token, clock_timestamp() + interval '7 days')
    returning i.id, i.expires_at into invite.id, invite.expires_at;
  end if;
end
$$;

-- Makes the invited address a member, once. Someone who is a member already keeps the role they have. Nothing if the
-- token is unknown, was used or is too old.
create function pb.accept_invitation(the_token bytea, the_name text)
returns table (account_id uuid, person_id uuid, role pb.member_role)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  i pb.invitations;
begin
  -- The account first, as everyone does: the deletion of an account takes its invitations after it.
  perform from pb.accounts a
  where a.id = (select f.account_id from pb.invitations f where f.digest = the_token) for no key update;
  update pb.invitations f set accepted_at = clock_timestamp()
  where f.digest = the_token and f.accepted_at is null and f.expires_at > clock_timestamp()
  returning f.* into i;
  if found then
    return query
    insert into pb.members as m (account_id, person_id, role)
    values (i.account_id, pb.know_person(i.email, the_name), i.role)
    on conflict on constraint members_pkey do update set role = m.role
    returning m.account_id, m.person_id, m.role;
  end if;
end
$$;

-- Without a role: takes the member out. Fails at commit where no owner would remain.
create function pb.change_member(the_account uuid, the_person uuid, new_role pb.member_role) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if new_role is null then
    delete from pb.members m where m.account_id = the_account and m.person_id = the_person;
  else
    update pb.members m set role = new_role where m.account_id = the_account and m.person_id = the_person;
  end if;
  return case when found then 'done' else 'not_found' end;
end
$$;

-- Signing in and out.

-- A token and the letter that carries it. It is the same work whoever asks: the worker looks whether they are known.
create function pb.ask_sign_in(
  the_email text, the_token bytea, is_sign_up_open boolean, the_letter uuid, the_seal bytea
) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.sign_in_tokens (digest, email, may_sign_up, expires_at)
  values (the_token, the_email, is_sign_up_open, clock_timestamp() + interval '15 minutes');
  insert into pb.letters (id, sign_in_digest, sealed) values (the_letter, the_token, the_seal);
end;

-- In place of the session that the browser had. Null if nobody is known by that address and none may be added.
create function pb.begin_session(
  the_email text, is_sign_up_open boolean, new_session bytea, old_session bytea, proved_at timestamptz
) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  the_person uuid := (select p.id from pb.people p where p.email = the_email);
begin
  if the_person is null and is_sign_up_open then
    the_person := pb.know_person(the_email, '');
  end if;
  if the_person is not null then
    delete from pb.sessions s where s.digest = old_session;
    insert into pb.sessions (digest, person_id, authenticated_at)
    values (new_session, the_person, least(proved_at, clock_timestamp()));
  end if;
  return the_person;
end
$$;

-- Once, and in time. False for every other token; we do not say which.
create function pb.redeem_sign_in(the_token bytea, new_session bytea, old_session bytea) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  t pb.sign_in_tokens;
begin
  update pb.sign_in_tokens f set used_at = clock_timestamp()
  where f.digest = the_token and f.used_at is null and f.expires_at > clock_timestamp()
  returning f.* into t;
  return found and pb.begin_session(t.email, t.may_sign_up, new_session, old_session, clock_timestamp()) is not null;
end
$$;

-- Whoever has an invitation reads mail at its address, which is all that a mailed token proves either.
create function pb.join_account(the_token bytea, the_name text, new_session bytea, old_session bytea) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  the_person uuid := (select a.person_id from pb.accept_invitation(the_token, the_name) a);
  the_email text := (select p.email from pb.people p where p.id = the_person);
begin
  return the_email is not null
    and pb.begin_session(the_email, false, new_session, old_session, clock_timestamp()) is not null;
end
$$;

create function pb.end_session(the_session bytea) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  delete from pb.sessions s where s.digest = the_session;
end;

create function pb.end_all_sessions(the_session bytea) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  delete from pb.sessions s
  where s.person_id = (select o.person_id from pb.sessions o where o.digest = the_session and pb.is_live(o));
end;

-- The session of a token if it lives, and a note that it was seen. Never waits for another request's note.
create function pb.find_session(the_session bytea) returns pb.sessions
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions;
begin
  select * into s from pb.sessions f where f.digest = the_session and pb.is_live(f);
  if s.seen_at < clock_timestamp() - interval '1 minute' then
    update pb.sessions f set seen_at = clock_timestamp()
    where f.id in (select o.id from pb.sessions o where o.id = s.id for no key update skip locked);
  end if;
  return s;
end
$$;

-- Who it is and which wallets are theirs, or null.
create function pb.show_session(the_session bytea) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.find_session(the_session);
begin
  return (
    select jsonb_build_object(
      'person', jsonb_build_object('id', p.id, 'email', p.email, 'name', p.name),
      'fresh_until', case when pb.fresh_until(s) > clock_timestamp() then pb.fresh_until(s) end,
      'wallets', (
        select coalesce(jsonb_agg(jsonb_build_object(
          'id', w.id, 'name', w.name, 'account_id', a.id, 'account_name', a.name, 'role', m.role,
          'suspended', w.suspended_at is not null
        ) order by m.joined_at, w.id), '[]')
        from pb.members m
        join pb.accounts a on a.id = m.account_id and a.deleted_at is null
        join pb.wallets w on w.account_id = a.id
        where m.person_id = p.id
      )
    )
    from pb.people p where p.id = s.person_id
  );
end
$$;

-- No row: nobody is signed in. A row without a role: they are no member of the wallet's account, if it exists.
create function pb.enter_wallet(the_session bytea, the_wallet uuid)
returns table (session_id uuid, person_id uuid, role pb.member_role, is_suspended boolean, is_fresh boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.find_session(the_session);
begin
  if s.id is not null then
    return query
    select s.id, s.person_id, m.role, w.suspended_at is not null, pb.fresh_until(s) > clock_timestamp()
    from (values (the_wallet)) as wanted (id)
    left join pb.wallets w on w.id = wanted.id
    left join pb.accounts a on a.id = w.account_id and a.deleted_at is null
    left join pb.members m on m.account_id = a.id and m.person_id = s.person_id;
  end if;
end
$$;

-- An account of their own for whoever is signed in. The owner of ten has enough.
create function pb.open_own_account(
  the_session bytea, the_person_name text, the_account_name text, the_wallet uuid,
  trial_address bytea, trial_micros bigint, trials_a_day integer, trial_transfer uuid
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.find_session(the_session);
  the_email text;
begin
  select p.email into the_email from pb.people p where p.id = s.person_id for no key update;
  if not found then
    return 'session_required';
  elsif (select count(*) from pb.members m where m.person_id = s.person_id and m.role = 'owner') >= 10 then
    return 'too_many';
  end if;
  perform pb.sign_up(the_email, the_person_name, the_account_name, the_wallet, trial_address, trial_micros,
    trials_a_day, trial_transfer);
  return 'done';
end
$$;

-- The team of a wallet's account.

-- Why this session may not change the team, and whose team it is. The account stays locked, and the session and the
-- role are held, until the caller commits.
create function pb.refuse_team_change(
  the_session bytea, the_wallet uuid, moves_trust boolean, out refusal text, out the_account uuid
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions;
  the_role pb.member_role;
begin
  select a.id into the_account
  from pb.wallets w join pb.accounts a on a.id = w.account_id
  where w.id = the_wallet and a.deleted_at is null for no key update of a;
  select * into s from pb.sessions f where f.digest = the_session for key share;
  select m.role into the_role
  from pb.members m where m.account_id = the_account and m.person_id = s.person_id for share;
  refusal := case
    when s.id is null or not pb.is_live(s) then 'session_required'
    when the_role is null then 'not_found'
    when the_role <> 'owner' then 'insufficient_role'
    when moves_trust and pb.fresh_until(s) <= clock_timestamp() then 'reauthentication_required'
  end;
end
$$;

-- Null to whoever is no member.
create function pb.show_team(the_session bytea, the_wallet uuid) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.find_session(the_session);
begin
  return (
    select jsonb_build_object(
      'members', (
        select jsonb_agg(jsonb_build_object(
          'person_id', p.id, 'email', p.email, 'name', p.name, 'role', m.role, 'joined_at', m.joined_at,
          'you', p.id = s.person_id
        ) order by m.role, m.joined_at)
        from pb.members m join pb.people p on p.id = m.person_id where m.account_id = a.id
      ),
      'invitations', (
        select coalesce(jsonb_agg(jsonb_build_object(
          'id', i.id, 'email', i.email, 'role', i.role, 'expires_at', i.expires_at
        ) order by i.created_at), '[]')
        from pb.invitations i
        where i.account_id = a.id and i.accepted_at is null and i.expires_at > clock_timestamp()
      )
    )
    from pb.wallets w
    join pb.accounts a on a.id = w.account_id and a.deleted_at is null
    join pb.members own on own.account_id = a.id and own.person_id = s.person_id
    where w.id = the_wallet
  );
end
$$;

create function pb.invite_to_team(
  the_session bytea, the_wallet uuid, the_email text, the_role pb.member_role, the_token bytea, the_letter uuid,
  the_seal bytea
) returns table (outcome text, id uuid, expires_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  the_account uuid;
begin
  select r.refusal, r.the_account into outcome, the_account from pb.refuse_team_change(the_session, the_wallet, true) r;
  if outcome is null and (
    select count(*) from pb.invitations i
    where i.account_id = the_account and i.accepted_at is null and i.expires_at > clock_timestamp()
  ) >= 100 then
    outcome := 'too_many';
  end if;
  if outcome is null then
    outcome := 'done';
    select i.id, i.expires_at into id, expires_at from pb.invite(the_account, the_email, the_role, the_token) i;
    insert into pb.letters (id, invitation_id, sealed) values (the_letter, id, the_seal);
  end if;
  return next;
end
$$;

create function pb.take_back_invitation(the_session bytea, the_wallet uuid, the_invitation uuid) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  r record := pb.refuse_team_change(the_session, the_wallet, false);
begin
  if r.refusal is not null then
    return r.refusal;
  end if;
  delete from pb.invitations i
  where i.id = the_invitation and i.account_id = r.the_account and i.accepted_at is null;
  return case when found then 'done' else 'not_found' end;
end
$$;

create function pb.change_team(the_session bytea, the_wallet uuid, the_person uuid, new_role pb.member_role) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  r record := pb.refuse_team_change(the_session, the_wallet, true);
begin
  return coalesce(r.refusal, pb.change_member(r.the_account, the_person, new_role));
end
$$;

-- Mail for the worker, which runs as the owner. What nobody waits for goes unsent: a link that has run out, and one that
-- was asked for an address that nobody is known by. As in pb.claim_mail, a claim is a lease.
create function pb.claim_letters(most integer)
returns table (
  id uuid, email text, sealed bytea, expires_at timestamptz, account_name text, role pb.member_role, attempt smallint
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  delete from pb.letters l using pb.sign_in_tokens t
  where t.digest = l.sign_in_digest and l.due_at <= clock_timestamp() and (
    t.expires_at <= clock_timestamp() or t.used_at is not null
    or not (t.may_sign_up or exists (select from pb.people p where p.email = t.email))
  );
  delete from pb.letters l using pb.invitations i
  where i.id = l.invitation_id and l.due_at <= clock_timestamp()
    and (i.expires_at <= clock_timestamp() or i.accepted_at is not null);
  return query
  with due as (
    select l.id from pb.letters l where l.due_at <= clock_timestamp()
    order by l.due_at limit most for update skip locked
  ), claimed as (
    update pb.letters l
    set attempts = l.attempts + 1,
      due_at = clock_timestamp() + (array[1, 2, 4, 15, 60])[least(l.attempts + 1, 5)] * interval '1 minute'
    from due where l.id = due.id
    returning l.*
  )
  select c.id, coalesce(t.email, i.email), c.sealed, coalesce(t.expires_at, i.expires_at), a.name, i.role, c.attempts
  from claimed c
  left join pb.sign_in_tokens t on t.digest = c.sign_in_digest
  left join pb.invitations i on i.id = c.invitation_id
  left join pb.accounts a on a.id = i.account_id;
end
$$;

revoke all on all functions in schema pb from public;

grant usage on schema pb to pennyblack_people;
grant execute on function
  pb.ask_sign_in, pb.redeem_sign_in, pb.begin_session, pb.join_account, pb.end_session, pb.end_all_sessions,
  pb.show_session, pb.enter_wallet, pb.open_own_account, pb.show_team, pb.invite_to_team, pb.take_back_invitation,
  pb.change_team
  to pennyblack_people;
