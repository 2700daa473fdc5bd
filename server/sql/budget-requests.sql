-- A key asks for more of a shared budget, and a person decides. A key cannot decide, whatever its scopes: pb.decide_budget_request
-- takes a session, which only a browser has, and an approval requires a recent sign-in.
--
--   open --pb.decide_budget_request--> approved: the budget has a raise until it ends
--     |                          `---> denied
--     `-- after 7 days, expired
--
-- A raise adds to the amount of its budget in each period until raise_ends_at, which pb.read_windows checks in every hold. A budget
-- has at most one raise.

create or replace function pb.is_open(r pb.budget_requests) returns boolean stable language sql
  return r.state = 'open' and r.created_at > clock_timestamp() - interval '7 days';

-- The raise of a budget that has not ended, or NULL.
create or replace function pb.describe_raise(b pb.budgets) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return case when b.raise_ends_at > clock_timestamp() then
    jsonb_build_object('amount', pb.usd(b.raise_micros), 'ends_at', pb.iso_time(b.raise_ends_at))
  end;
end
$$;

-- Creates a request of a key for one of its shared budgets. Returns its `outcome` and, with 'done', its `id`. While a
-- request is open, sending it again returns its id, so that a retry creates no second one. Each wallet gets emails for at most ten
-- requests an hour.
create or replace function pb.request_own_increase(
  p_key uuid, new_id uuid, p_budget uuid, p_amount bigint, p_hours integer
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz;
  k pb.keys;
  b pb.budgets;
  r pb.budget_requests;
  refusal text;
  sends_email boolean;
begin
  perform pb.lock_wallets(array[pb.own_wallet()]);
  now_at := clock_timestamp();
  select * into k from pb.keys f where f.id = p_key and f.wallet_id = pb.own_wallet();
  select g.* into b from pb.key_limit_budgets l join pb.budgets g on g.id = l.budget_id
  where l.limits_id = k.limits_id and g.id = p_budget and g.name is not null;
  refusal := case
    when k.id is null then 'api_key_invalid'
    when k.revoked_at is not null then 'api_key_revoked'
    when k.expires_at <= now_at then 'api_key_expired'
    when exists (select from pb.wallets w where w.id = k.wallet_id and w.suspended_at is not null) then 'account_suspended'
    when not ('budgets:request' = any (k.scopes)) then 'insufficient_scope'
    when b.id is null then 'not_found'
    when b.per_end_user then 'per_end_user'
  end;
  if refusal is not null then
    return jsonb_build_object('outcome', refusal);
  end if;
  select * into r from pb.budget_requests f
  where f.wallet_id = k.wallet_id and f.key_id = k.id and f.budget_id = b.id and f.amount_micros = p_amount
    and f.hours = p_hours and pb.is_open(f);
  if found then
    return jsonb_build_object('outcome', 'done', 'id', r.id);
  elsif (
    select count(*) filter (where f.key_id = k.id) >= 3 or count(*) >= 20
    from pb.budget_requests f where f.wallet_id = k.wallet_id and pb.is_open(f)
  ) then
    return jsonb_build_object('outcome', 'budget_requests_open');
  end if;
  sends_email := (
    select count(*) < 10 from pb.budget_requests f
    where f.wallet_id = k.wallet_id and f.sends_email and f.created_at > now_at - interval '1 hour'
  ) and b.mode = 'live';
  insert into pb.budget_requests (id, wallet_id, mode, budget_id, key_id, amount_micros, hours, sends_email, created_at)
  values (new_id, k.wallet_id, k.mode, b.id, k.id, p_amount, p_hours, sends_email, now_at);
  perform pb.record_own_change(
    k.id, 'budget.request_increase', b.id::text,
    p_after => jsonb_build_object('request', new_id, 'amount', pb.usd(p_amount), 'hours', p_hours)
  );
  if b.mode = 'live' then
    perform pb.emit_event(k.wallet_id, 'budget.increase_requested', jsonb_build_object(
      'currency', 'usd', 'request_id', new_id, 'budget', jsonb_build_object('id', b.id, 'name', b.name),
      'key', pb.describe_key(k), 'amount', pb.usd(p_amount), 'hours', p_hours, 'limit', pb.usd(b.amount_micros),
      'period', coalesce(b.period, 'total')
    ));
  end if;
  return jsonb_build_object('outcome', 'done', 'id', new_id);
end
$$;

-- The last 100 requests of a wallet, each with its key and its budget. NULL if the person is not a member.
create or replace function pb.read_budget_requests(p_session bytea, p_wallet uuid) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.find_session(p_session);
begin
  return (
    select jsonb_build_object(
      'requests', (
        select coalesce(jsonb_agg(jsonb_build_object(
          'id', r.id, 'mode', r.mode, 'amount', pb.usd(r.amount_micros), 'hours', r.hours,
          'created_at', pb.iso_time(r.created_at),
          'state', case when r.state <> 'open' or pb.is_open(r) then r.state else 'expired' end,
          'decided_at', pb.iso_time(r.decided_at),
          'decided_by', (select p.email from pb.people p where p.id = r.decided_by),
          'key', jsonb_build_object('id', k.id, 'name', k.name),
          'budget', jsonb_build_object(
            'id', b.id, 'name', b.name, 'amount', pb.usd(b.amount_micros), 'period', coalesce(b.period, 'total'),
            'spent', (
              select pb.usd(coalesce(max(f.spent_micros), 0)) from pb.budget_windows f
              where f.wallet_id = b.wallet_id and f.mode = b.mode and f.budget_id = b.id and f.subject = ''
                and (f.resets_at is null or f.resets_at > clock_timestamp())
            ),
            'increase', pb.describe_raise(b)
          )
        ) order by r.id desc), '[]')
        from (select * from pb.budget_requests f where f.wallet_id = w.id order by f.id desc limit 100) r
        join pb.keys k on k.id = r.key_id join pb.budgets b on b.id = r.budget_id
      )
    )
    from pb.wallets w
    join pb.accounts a on a.id = w.account_id and a.deleted_at is null
    join pb.members own on own.account_id = a.id and own.person_id = s.person_id
    where w.id = p_wallet
  );
end
$$;

-- Decides a request as the signed-in person. An approval replaces the current raise of the budget. Returns the `outcome` and, for an
-- approval, the new `increase` and the one that it replaced.
create or replace function pb.decide_budget_request(
  p_session bytea, p_wallet uuid, p_request uuid, is_approved boolean
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  s pb.sessions := pb.lock_wallet_for_session(p_session, p_wallet);
  refusal text := pb.check_manager(s.id, is_approved);
  r pb.budget_requests;
  b pb.budgets;
  raise_before jsonb;
  act text := case when is_approved then 'budget.approve_increase' else 'budget.deny_increase' end;
begin
  if refusal is not null then
    return jsonb_build_object('outcome', refusal);
  end if;
  select * into r from pb.budget_requests f where f.id = p_request and f.wallet_id = p_wallet;
  select * into b from pb.budgets f where f.id = r.budget_id;
  if b.id is null or b.archived_at is not null or not pb.is_open(r) then
    return jsonb_build_object('outcome', 'not_found');
  end if;
  update pb.budget_requests f
  set state = case when is_approved then 'approved' else 'denied' end, decided_at = clock_timestamp(), decided_by = s.person_id
  where f.id = r.id;
  raise_before := pb.describe_raise(b);
  if is_approved then
    update pb.budgets f
    set raise_micros = r.amount_micros, raise_ends_at = clock_timestamp() + make_interval(hours => r.hours)
    where f.id = b.id returning * into b;
    perform pb.set_budget_amount(b, b.amount_micros);
  end if;
  perform pb.record_own_change(
    s.id, act, b.id::text, jsonb_build_object('increase', raise_before),
    jsonb_build_object('request', r.id, 'increase', pb.describe_raise(b))
  );
  return jsonb_build_object('outcome', 'done', 'increase', pb.describe_raise(b), 'replaced', raise_before);
end
$$;
