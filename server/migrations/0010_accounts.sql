-- Why: wallets belong to people. An account has members and wallets; keys are made, changed, rotated and revoked by
-- their owners and no longer by operators alone; and a deleted account leaves nothing personal behind, while its books
-- stay as they are.

-- A deleted account keeps its row, because its wallets and their books point to it, and loses its name.
create table pb.accounts (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  created_at timestamptz not null default clock_timestamp(),
  deleted_at timestamptz,
  constraint deleted_accounts_have_no_name check (deleted_at is null or name = '')
);

-- A person is an e-mail address. In lower case, so that one person is not two.
create table pb.people (
  id uuid primary key default gen_random_uuid(),
  email text not null unique check (email = lower(email) and email ~ '^[^@\s]+@[^@\s]+$' and length(email) <= 254),
  name text not null check (length(name) <= 200),
  created_at timestamptz not null default clock_timestamp()
);

create type pb.member_role as enum ('owner', 'developer', 'viewer');

create table pb.members (
  account_id uuid not null references pb.accounts,
  person_id uuid not null references pb.people,
  role pb.member_role not null,
  joined_at timestamptz not null default clock_timestamp(),
  primary key (account_id, person_id)
);

create index members_by_person on pb.members (person_id);

-- Looked at when the transaction commits, so that two people can change places in one.
create function pb.keep_an_owner() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- Of two owners who leave at once, the second waits here and then sees that the first has gone.
  perform from pb.accounts a where a.id = old.account_id and a.deleted_at is null for no key update;
  if found and not exists (select from pb.members m where m.account_id = old.account_id and m.role = 'owner') then
    raise exception using errcode = 'check_violation', constraint = 'an_owner_remains',
      message = 'an account keeps at least one owner';
  end if;
  return null;
end
$$;

create constraint trigger an_owner_remains after delete or update on pb.members
  deferrable initially deferred for each row when (old.role = 'owner') execute function pb.keep_an_owner();

-- The token itself is in the e-mail alone. An invitation is accepted once; an address has one open at a time.
create table pb.invitations (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null references pb.accounts,
  email text not null check (email = lower(email) and email ~ '^[^@\s]+@[^@\s]+$' and length(email) <= 254),
  role pb.member_role not null,
  digest bytea not null unique check (octet_length(digest) = 32),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
);

create unique index one_open_invitation on pb.invitations (account_id, email) where accepted_at is null;

-- Who had a trial credit. The address is kept as an HMAC alone, so that it outlives the account without being personal.
create table pb.trials (
  account_id uuid primary key references pb.accounts,
  address_hmac bytea not null unique check (octet_length(address_hmac) = 32),
  amount_micros bigint not null check (amount_micros > 0),
  given_at timestamptz not null default clock_timestamp()
);

create table pb.trial_days (
  day date primary key,
  given integer not null check (given > 0)
);

-- Decides about one trial credit. The caller books it in the same transaction, or nothing of this happened.
create function pb.take_trial(the_account uuid, the_address bytea, amount bigint, most_a_day integer) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if most_a_day < 1 then
    return 'day_is_full';
  end if;
  insert into pb.trials (account_id, address_hmac, amount_micros)
  values (the_account, the_address, amount) on conflict do nothing;
  if not found then
    return 'already_given';
  end if;
  insert into pb.trial_days as d (day, given) values (pb.utc_day(clock_timestamp()), 1)
  on conflict (day) do update set given = d.given + 1 where d.given < most_a_day;
  if not found then
    delete from pb.trials t where t.account_id = the_account;
    return 'day_is_full';
  end if;
  return 'given';
end
$$;

-- Every wallet has an account. One that is made without, by an older server or by hand, gets its own.
alter table pb.wallets add column account_id uuid references pb.accounts;

create function pb.give_account() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if new.account_id is null then
    insert into pb.accounts (name) values (new.name) returning id into new.account_id;
  end if;
  return new;
end
$$;

create trigger give_account before insert on pb.wallets for each row execute function pb.give_account();

-- The first account of a wallet that was there before bears the wallet's id.
insert into pb.accounts (id, name, created_at) select id, name, created_at from pb.wallets;
update pb.wallets set account_id = id;
alter table pb.wallets alter column account_id set not null;
create index wallets_by_account on pb.wallets (account_id);
