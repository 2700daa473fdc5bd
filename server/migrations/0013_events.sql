-- Why: a wallet's owner wants to be told: the balance runs low, a top-up arrived, a key appeared or spent its budget. An
-- event is written by the transaction that caused it, so there is no event without its cause and no cause without its
-- event. Triggers write them, and their conditions are false for nearly every search, so that the functions of a paid
-- search stay as they are: they neither know nor wait for whoever is told.
--
--   pb.events --pb.dispatch_events--> pb.webhook_deliveries --pb.claim_deliveries--> a worker --pb.finish_delivery--> done
--                      |                                              ^                                |
--                      +--> mail_due_at                               +--------- later again ----------+
--
-- The worker's claims are leases in these tables, not locks of its queue: a queue keeps what a killed worker held for
-- hours, a lease runs out after a minute.

alter table pb.wallets
  add column low_balance_micros bigint check (low_balance_micros > 0),
  add column alert_email text check (length(alert_email) between 3 and 254);

-- Only what is written here can be told, and only the first eight can be asked for. `due_at` is later than
-- `created_at` where the owner heard the same within the hour; it is then told only if it is still so.
create table pb.events (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  type text not null,
  data jsonb not null,
  created_at timestamptz not null,
  due_at timestamptz not null,
  dispatched_at timestamptz,
  mail_due_at timestamptz,
  mail_attempts smallint not null default 0,
  constraint known_events check (
    type in (
      'wallet.low_balance', 'wallet.depleted', 'top_up.succeeded', 'top_up.failed',
      'key.created', 'key.rotated', 'key.revoked', 'key.budget_spent',
      'webhook.test', 'webhook.disabled'
    )
  )
);

create index events_waiting on pb.events (due_at) where dispatched_at is null;
create index mails_waiting on pb.events (mail_due_at) where mail_due_at is not null;

-- When the owner last heard of something that can come and go many times a second. In the future: told then.
create table pb.event_pauses (
  subject_id uuid not null,
  type text not null,
  told_at timestamptz not null,
  primary key (subject_id, type)
);

-- Secrets are sealed under a key that the database does not have. For a day after a rotation both sign.
create table pb.webhook_endpoints (
  id uuid primary key,
  wallet_id uuid not null references pb.wallets,
  url text not null check (length(url) <= 2048),
  description text not null check (length(description) <= 200),
  events text[] not null,
  secret bytea not null,
  previous_secret bytea,
  previous_until timestamptz,
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('owner', 'gone', 'failing')),
  created_at timestamptz not null default clock_timestamp(),
  unique (wallet_id, id),
  constraint asks_for_known_events check (
    cardinality(events) > 0 and events <@ array[
      'wallet.low_balance', 'wallet.depleted', 'top_up.succeeded', 'top_up.failed',
      'key.created', 'key.rotated', 'key.revoked', 'key.budget_spent'
    ]
  ),
  constraint disabled_for_a_reason check ((disabled_at is null) = (disabled_reason is null)),
  constraint previous_secret_ends check ((previous_secret is null) = (previous_until is null))
);

-- `claim` counts the workers that took it, so that one that stood still cannot end what another took over.
create table pb.webhook_deliveries (
  id uuid primary key,
  wallet_id uuid not null,
  endpoint_id uuid not null,
  event_id uuid not null references pb.events on delete cascade,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts smallint not null default 0,
  due_at timestamptz not null,
  claim integer not null default 0,
  claimed_until timestamptz,
  last_attempt_at timestamptz,
  response_status smallint,
  last_error text,
  created_at timestamptz not null,
  constraint endpoint_of_the_same_wallet foreign key (wallet_id, endpoint_id)
    references pb.webhook_endpoints (wallet_id, id) on delete cascade
);

create index deliveries_waiting on pb.webhook_deliveries (endpoint_id, due_at) where state = 'pending';
create index deliveries_by_endpoint on pb.webhook_deliveries (endpoint_id, id desc);
create index deliveries_by_event on pb.webhook_deliveries (event_id);

-- What a tenant may see.

alter table pb.events enable row level security;
alter table pb.event_pauses enable row level security;
alter table pb.webhook_endpoints enable row level security;
alter table pb.webhook_deliveries enable row level security;
create policy own_events on pb.events for select to pennyblack_tenant using (wallet_id = pb.own_wallet());
create policy own_endpoints on pb.webhook_endpoints for select to pennyblack_tenant using (wallet_id = pb.own_wallet());
create policy own_deliveries on pb.webhook_deliveries for select to pennyblack_tenant using (wallet_id = pb.own_wallet());

grant select (low_balance_micros, alert_email) on pb.wallets to pennyblack_tenant;
grant select (id, wallet_id, type, data, created_at) on pb.events to pennyblack_tenant;
grant select (
  id, wallet_id, url, description, events, previous_until, failing_since, disabled_at, disabled_reason, created_at
) on pb.webhook_endpoints to pennyblack_tenant;
grant select (
  id, wallet_id, endpoint_id, event_id, state, attempts, due_at, last_attempt_at, response_status, last_error, created_at
) on pb.webhook_deliveries to pennyblack_tenant;

-- Writing events down.

create function pb.event_id() returns uuid volatile language sql
  return (left(pb.uuid_floor(clock_timestamp())::text, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid;

-- "4.99", as the API writes money.
create function pb.usd(micros bigint) returns text immutable strict language sql
  return micros / 1000000 || '.' || regexp_replace(lpad((micros % 1000000)::text, 6, '0'), '0{1,4}$', '');

create function pb.iso_time(moment timestamptz) returns text stable strict language sql
  return to_char(moment at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- Tells a wallet's owner something, if this transaction commits. For whoever has no trigger here: top_up.failed.
create function pb.note_event(the_wallet uuid, the_type text, the_data jsonb) returns uuid
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.events (id, wallet_id, type, data, created_at, due_at)
  select pb.event_id(), the_wallet, the_type, jsonb_build_object('wallet_id', the_wallet) || the_data, now_at, now_at
  from clock_timestamp() now_at
  returning id;
end;

-- The same for what may happen again at once: at most one an hour, and at most one waiting for the hour to end.
create function pb.note_event_hourly(the_wallet uuid, the_subject uuid, the_type text, the_data jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz := clock_timestamp();
  told timestamptz;
begin
  insert into pb.event_pauses as p (subject_id, type, told_at) values (the_subject, the_type, now_at)
  on conflict (subject_id, type) do update set told_at = greatest(now_at, p.told_at + interval '1 hour')
  where p.told_at <= now_at
  returning told_at into told;
  if told is not null then
    insert into pb.events (id, wallet_id, type, data, created_at, due_at)
    values (pb.event_id(), the_wallet, the_type, the_data, now_at, told);
  end if;
end
$$;

-- What there is to say of a wallet or a budget now, or null if it is not so (any more).
create function pb.describe_wallet(the_type text, w pb.wallets) returns jsonb stable language sql
  return case
    when the_type = 'wallet.low_balance' and w.credited_micros - w.debited_micros < w.low_balance_micros then
      jsonb_build_object(
        'wallet_id', w.id, 'currency', 'usd',
        'balance', pb.usd(w.credited_micros - w.debited_micros), 'low_balance', pb.usd(w.low_balance_micros)
      )
    when the_type = 'wallet.depleted' and w.credited_micros - w.debited_micros < pb.price_micros() then
      jsonb_build_object(
        'wallet_id', w.id, 'currency', 'usd',
        'balance', pb.usd(w.credited_micros - w.debited_micros), 'price', pb.usd(pb.price_micros())
      )
  end;

create function pb.describe_budget(b pb.key_budgets) returns jsonb stable language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  today date := pb.utc_day(clock_timestamp());
  this_month date := pb.utc_month(clock_timestamp());
  said jsonb;
begin
  select jsonb_build_object(
    'wallet_id', b.wallet_id, 'currency', 'usd', 'budget_id', b.id, 'key', k.about,
    'period', p.name, 'limit', pb.usd(p.cap), 'spent', pb.usd(p.spent), 'resets_at', pb.iso_time(p.resets)
  ) into said
  from (values
    ('total', b.total_limit_micros, b.total_spent_micros, null::timestamptz),
    ('day', b.day_limit_micros, case when b.day = today then b.day_spent_micros else 0 end,
      (today + 1)::timestamp at time zone 'utc'),
    ('month', b.month_limit_micros, case when b.month = this_month then b.month_spent_micros else 0 end,
      (this_month + interval '1 month') at time zone 'utc')
  ) as p (name, cap, spent, resets)
  -- A budget outlives the rotation of its key: the youngest is the one in use.
  left join lateral (
    select pb.describe_key(youngest) as about from pb.keys youngest
    where youngest.wallet_id = b.wallet_id and youngest.budget_id = b.id
    order by youngest.revoked_at is null desc, youngest.id desc limit 1
  ) k on true
  where p.spent + pb.price_micros() > p.cap
  limit 1;
  return said;
end
$$;

create function pb.describe_key(k pb.keys) returns jsonb stable language sql
  return jsonb_build_object('id', k.id, 'name', k.name, 'mode', k.mode, 'start', k.start);

create function pb.tell_of_balance() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  the_type text;
  was jsonb;
  said jsonb;
begin
  foreach the_type in array array['wallet.low_balance', 'wallet.depleted'] loop
    was := pb.describe_wallet(the_type, old);
    said := pb.describe_wallet(the_type, new);
    if was is null and said is not null then
      perform pb.note_event_hourly(new.id, new.id, the_type, said);
    end if;
  end loop;
  return null;
end
$$;

-- Holds and releases name other columns, so for them not even the condition is looked at. 10000 is the price. Setting
-- a threshold above the balance tells of it at once: otherwise it would never be crossed.
create trigger tell_of_balance
  after update of credited_micros, debited_micros, low_balance_micros on pb.wallets
  for each row when (
    (new.credited_micros - new.debited_micros < new.low_balance_micros
      and (old.credited_micros - old.debited_micros < old.low_balance_micros) is not true)
    or (new.credited_micros - new.debited_micros < 10000 and old.credited_micros - old.debited_micros >= 10000)
  )
  execute function pb.tell_of_balance();

create function pb.tell_of_payment() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.note_event(
    new.wallet_id, 'top_up.succeeded',
    jsonb_build_object(
      'currency', 'usd', 'amount', pb.usd(new.amount_micros), 'payment_id', new.payment_id, 'entry_id', new.transfer_id,
      'balance', (select pb.usd(w.credited_micros - w.debited_micros) from pb.wallets w where w.id = new.wallet_id)
    )
  );
  return null;
end
$$;

create trigger tell_of_payment after insert on pb.payments for each row execute function pb.tell_of_payment();

-- A key that replaces another says so in rotated_from; the function also runs where that column does not exist.
create function pb.tell_of_key() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  about jsonb := jsonb_build_object('key', pb.describe_key(new));
  rotated_from text := to_jsonb(new) ->> 'rotated_from';
begin
  if tg_op = 'UPDATE' then
    perform pb.note_event(new.wallet_id, 'key.revoked', about);
  elsif rotated_from is not null then
    perform pb.note_event(new.wallet_id, 'key.rotated', about || jsonb_build_object('rotated_from', rotated_from));
  else
    perform pb.note_event(new.wallet_id, 'key.created', about);
  end if;
  return null;
end
$$;

create trigger tell_of_new_key after insert on pb.keys for each row execute function pb.tell_of_key();
create trigger tell_of_revoked_key after update of revoked_at on pb.keys
  for each row when (old.revoked_at is null and new.revoked_at is not null) execute function pb.tell_of_key();

create function pb.tell_of_budget() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  said jsonb := pb.describe_budget(new);
begin
  if said is not null then
    perform pb.note_event_hourly(new.wallet_id, new.id, 'key.budget_spent', said);
  end if;
  return null;
end
$$;

-- Spent is what cannot pay for one more search, as pb.hold decides it.
create trigger tell_of_budget
  after update on pb.key_budgets
  for each row when (
    (new.total_spent_micros + 10000 > new.total_limit_micros
      and (old.total_spent_micros + 10000 > old.total_limit_micros) is not true)
    or (new.day_spent_micros + 10000 > new.day_limit_micros
      and (old.day = new.day and old.day_spent_micros + 10000 > old.day_limit_micros) is not true)
    or (new.month_spent_micros + 10000 > new.month_limit_micros
      and (old.month = new.month and old.month_spent_micros + 10000 > old.month_limit_micros) is not true)
  )
  execute function pb.tell_of_budget();
