-- Sign-in and team management for the console. pennyblack_people can call these functions and read no table; each call
-- identifies a session by the digest of its token, which only the browser has.
--
--   sign-in link --pb.redeem_sign_in---+
--   OpenID Connect provider -----------+--> pb.sessions --pb.authorize_session--> the member's role in the account
--   emailed invitation --join_account--+
--
-- A session ends after 30 days, after 7 days without a request, and when its row is deleted (sign-out, deleted person).
-- Creating credentials or changing the team requires a sign-in within the last 15 minutes, so that a stolen session is
-- not enough.

create or replace function pb.is_live(s pb.sessions) returns boolean stable language sql
  return s.created_at > clock_timestamp() - interval '30 days' and s.seen_at > clock_timestamp() - interval '7 days';

create or replace function pb.fresh_until(s pb.sessions) returns timestamptz stable language sql
  return s.authenticated_at + interval '15 minutes';

-- Deletes the sign-in tokens of a deleted person, which contain the address.
create or replace function pb.delete_sign_in_tokens() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  delete from pb.sign_in_tokens t where t.email = old.email;
  return null;
end
$$;

-- Creates a token and queues its e-mail. Known and unknown addresses take the same path, and the worker checks the address. While
-- the limit of the mailbox is exceeded, only people get e-mail, so requests for other addresses of their mailbox cannot lock them
-- out. The token of any other address has already expired, and the worker drops its e-mail.
create or replace function pb.request_sign_in(
  p_email text, p_token bytea, is_sign_up_open boolean, p_email_id uuid, p_sealed bytea,
  is_mailbox_full boolean default false
) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.sign_in_tokens (digest, email, may_sign_up, expires_at)
  values (
    p_token, p_email, is_sign_up_open,
    clock_timestamp() + case
      when is_mailbox_full and not exists (select from pb.people p where p.email = p_email) then interval '0'
      else interval '15 minutes'
    end
  );
  insert into pb.pending_emails (id, sign_in_digest, sealed) values (p_email_id, p_token, p_sealed);
end;

-- Whether the address has an open invitation. It can then sign in for the first time while sign-up is closed.
create or replace function pb.is_invited(p_email text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select exists (
    select from pb.invitations i
    where i.email = p_email and i.accepted_at is null and i.expires_at > clock_timestamp()
  );
end;

-- A token for a link that an operator hands to a known or invited person, valid for up to a day. False if the address is
-- unknown.
create or replace function pb.create_sign_in_token(
  p_operator text, p_reason text, p_email text, p_token bytea, ttl_minutes integer
) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_subject uuid := coalesce(
    (select p.id from pb.people p where p.email = p_email),
    (
      select i.id from pb.invitations i
      where i.email = p_email and i.accepted_at is null and i.expires_at > clock_timestamp() limit 1
    )
  );
begin
  if v_subject is null then
    return false;
  end if;
  insert into pb.sign_in_tokens (digest, email, may_sign_up, expires_at)
  values (p_token, p_email, false, clock_timestamp() + make_interval(mins => least(ttl_minutes, 1440)));
  perform pb.record_operator_act(p_operator, p_reason, 'sign_in_link.create', v_subject::text);
  return true;
end
$$;

-- Starts a session and ends the browser's previous one. Returns NULL if the address is neither known nor invited and
-- sign-up is closed.
create or replace function pb.begin_session(
  p_email text, is_sign_up_open boolean, new_session bytea, old_session bytea, proven_at timestamptz
) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_person uuid := (select p.id from pb.people p where p.email = p_email);
begin
  if v_person is null and (is_sign_up_open or pb.is_invited(p_email)) then
    v_person := pb.find_or_create_person(p_email, '');
  end if;
  if v_person is not null then
    delete from pb.sessions s where s.digest = old_session;
    insert into pb.sessions (digest, person_id, authenticated_at)
    values (new_session, v_person, least(proven_at, clock_timestamp()));
    perform pb.record_person_change(v_person, m.account_id, 'session.start', v_person::text)
    from pb.members m where m.person_id = v_person;
  end if;
  return v_person;
end
$$;

-- Uses a sign-in token once, before it expires. Returns false for every other token without the reason.
create or replace function pb.redeem_sign_in(p_token bytea, new_session bytea, old_session bytea) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  t pb.sign_in_tokens;
begin
  update pb.sign_in_tokens f set used_at = clock_timestamp()
  where f.digest = p_token and f.used_at is null and f.expires_at > clock_timestamp()
  returning f.* into t;
  return found and pb.begin_session(t.email, t.may_sign_up, new_session, old_session, clock_timestamp()) is not null;
end
$$;

-- The open invitation with this id, if the session's person has the invited address.
create or replace function pb.find_own_invitation(p_session bytea, p_invitation uuid) returns pb.invitations
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.find_session(p_session);
  i pb.invitations;
begin
  select f.* into i
  from pb.invitations f join pb.people p on p.email = f.email
  where f.id = p_invitation and p.id = s.person_id and f.accepted_at is null and f.expires_at > clock_timestamp();
  return i;
end
$$;

-- NULL if there is no such invitation for the session's person.
create or replace function pb.read_own_invitation(p_session bytea, p_invitation uuid) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  i pb.invitations := pb.find_own_invitation(p_session, p_invitation);
begin
  return (
    select jsonb_build_object('account_name', a.name, 'role', i.role, 'expires_at', i.expires_at)
    from pb.accounts a where a.id = i.account_id
  );
end
$$;

-- Accepts an invitation by its id. The id is not secret, so the person must already be signed in with the invited address.
create or replace function pb.accept_own_invitation(p_session bytea, p_invitation uuid, p_name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  i pb.invitations := pb.find_own_invitation(p_session, p_invitation);
begin
  perform from pb.accept_invitation(i.digest, p_name);
  return found;
end
$$;

-- Accepts an emailed invitation and signs in. Its token proves control of the address just as a sign-in link does.
create or replace function pb.join_account(p_token bytea, p_name text, new_session bytea, old_session bytea)
returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_person uuid := (select a.person_id from pb.accept_invitation(p_token, p_name) a);
  v_email text := (select p.email from pb.people p where p.id = v_person);
begin
  return v_email is not null
    and pb.begin_session(v_email, false, new_session, old_session, clock_timestamp()) is not null;
end
$$;

create or replace function pb.end_session(p_session bytea) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  delete from pb.sessions s where s.digest = p_session;
end;

create or replace function pb.end_all_sessions(p_session bytea) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_person uuid := (select s.person_id from pb.sessions s where s.digest = p_session and pb.is_live(s));
begin
  delete from pb.sessions s where s.person_id = v_person;
  perform pb.record_person_change(v_person, m.account_id, 'session.end_all', v_person::text)
  from pb.members m where m.person_id = v_person;
end
$$;

-- The live session of a token. Updates seen_at at most once a minute and never waits for another request doing so.
create or replace function pb.find_session(p_session bytea) returns pb.sessions
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions;
begin
  select * into s from pb.sessions f where f.digest = p_session and pb.is_live(f);
  if s.seen_at < clock_timestamp() - interval '1 minute' then
    update pb.sessions f set seen_at = clock_timestamp()
    where f.id in (select o.id from pb.sessions o where o.id = s.id for no key update skip locked);
  end if;
  return s;
end
$$;

-- The person and their wallets, or NULL.
create or replace function pb.read_session(p_session bytea) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.find_session(p_session);
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

-- No row: not signed in. A row with a NULL role: not a member of the wallet's account, or no such wallet.
create or replace function pb.authorize_session(p_session bytea, p_wallet uuid)
returns table (session_id uuid, person_id uuid, role pb.member_role, is_suspended boolean, is_fresh boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.find_session(p_session);
begin
  if s.id is not null then
    return query
    select s.id, s.person_id, m.role, w.suspended_at is not null, pb.fresh_until(s) > clock_timestamp()
    from (values (p_wallet)) as given (id)
    left join pb.wallets w on w.id = given.id
    left join pb.accounts a on a.id = w.account_id and a.deleted_at is null
    left join pb.members m on m.account_id = a.id and m.person_id = s.person_id;
  end if;
end
$$;

-- Opens an account for the signed-in person. A person may own at most ten.
create or replace function pb.open_own_account(
  p_session bytea, p_person_name text, p_account_name text, p_wallet uuid,
  trial_address bytea, trial_transfer uuid
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.find_session(p_session);
  v_email text;
begin
  select p.email into v_email from pb.people p where p.id = s.person_id for no key update;
  if not found then
    return 'session_required';
  elsif (select count(*) from pb.members m where m.person_id = s.person_id and m.role = 'owner') >= 10 then
    return 'too_many';
  end if;
  perform pb.record_person_change(
    s.person_id, a.account_id, 'account.create', a.account_id::text,
    p_after => jsonb_build_object('name', p_account_name, 'trial', a.trial), p_wallet => p_wallet
  )
  from pb.sign_up(v_email, p_person_name, p_account_name, p_wallet, trial_address, trial_transfer) a;
  return 'done';
end
$$;

-- Returns the reason this session may not change the team, if any, the account of the team, and the person. The account, the session
-- and the membership stay locked until the caller commits.
create or replace function pb.check_team_change(
  p_session bytea, p_wallet uuid, needs_fresh boolean, out refusal text, out team_account uuid, out actor_person uuid
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions;
  v_role pb.member_role;
begin
  select a.id into team_account
  from pb.wallets w join pb.accounts a on a.id = w.account_id
  where w.id = p_wallet and a.deleted_at is null for no key update of a;
  select * into s from pb.sessions f where f.digest = p_session for key share;
  actor_person := s.person_id;
  select m.role into v_role
  from pb.members m where m.account_id = team_account and m.person_id = s.person_id for share;
  refusal := case
    when s.id is null or not pb.is_live(s) then 'session_required'
    when v_role is null then 'not_found'
    when v_role <> 'owner' then 'insufficient_role'
    when needs_fresh and pb.fresh_until(s) <= clock_timestamp() then 'reauthentication_required'
  end;
end
$$;

-- Members and open invitations of an account, for one of its members or, without a person, for an operator.
create or replace function pb.describe_team(p_account uuid, p_person uuid) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_build_object(
    'members', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'person_id', p.id, 'email', p.email, 'name', p.name, 'role', m.role, 'joined_at', m.joined_at,
        'you', p.id is not distinct from p_person
      ) order by m.role, m.joined_at), '[]')
      from pb.members m join pb.people p on p.id = m.person_id where m.account_id = p_account
    ),
    'invitations', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'id', i.id, 'email', i.email, 'role', i.role, 'expires_at', i.expires_at
      ) order by i.created_at), '[]')
      from pb.invitations i
      where i.account_id = p_account and i.accepted_at is null and i.expires_at > clock_timestamp()
    )
  );
end;

-- NULL if the person is not a member.
create or replace function pb.read_team(p_session bytea, p_wallet uuid) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.find_session(p_session);
begin
  return (
    select pb.describe_team(a.id, s.person_id)
    from pb.wallets w
    join pb.accounts a on a.id = w.account_id and a.deleted_at is null
    join pb.members own on own.account_id = a.id and own.person_id = s.person_id
    where w.id = p_wallet
  );
end
$$;

-- Without p_email_id, no e-mail is queued, and the owner passes on a link with the invitation's id.
create or replace function pb.invite_to_team(
  p_session bytea, p_wallet uuid, p_email text, p_role pb.member_role, p_token bytea, p_email_id uuid,
  p_sealed bytea
) returns table (outcome text, id uuid, expires_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_account uuid;
  v_actor uuid;
begin
  select r.refusal, r.team_account, r.actor_person into outcome, v_account, v_actor
  from pb.check_team_change(p_session, p_wallet, true) r;
  if outcome is null and (
    select count(*) from pb.invitations i
    where i.account_id = v_account and i.accepted_at is null and i.expires_at > clock_timestamp()
  ) >= 100 then
    outcome := 'too_many';
  end if;
  if outcome is null then
    outcome := 'done';
    select i.id, i.expires_at into id, expires_at from pb.invite(v_account, p_email, p_role, p_token) i;
    if p_email_id is not null then
      insert into pb.pending_emails (id, invitation_id, sealed) values (p_email_id, id, p_sealed);
    end if;
    perform pb.record_person_change(
      v_actor, v_account, 'invitation.create', id::text, p_after => jsonb_build_object('role', p_role)
    );
  end if;
  return next;
end
$$;

create or replace function pb.revoke_invitation(p_session bytea, p_wallet uuid, p_invitation uuid) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  r record := pb.check_team_change(p_session, p_wallet, false);
begin
  if r.refusal is not null then
    return r.refusal;
  end if;
  delete from pb.invitations i
  where i.id = p_invitation and i.account_id = r.team_account and i.accepted_at is null;
  if not found then
    return 'not_found';
  end if;
  perform pb.record_person_change(r.actor_person, r.team_account, 'invitation.revoke', p_invitation::text);
  return 'done';
end
$$;

create or replace function pb.change_team(p_session bytea, p_wallet uuid, p_person uuid, new_role pb.member_role)
returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  r record := pb.check_team_change(p_session, p_wallet, true);
  old_role pb.member_role;
  result text;
begin
  if r.refusal is not null then
    return r.refusal;
  end if;
  select m.role into old_role from pb.members m where m.account_id = r.team_account and m.person_id = p_person;
  result := pb.change_member(r.team_account, p_person, new_role);
  if result = 'done' then
    perform pb.record_person_change(
      r.actor_person, r.team_account, case when new_role is null then 'member.remove' else 'member.change' end, p_person::text,
      jsonb_build_object('role', old_role), case when new_role is not null then jsonb_build_object('role', new_role) end
    );
  end if;
  return result;
end
$$;
