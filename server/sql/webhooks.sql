-- Delivery of events to webhook endpoints. Owners manage endpoints through the first functions, always for the wallet of the
-- transaction. The worker uses the rest. A worker's claim is a lease in the table and expires after a minute, while a job lock of the
-- queue would be held for hours after a worker is killed.

-- The settings of an endpoint for the list of changes. The path of its URL can be a secret of the receiver, so there is only the
-- origin, and a short digest that shows whether the path changed.
create or replace function pb.webhook_settings(e pb.webhook_endpoints) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return jsonb_build_object(
    'origin', substring(e.url from '^https?://[^/?#]*'), 'description', e.description, 'events', e.events,
    'external_id', e.external_id, 'disabled', e.disabled_reason, 'url_digest', left(encode(sha256(convert_to(e.id || e.url, 'UTF8')), 'hex'), 8)
  );
end
$$;

-- Whether another endpoint of the wallet has this external id.
create or replace function pb.is_webhook_id_taken(p_external_id text, p_id uuid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select exists (
    select from pb.webhook_endpoints e
    where e.wallet_id = pb.own_wallet() and e.external_id = p_external_id and e.id <> p_id
  );
end;

create or replace function pb.create_webhook(
  p_actor uuid, p_id uuid, p_url text, p_description text, p_events text[], p_secret bytea, max_endpoints integer,
  p_external_id text
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  if (select count(*) from pb.webhook_endpoints e where e.wallet_id = pb.own_wallet()) >= max_endpoints then
    return 'too_many_endpoints';
  elsif pb.is_webhook_id_taken(p_external_id, p_id) then
    return 'external_id_taken';
  end if;
  insert into pb.webhook_endpoints (id, wallet_id, url, description, events, secret, external_id)
  values (p_id, pb.own_wallet(), p_url, p_description, p_events, p_secret, p_external_id);
  perform pb.record_own_change(p_actor, 'webhook.create', p_id::text, p_after => pb.webhook_settings(e))
  from pb.webhook_endpoints e where e.id = p_id;
  return 'done';
end
$$;

-- Ends the deliveries waiting for an endpoint. A delivery in progress ends by itself.
create or replace function pb.disable_webhook(p_id uuid, reason text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update pb.webhook_endpoints e set disabled_at = clock_timestamp(), disabled_reason = reason
  where e.id = p_id and e.disabled_at is null;
  if not found then
    return false;
  end if;
  update pb.webhook_deliveries d set state = 'failed', last_error = 'endpoint_disabled'
  where d.endpoint_id = p_id and d.state = 'pending'
    and (d.claimed_until is null or d.claimed_until <= clock_timestamp());
  return true;
end
$$;

-- NULL arguments change nothing, and an empty external id removes it.
create or replace function pb.change_webhook(
  p_actor uuid, p_id uuid, new_url text, new_description text, new_events text[], is_enabled boolean,
  new_external_id text
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  settings_before jsonb;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  if pb.is_webhook_id_taken(new_external_id, p_id) then
    return 'external_id_taken';
  end if;
  select pb.webhook_settings(e) into settings_before
  from pb.webhook_endpoints e where e.id = p_id and e.wallet_id = pb.own_wallet() for no key update;
  update pb.webhook_endpoints e
  set url = coalesce(new_url, e.url), description = coalesce(new_description, e.description),
    events = coalesce(new_events, e.events), external_id = nullif(coalesce(new_external_id, e.external_id), ''),
    disabled_at = case when is_enabled then null else e.disabled_at end,
    disabled_reason = case when is_enabled then null else e.disabled_reason end,
    failing_since = case when is_enabled and e.disabled_at is not null then null else e.failing_since end
  where e.id = p_id and e.wallet_id = pb.own_wallet();
  if not found then
    return 'not_found';
  end if;
  if not is_enabled then
    perform pb.disable_webhook(p_id, 'owner');
  end if;
  perform pb.record_own_change(p_actor, 'webhook.change', p_id::text, settings_before, pb.webhook_settings(e))
  from pb.webhook_endpoints e where e.id = p_id;
  return 'done';
end
$$;

create or replace function pb.delete_webhook(p_actor uuid, p_id uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  deleted pb.webhook_endpoints;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  delete from pb.webhook_endpoints e where e.id = p_id and e.wallet_id = pb.own_wallet() returning * into deleted;
  if not found then
    return false;
  end if;
  perform pb.record_own_change(p_actor, 'webhook.delete', p_id::text, pb.webhook_settings(deleted));
  return true;
end
$$;

-- Returns the time until which the previous secret also signs, or NULL if there is no such endpoint.
create or replace function pb.rotate_webhook_secret(p_actor uuid, p_id uuid, new_secret bytea) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ends timestamptz;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  update pb.webhook_endpoints e
  set previous_secret = e.secret, previous_until = clock_timestamp() + interval '24 hours', secret = new_secret
  where e.id = p_id and e.wallet_id = pb.own_wallet()
  returning e.previous_until into ends;
  if found then
    perform pb.record_own_change(
      p_actor, 'webhook.rotate_secret', p_id::text,
      p_after => jsonb_build_object('previous_until', pb.iso_time(ends))
    );
  end if;
  return ends;
end
$$;

create or replace function pb.queue_delivery(p_wallet uuid, p_endpoint uuid, p_event uuid) returns uuid
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.webhook_deliveries (id, wallet_id, endpoint_id, event_id, due_at, created_at)
  select pb.new_uuid(), p_wallet, p_endpoint, p_event, now_at, now_at from clock_timestamp() now_at
  returning id;
end;

-- Sends a test event to one endpoint. Returns the delivery's id, or NULL if there is no such endpoint.
create or replace function pb.test_webhook(p_id uuid) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_event uuid;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  perform from pb.webhook_endpoints e where e.id = p_id and e.wallet_id = pb.own_wallet() for key share;
  if not found then
    return null;
  end if;
  v_event := pb.emit_event(pb.own_wallet(), 'webhook.test', jsonb_build_object('endpoint_id', p_id));
  update pb.events e set dispatched_at = e.created_at where e.id = v_event;
  return pb.queue_delivery(pb.own_wallet(), p_id, v_event);
end
$$;

-- Queues the same event for the same endpoint again.
create or replace function pb.replay_delivery(p_id uuid) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  d pb.webhook_deliveries;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  -- Locks the endpoint first, in the same order as its deletion.
  select f.* into d from pb.webhook_deliveries f join pb.webhook_endpoints e on e.id = f.endpoint_id
  where f.id = p_id and f.wallet_id = pb.own_wallet() for key share of e;
  if not found then
    return null;
  end if;
  return pb.queue_delivery(d.wallet_id, d.endpoint_id, d.event_id);
end
$$;

-- Turns up to max_events due events into deliveries and alert e-mails. An event that was delayed by an hour is sent
-- with current data, or deleted if its condition no longer holds. Returns the number of events processed.
create or replace function pb.dispatch_events(max_events integer, with_email boolean) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  e pb.events;
  now_at timestamptz := clock_timestamp();
  processed integer := 0;
begin
  for e in
    select * from pb.events where dispatched_at is null and due_at <= now_at
    order by due_at limit max_events for update skip locked
  loop
    processed := processed + 1;
    if e.due_at > e.created_at then
      e.created_at := now_at;
      e.data := case
        when e.type in ('key.budget_spent', 'budget.spent') then (
          select pb.describe_window(w) from pb.budget_windows w
          where w.wallet_id = e.wallet_id and w.mode = 'live' and w.subject = ''
            and w.budget_id = coalesce(e.data #>> '{budget,id}', e.data ->> 'budget_id')::uuid
        )
        else (select pb.describe_wallet(e.type, w) from pb.wallets w where w.id = e.wallet_id)
      end;
    end if;
    if e.data is null then
      delete from pb.events d where d.id = e.id;
      continue;
    end if;
    update pb.events d
    set data = e.data, created_at = e.created_at, dispatched_at = now_at,
      email_due_at = case
        when with_email and e.type in (
          'wallet.low_balance', 'webhook.disabled', 'budget.threshold', 'budget.spent'
        ) or with_email and e.type = 'budget.increase_requested' and (
          select r.sends_email from pb.budget_requests r where r.id = (e.data ->> 'request_id')::uuid
        ) then now_at
      end
    where d.id = e.id;
    perform pb.queue_delivery(w.wallet_id, w.id, e.id)
    from (
      select id, wallet_id from pb.webhook_endpoints
      where wallet_id = e.wallet_id and disabled_at is null and e.type = any (events) and created_at <= e.created_at
      for key share
    ) w;
  end loop;
  return processed;
end
$$;

-- Claims due deliveries. The wallet with the fewest in progress is next, so that one with thousands of waiting deliveries
-- or many slow receivers does not delay the others. Within a wallet the endpoints take turns, each oldest first. Ties are random,
-- because in order of time, the backlogs of many wallets would come before every new delivery.
create or replace function pb.claim_deliveries(
  max_deliveries integer, max_per_endpoint integer, max_per_wallet integer
)
returns table (
  id uuid, claim integer, attempts smallint, endpoint_id uuid, url text, secret bytea, previous_secret bytea,
  event_id uuid, type text, data jsonb, event_at timestamptz
)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  now_at timestamptz;
begin
  -- One worker at a time, because two could each claim max_per_endpoint.
  perform pg_advisory_xact_lock(hashtext('pb.claim_deliveries'));
  now_at := clock_timestamp();
  return query
  with recursive waiting as (
    -- Loose index scan: one row per endpoint, regardless of its number of deliveries.
    (select d.endpoint_id from pb.webhook_deliveries d where d.state = 'pending' order by d.endpoint_id limit 1)
    union all
    select (
      select d.endpoint_id from pb.webhook_deliveries d
      where d.state = 'pending' and d.endpoint_id > w.endpoint_id order by d.endpoint_id limit 1
    )
    from waiting w where w.endpoint_id is not null
  ), endpoints as (
    select w.endpoint_id, e.wallet_id, busy.claimed, sum(busy.claimed) over (partition by e.wallet_id) as wallet_claimed
    from waiting w
    join pb.webhook_endpoints e on e.id = w.endpoint_id
    cross join lateral (
      select count(*) as claimed from pb.webhook_deliveries f
      where f.endpoint_id = w.endpoint_id and f.state = 'pending' and f.due_at <= now_at and f.claimed_until > now_at
    ) busy
  ), candidates as (
    select d.id, n.claimed, n.wallet_id, n.wallet_claimed, d.due_at,
      n.claimed + row_number() over (partition by n.endpoint_id order by d.due_at, d.id) as turn
    from endpoints n
    cross join lateral (
      select f.id, f.due_at from pb.webhook_deliveries f
      where f.endpoint_id = n.endpoint_id and f.state = 'pending' and f.due_at <= now_at
        and (f.claimed_until is null or f.claimed_until <= now_at)
      order by f.due_at limit greatest(max_per_endpoint - n.claimed, 0)
    ) d
  ), numbered as (
    select c.id, c.wallet_claimed + row_number() over (partition by c.wallet_id order by c.turn, c.due_at, c.id) as turn
    from candidates c
  ), due as (
    select n.id from numbered n where n.turn <= max_per_wallet order by n.turn, random() limit max_deliveries
  ), free as (
    select d.id from pb.webhook_deliveries d join due on due.id = d.id
    where d.state = 'pending' and (d.claimed_until is null or d.claimed_until <= now_at)
    for update of d skip locked
  ), taken as (
    update pb.webhook_deliveries d set claim = d.claim + 1, claimed_until = now_at + interval '1 minute'
    from free where d.id = free.id
    returning d.*
  )
  select t.id, t.claim, t.attempts, t.endpoint_id, e.url, e.secret,
    case when e.previous_until > now_at then e.previous_secret end,
    v.id, v.type, v.data, v.created_at
  from taken t
  join pb.webhook_endpoints e on e.id = t.endpoint_id
  join pb.events v on v.id = t.event_id;
end
$$;

-- Returns a claimed delivery without an attempt.
create or replace function pb.return_delivery(p_id uuid, p_claim integer) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  update pb.webhook_deliveries d set claimed_until = null
  where d.id = p_id and d.claim = p_claim and d.state = 'pending';
end;

-- Records the result of an attempt. retry_in_ms is NULL after the last one. Returns 'gone' or 'failing' if this disabled the
-- endpoint.
create or replace function pb.finish_delivery(
  p_id uuid, p_claim integer, is_delivered boolean, p_status smallint, p_error text, retry_in_ms bigint
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz := clock_timestamp();
  e pb.webhook_endpoints;
  v_event uuid;
  is_test boolean;
  reason text;
begin
  -- Locks the endpoint first, in the same order as its deletion or change.
  select f.* into e from pb.webhook_endpoints f join pb.webhook_deliveries d on d.endpoint_id = f.id
  where d.id = p_id for no key update of f;
  update pb.webhook_deliveries d
  set attempts = d.attempts + 1, last_attempt_at = now_at, response_status = p_status, last_error = p_error,
    claimed_until = null, due_at = now_at + coalesce(retry_in_ms, 0) * interval '1 millisecond',
    state = case
      when is_delivered then 'delivered'
      when retry_in_ms is null or p_status = 410 or e.disabled_at is not null then 'failed'
      else 'pending'
    end
  where d.id = p_id and d.claim = p_claim and d.state = 'pending'
  returning d.event_id into v_event;
  if not found then
    return null;
  end if;

  is_test := (select v.type = 'webhook.test' from pb.events v where v.id = v_event);
  if is_delivered then
    update pb.webhook_endpoints f set failing_since = null where f.id = e.id and f.failing_since is not null;
    return null;
  elsif is_test and p_status is distinct from 410 then
    return null;
  end if;
  update pb.webhook_endpoints f set failing_since = now_at where f.id = e.id and f.failing_since is null;
  reason := case
    when p_status = 410 then 'gone'
    when e.failing_since <= now_at - interval '5 days' then 'failing'
  end;
  if reason is null or not pb.disable_webhook(e.id, reason) then
    return null;
  end if;
  perform pb.emit_event(
    e.wallet_id, 'webhook.disabled', jsonb_build_object('endpoint_id', e.id, 'url', e.url, 'reason', reason)
  );
  perform pb.record_system_change(e.wallet_id, 'webhook.disable', e.id::text, reason);
  return reason;
end
$$;

-- Age in seconds of the oldest due event or delivery. Deliveries to failing endpoints do not count.
create or replace function pb.webhook_lag() returns double precision
stable language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(extract(epoch from clock_timestamp() - least(
    (select min(e.due_at) from pb.events e where e.dispatched_at is null and e.due_at <= clock_timestamp()),
    (
      select min(d.due_at) from pb.webhook_deliveries d join pb.webhook_endpoints w on w.id = d.endpoint_id
      where d.state = 'pending' and d.due_at <= clock_timestamp() and w.failing_since is null
    )
  )), 0)::double precision;
end;
