-- Why: the way of an event to its receivers. The first part is what a wallet's owner does through the management API,
-- always to the wallet of the transaction; the second is the worker's.

create function pb.set_alerts(new_email text, new_low_balance_micros bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  update pb.wallets w set alert_email = new_email, low_balance_micros = new_low_balance_micros
  where w.id = pb.own_wallet();
  return found;
end
$$;

-- False if the wallet has as many as it may.
create function pb.create_webhook(
  the_id uuid, the_url text, the_description text, the_events text[], the_secret bytea, most integer
) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  if (select count(*) from pb.webhook_endpoints e where e.wallet_id = pb.own_wallet()) >= most then
    return false;
  end if;
  insert into pb.webhook_endpoints (id, wallet_id, url, description, events, secret)
  values (the_id, pb.own_wallet(), the_url, the_description, the_events, the_secret);
  return true;
end
$$;

-- Ends what waits for an endpoint. What is being sent at this moment ends by itself.
create function pb.disable_webhook(the_id uuid, reason text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update pb.webhook_endpoints e set disabled_at = clock_timestamp(), disabled_reason = reason
  where e.id = the_id and e.disabled_at is null;
  if not found then
    return false;
  end if;
  update pb.webhook_deliveries d set state = 'failed', last_error = 'endpoint_disabled'
  where d.endpoint_id = the_id and d.state = 'pending'
    and (d.claimed_until is null or d.claimed_until <= clock_timestamp());
  return true;
end
$$;

-- What is null stays as it is. False if there is no such endpoint.
create function pb.change_webhook(
  the_id uuid, new_url text, new_description text, new_events text[], is_enabled boolean
) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update pb.webhook_endpoints e
  set url = coalesce(new_url, e.url), description = coalesce(new_description, e.description),
    events = coalesce(new_events, e.events),
    disabled_at = case when is_enabled then null else e.disabled_at end,
    disabled_reason = case when is_enabled then null else e.disabled_reason end,
    failing_since = case when is_enabled and e.disabled_at is not null then null else e.failing_since end
  where e.id = the_id and e.wallet_id = pb.own_wallet();
  if not found then
    return false;
  end if;
  if not is_enabled then
    perform pb.disable_webhook(the_id, 'owner');
  end if;
  return true;
end
$$;

create function pb.delete_webhook(the_id uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from pb.webhook_endpoints e where e.id = the_id and e.wallet_id = pb.own_wallet();
  return found;
end
$$;

-- Until when the old secret signs too, or null if there is no such endpoint.
create function pb.rotate_webhook_secret(the_id uuid, new_secret bytea) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ends timestamptz;
begin
  update pb.webhook_endpoints e
  set previous_secret = e.secret, previous_until = clock_timestamp() + interval '24 hours', secret = new_secret
  where e.id = the_id and e.wallet_id = pb.own_wallet()
  returning e.previous_until into ends;
  return ends;
end
$$;

create function pb.queue_delivery(the_wallet uuid, the_endpoint uuid, the_event uuid) returns uuid
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.webhook_deliveries (id, wallet_id, endpoint_id, event_id, due_at, created_at)
  select pb.event_id(), the_wallet, the_endpoint, the_event, now_at, now_at from clock_timestamp() now_at
  returning id;
end;

-- An event for one endpoint alone. The delivery's id, or null if there is no such endpoint.
create function pb.test_webhook(the_id uuid) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  the_event uuid;
begin
  perform from pb.webhook_endpoints e where e.id = the_id and e.wallet_id = pb.own_wallet() for key share;
  if not found then
    return null;
  end if;
  the_event := pb.note_event(pb.own_wallet(), 'webhook.test', jsonb_build_object('endpoint_id', the_id));
  update pb.events e set dispatched_at = e.created_at where e.id = the_event;
  return pb.queue_delivery(pb.own_wallet(), the_id, the_event);
end
$$;

-- The same event to the same endpoint once more, whatever became of it before.
create function pb.replay_delivery(the_id uuid) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  d pb.webhook_deliveries;
begin
  -- The endpoint is locked first, as whoever deletes it does.
  select f.* into d from pb.webhook_deliveries f join pb.webhook_endpoints e on e.id = f.endpoint_id
  where f.id = the_id and f.wallet_id = pb.own_wallet() for key share of e;
  if not found then
    return null;
  end if;
  return pb.queue_delivery(d.wallet_id, d.endpoint_id, d.event_id);
end
$$;

grant execute on function
  pb.set_alerts, pb.create_webhook, pb.change_webhook, pb.delete_webhook, pb.rotate_webhook_secret, pb.test_webhook,
  pb.replay_delivery
  to pennyblack_tenant;

-- From here on, the worker.

-- Turns up to `most` events into deliveries, and into mail where that is set up. An event that waited for its hour is
-- told as things are now, or not at all if they are better. Says how many it looked at.
create function pb.dispatch_events(most integer, with_mail boolean) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  e pb.events;
  now_at timestamptz := clock_timestamp();
  looked_at integer := 0;
begin
  for e in
    select * from pb.events where dispatched_at is null and due_at <= now_at
    order by due_at limit most for update skip locked
  loop
    looked_at := looked_at + 1;
    if e.due_at > e.created_at then
      e.created_at := now_at;
      e.data := case
        when e.type = 'key.budget_spent' then (
          select pb.describe_budget(b) from pb.key_budgets b where b.id = (e.data ->> 'budget_id')::uuid
        )
        else (select pb.describe_wallet(e.type, w) from pb.wallets w where w.id = e.wallet_id)
      end;
    end if;
    if e.data is null then
      delete from pb.events gone where gone.id = e.id;
      continue;
    end if;
    update pb.events told
    set data = e.data, created_at = e.created_at, dispatched_at = now_at,
      mail_due_at = case
        when with_mail and e.type in ('wallet.low_balance', 'webhook.disabled') then now_at
      end
    where told.id = e.id;
    perform pb.queue_delivery(w.wallet_id, w.id, e.id)
    from (
      select id, wallet_id from pb.webhook_endpoints
      where wallet_id = e.wallet_id and disabled_at is null and e.type = any (events) and created_at <= e.created_at
      for key share
    ) w;
  end loop;
  return looked_at;
end
$$;

-- Takes deliveries that are due, the oldest first, but of each endpoint no more than may be on their way to it at once:
-- so a receiver that is slow, or has thousands waiting, takes no place from the others. Whoever took one has a minute.
create function pb.claim_deliveries(most integer, most_each integer)
returns table (
  id uuid, claim integer, attempts smallint, endpoint_id uuid, url text, secret bytea, previous_secret bytea,
  event_id uuid, type text, data jsonb, event_at timestamptz
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  now_at timestamptz;
begin
  -- One worker at a time, or two would each fill an endpoint's places.
  perform pg_advisory_xact_lock(hashtext('pb.claim_deliveries'));
  now_at := clock_timestamp();
  return query
  with recursive waiting as (
    -- From one endpoint to the next by the index, however many deliveries each has.
    (select d.endpoint_id from pb.webhook_deliveries d where d.state = 'pending' order by d.endpoint_id limit 1)
    union all
    select (
      select d.endpoint_id from pb.webhook_deliveries d
      where d.state = 'pending' and d.endpoint_id > w.endpoint_id order by d.endpoint_id limit 1
    )
    from waiting w where w.endpoint_id is not null
  ), due as (
    select d.id
    from waiting w
    cross join lateral (
      select most_each - count(*) as places from pb.webhook_deliveries f
      where f.endpoint_id = w.endpoint_id and f.state = 'pending' and f.due_at <= now_at and f.claimed_until > now_at
    ) free
    cross join lateral (
      select f.id, f.due_at from pb.webhook_deliveries f
      where f.endpoint_id = w.endpoint_id and f.state = 'pending' and f.due_at <= now_at
        and (f.claimed_until is null or f.claimed_until <= now_at)
      -- Skipped, not waited for: whoever never waits for a lock cannot be part of a deadlock.
      order by f.due_at limit greatest(free.places, 0) for update skip locked
    ) d
    order by d.due_at limit most
  ), taken as (
    update pb.webhook_deliveries d set claim = d.claim + 1, claimed_until = now_at + interval '1 minute'
    from due where d.id = due.id
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

-- Gives a delivery back untried.
create function pb.return_delivery(the_id uuid, the_claim integer) returns void
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  update pb.webhook_deliveries d set claimed_until = null
  where d.id = the_id and d.claim = the_claim and d.state = 'pending';
end;

-- Writes down what came of an attempt; `retry_in_ms` is null after the last. Says what it did to the endpoint, if
-- anything: 'gone' and 'failing' are the reasons why it was disabled.
create function pb.finish_delivery(
  the_id uuid, the_claim integer, is_delivered boolean, the_status smallint, the_error text, retry_in_ms bigint
) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz := clock_timestamp();
  e pb.webhook_endpoints;
  the_event uuid;
  is_test boolean;
  reason text;
begin
  -- The endpoint first, as whoever deletes or changes it does.
  select f.* into e from pb.webhook_endpoints f join pb.webhook_deliveries d on d.endpoint_id = f.id
  where d.id = the_id for no key update of f;
  update pb.webhook_deliveries d
  set attempts = d.attempts + 1, last_attempt_at = now_at, response_status = the_status, last_error = the_error,
    claimed_until = null, due_at = now_at + coalesce(retry_in_ms, 0) * interval '1 millisecond',
    state = case
      when is_delivered then 'delivered'
      when retry_in_ms is null or the_status = 410 or e.disabled_at is not null then 'failed'
      else 'pending'
    end
  where d.id = the_id and d.claim = the_claim and d.state = 'pending'
  returning d.event_id into the_event;
  if not found then
    return null;
  end if;

  is_test := (select v.type = 'webhook.test' from pb.events v where v.id = the_event);
  if is_delivered then
    update pb.webhook_endpoints f set failing_since = null where f.id = e.id and f.failing_since is not null;
    return null;
  elsif is_test and the_status is distinct from 410 then
    return null;
  end if;
  update pb.webhook_endpoints f set failing_since = now_at where f.id = e.id and f.failing_since is null;
  reason := case
    when the_status = 410 then 'gone'
    when e.failing_since <= now_at - interval '5 days' then 'failing'
  end;
  if reason is null or not pb.disable_webhook(e.id, reason) then
    return null;
  end if;
  perform pb.note_event(
    e.wallet_id, 'webhook.disabled', jsonb_build_object('endpoint_id', e.id, 'url', e.url, 'reason', reason)
  );
  return reason;
end
$$;

-- Takes mail that is due. It is due again later, each time a longer while, until it is said to be sent or was tried
-- six times.
create function pb.claim_mail(most integer)
returns table (id uuid, wallet_id uuid, type text, data jsonb, event_at timestamptz, attempt smallint)
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  update pb.events v
  set mail_attempts = v.mail_attempts + 1,
    mail_due_at = clock_timestamp() + (array[2, 10, 60, 360, 1440])[v.mail_attempts + 1] * interval '1 minute'
  from (
    select w.id from pb.events w where w.mail_due_at <= clock_timestamp()
    order by w.mail_due_at limit most for update skip locked
  ) due
  where v.id = due.id
  returning v.id, v.wallet_id, v.type, v.data, v.created_at, v.mail_attempts;
end;
