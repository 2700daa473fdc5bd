-- Events for wallet owners: low balance, top-ups, keys, budgets. The transaction that causes an event writes it,
-- so neither exists without the other. Triggers write most events. Their conditions are false for nearly every search,
-- so they add no cost to a paid search.
--
--   pb.events --dispatch_events--> pb.webhook_deliveries --claim_deliveries--> worker --finish_delivery--> done
--                  |                      ^                                         |
--                  +--> email_due_at      +------------------- retry ---------------+

-- Emits an event if this transaction commits.
create or replace function pb.emit_event(p_wallet uuid, p_type text, p_data jsonb) returns uuid
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.events (id, wallet_id, type, data, created_at, due_at)
  select pb.new_uuid(), p_wallet, p_type, jsonb_build_object('wallet_id', p_wallet) || p_data, now_at, now_at
  from clock_timestamp() now_at
  returning id;
end;

-- Emits an event that can recur: at most once an hour, with at most one waiting for the hour to end.
create or replace function pb.emit_event_hourly(p_wallet uuid, p_subject uuid, p_type text, p_data jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz := clock_timestamp();
  emit_at timestamptz;
begin
  insert into pb.event_throttles as p (subject_id, type, emitted_at) values (p_subject, p_type, now_at)
  on conflict (subject_id, type) do update set emitted_at = greatest(now_at, p.emitted_at + interval '1 hour')
  where p.emitted_at <= now_at
  returning emitted_at into emit_at;
  if emit_at is not null then
    insert into pb.events (id, wallet_id, type, data, created_at, due_at)
    values (pb.new_uuid(), p_wallet, p_type, p_data, now_at, emit_at);
  end if;
end
$$;

-- The event's data for the current state of a wallet, or NULL if the condition does not hold. PL/pgSQL, because a SQL
-- body that uses the row type prevents adding a column with a default to the table.
create or replace function pb.describe_wallet(p_type text, w pb.wallets) returns jsonb stable language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  return case
    when p_type = 'wallet.low_balance' and w.credited_micros - w.debited_micros < w.low_balance_micros then
      jsonb_build_object(
        'wallet_id', w.id, 'currency', 'usd',
        'balance', pb.usd(w.credited_micros - w.debited_micros), 'low_balance', pb.usd(w.low_balance_micros)
      )
    when p_type = 'wallet.depleted' and w.credited_micros - w.debited_micros < pb.price_micros() then
      jsonb_build_object(
        'wallet_id', w.id, 'currency', 'usd',
        'balance', pb.usd(w.credited_micros - w.debited_micros), 'price', pb.usd(pb.price_micros())
      )
  end;
end
$$;

-- The event's data for a budget that is spent, or NULL. Play money causes no event. A shared budget is reported by its name,
-- and a limit of a key with the newest key that is not revoked, because it outlives the rotation of its key.
create or replace function pb.describe_window(w pb.budget_windows) returns jsonb stable language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  payload jsonb;
begin
  select jsonb_build_object(
    'wallet_id', w.wallet_id, 'currency', 'usd', 'period', coalesce(b.period, 'total'),
    'limit', pb.usd(w.limit_micros), 'spent', pb.usd(w.spent_micros), 'resets_at', pb.iso_time(w.resets_at)
  ) || case
    when b.name is null then jsonb_build_object('budget_id', b.id, 'key', k.about)
    else jsonb_build_object('budget', jsonb_build_object('id', b.id, 'name', b.name))
  end into payload
  from pb.budgets b
  left join lateral (
    select pb.describe_key(newest) as about
    from pb.key_limit_budgets l
    join pb.keys newest on newest.wallet_id = l.wallet_id and newest.limits_id = l.limits_id
    where l.budget_id = b.id and b.name is null
    order by newest.revoked_at is null desc, newest.id desc limit 1
  ) k on true
  where b.id = w.budget_id and not b.per_end_user and w.mode = 'live' and w.spent_micros + pb.price_micros() > w.limit_micros
    and coalesce(w.resets_at > clock_timestamp(), true);
  return payload;
end
$$;

-- A string body: PostgreSQL 15.20 and later reject a new column with a default on a table whose row type is the
-- argument of a function with a parsed body.
create or replace function pb.describe_key(k pb.keys) returns jsonb stable language sql as $$
  select jsonb_build_object('id', k.id, 'name', k.name, 'mode', k.mode, 'start', k.start)
$$;

-- The trigger fires for every update of a wallet whose balance is low; the first test returns unless a threshold was
-- crossed.
create or replace function pb.emit_balance_events() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  balance_was bigint := old.credited_micros - old.debited_micros;
  balance bigint := new.credited_micros - new.debited_micros;
  v_type text;
  previous jsonb;
  payload jsonb;
begin
  if (balance >= pb.price_micros() or balance_was < pb.price_micros())
    and (balance < new.low_balance_micros and (balance_was < old.low_balance_micros) is not true) is not true
  then
    return null;
  end if;
  foreach v_type in array array['wallet.low_balance', 'wallet.depleted'] loop
    previous := pb.describe_wallet(v_type, old);
    payload := pb.describe_wallet(v_type, new);
    if previous is null and payload is not null then
      perform pb.emit_event_hourly(new.id, new.id, v_type, payload);
    end if;
  end loop;
  return null;
end
$$;

create or replace function pb.emit_payment_event() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.emit_event(
    new.wallet_id, 'top_up.succeeded',
    jsonb_build_object(
      'currency', 'usd', 'amount', pb.usd(new.amount_micros), 'payment_id', new.payment_id, 'entry_id', new.transfer_id,
      'balance', (select pb.usd(w.credited_micros - w.debited_micros) from pb.wallets w where w.id = new.wallet_id)
    )
  );
  return null;
end
$$;

create or replace function pb.emit_key_event() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  about jsonb := jsonb_build_object('key', pb.describe_key(new));
begin
  if tg_op = 'UPDATE' then
    perform pb.emit_event(new.wallet_id, 'key.revoked', about);
  elsif new.rotated_from is not null then
    perform pb.emit_event(new.wallet_id, 'key.rotated', about || jsonb_build_object('rotated_from', new.rotated_from));
  else
    perform pb.emit_event(new.wallet_id, 'key.created', about);
  end if;
  return null;
end
$$;

create or replace function pb.emit_budget_event() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  payload jsonb := pb.describe_window(new);
begin
  if payload is not null then
    perform pb.emit_event_hourly(
      new.wallet_id, new.budget_id, case when payload ? 'budget' then 'budget.spent' else 'key.budget_spent' end, payload
    );
  end if;
  return null;
end
$$;

-- Emits the warnings of a window that are due, and computes the amount at which the next one is. A percentage that was warned about
-- in this window is not repeated when the amount spent or the limit falls and rises. The wallet is locked.
create or replace function pb.emit_budget_warnings() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  b pb.budgets;
  v_percent smallint;
  due_at_micros bigint;
  warned smallint := new.alerted_percent;
begin
  select * into b from pb.budgets f where f.id = new.budget_id;
  for v_percent in select a from unnest(b.alerts) a where a > new.alerted_percent order by a loop
    due_at_micros := ceil(new.limit_micros::numeric * v_percent / 100);
    exit when due_at_micros > new.spent_micros;
    warned := v_percent;
    due_at_micros := null;
    perform pb.emit_event(new.wallet_id, 'budget.threshold', jsonb_build_object(
      'currency', 'usd', 'budget', jsonb_build_object('id', b.id, 'name', b.name), 'percent', v_percent,
      'period', coalesce(b.period, 'total'), 'limit', pb.usd(new.limit_micros), 'spent', pb.usd(new.spent_micros),
      'resets_at', pb.iso_time(new.resets_at)
    ));
  end loop;
  update pb.budget_windows w set next_alert_micros = due_at_micros, alerted_percent = warned where w.id = new.id;
  return null;
end
$$;
