-- Moves of an account between cells. `npm run fleet -- move` calls these functions in both databases, as their owner:
--
--   source                               target
--   fence_account                                             all writes of the account wait
--                                        import_account       what can change, and the balances; not active
--   hand_over                                                 books the balances out, and names the new owner
--                                        activate_account     books the balances in
--
-- Ownership is an epoch: (account, epoch, cell). Every write of the account checks the fence under the wallet lock, so nothing
-- changes between import and hand-over. After the hand-over the source accepts no writes, and only then does the target, so
-- that both never sell; if the move is interrupted in between, neither does until it is resumed.
--
-- History stays in the cell that wrote it, where its hours are closed and signed. The balance is a transfer to the account
-- other_cells in the source and from it in the target: over all cells they sum to zero.

create or replace function pb.account_wallets(p_account uuid) returns uuid[]
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select array(select w.id from pb.wallets w where w.account_id = p_account order by w.id);
end;

-- What this cell knows about an account.
create or replace function pb.read_account_place(
  p_account uuid, out cell text, out label text, out is_active boolean, out fenced_until timestamptz, out epoch integer,
  out owner_cell text, out arrival_epoch integer, out arrival_fence timestamptz, out is_activated boolean
)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  cell := (select c.name from pb.cell c);
  select a.label into label from pb.accounts a where a.id = p_account and a.deleted_at is null;
  select max(w.fenced_until) into fenced_until from pb.wallets w where w.account_id = p_account;
  is_active := exists (
    select from pb.wallets w join pb.accounts a on a.id = w.account_id
    where a.id = p_account and a.deleted_at is null and (w.fenced_until is null or w.fenced_until < 'infinity')
  );
  select o.epoch, o.cell into epoch, owner_cell from pb.account_owners o where o.account_id = p_account;
  epoch := coalesce(epoch, 0);
  select a.epoch, a.fence, a.activated_at is not null into arrival_epoch, arrival_fence, is_activated
  from pb.arrivals a where a.account_id = p_account;
end
$$;

-- Makes all writes of the account wait for p_ms milliseconds. The time of its end identifies the fence. A fence of another
-- move is not replaced: it ends by itself.
create or replace function pb.fence_account(p_account uuid, p_ms integer) returns timestamptz
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  own_wallets uuid[];
  until_at timestamptz;
begin
  perform from pb.accounts a where a.id = p_account and a.deleted_at is null for no key update;
  own_wallets := pb.account_wallets(p_account);
  if cardinality(own_wallets) = 0 then
    raise exception 'the account does not exist' using errcode = 'no_data_found';
  end if;
  perform pb.lock_wallets(own_wallets);
  -- pb.begin_auto_top_ups locks this row and not the wallet. A top-up that it has begun is exported.
  perform from pb.auto_top_ups a where a.wallet_id = any (own_wallets) for update;
  until_at := clock_timestamp() + p_ms * interval '1 millisecond';
  update pb.wallets w set fenced_until = until_at where w.id = any (own_wallets);
  return until_at;
end
$$;

-- Ends a fence. False if it has ended already.
create or replace function pb.lift_fence(p_account uuid, p_fence timestamptz) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.lock_fenced_wallets(pb.account_wallets(p_account));
  update pb.wallets w set fenced_until = null where w.account_id = p_account and w.fenced_until = p_fence;
  return found;
end
$$;

-- Searches of the account that are not settled, held before a time. Reads the last two days: an id can be a day off the time of
-- its hold.
create or replace function pb.count_pending(p_account uuid, p_held_before timestamptz default 'infinity') returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (
    select count(*) from pb.searches s
    where s.state = 'pending' and s.wallet_id = any (pb.account_wallets(p_account)) and s.held_at < p_held_before
      and s.id >= pb.uuid_floor(clock_timestamp() - interval '2 days')
  );
end
$$;

create or replace function pb.export_rows(p_table text, p_wallets uuid[]) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  result jsonb;
begin
  execute format('select coalesce(jsonb_agg(to_jsonb(t)), ''[]'') from pb.%I t where t.wallet_id = any ($1)', p_table)
  into result using p_wallets;
  return result;
end
$$;

-- Tables whose rows move, in the order of their references, and their primary keys. Claims are moved by pb.import_claims.
create or replace function pb.moved_tables() returns table (name text, key_columns text[])
language sql immutable set search_path = pg_catalog, pg_temp
begin atomic
  values ('key_budgets', array['id']), ('keys', array['id']), ('end_user_settings', array['wallet_id']),
    ('end_user_budgets', array['key_budget_id', 'end_user']), ('run_budgets', array['wallet_id', 'name']),
    ('test_run_budgets', array['wallet_id', 'name']), ('webhook_endpoints', array['id']),
    ('payment_customers', array['wallet_id']), ('payments', array['payment_id']), ('top_ups', array['id']),
    ('reversals', array['reversal_id']), ('auto_top_ups', array['wallet_id']), ('manual_credits', array['reference']),
    ('adjustments', array['id']);
end;

-- Everything of the account that can change, as JSON. Keys of connected apps stay: their tokens are valid for this cell only.
create or replace function pb.export_account(p_account uuid) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  own_wallets uuid[] := pb.account_wallets(p_account);
  result jsonb;
begin
  select jsonb_object_agg(m.name, pb.export_rows(m.name, own_wallets)) into result from pb.moved_tables() m;
  return result || jsonb_build_object(
    'keys', (
      select coalesce(jsonb_agg(to_jsonb(k)), '[]') from pb.keys k
      where k.wallet_id = any (own_wallets)
        and not exists (select from pb.connected_apps a where a.key_id = k.id)
    ),
    -- Those that have ended may have been deleted in one cell only.
    'run_budgets', (
      select coalesce(jsonb_agg(to_jsonb(r)), '[]') from pb.run_budgets r
      where r.wallet_id = any (own_wallets) and r.expires_at > clock_timestamp()
    ),
    'end_user_budgets', (
      select coalesce(jsonb_agg(to_jsonb(u)), '[]') from pb.end_user_budgets u
      where u.wallet_id = any (own_wallets) and u.resets_at > clock_timestamp()
    ),
    'account', (select to_jsonb(a) from pb.accounts a where a.id = p_account),
    'wallets', (select jsonb_agg(to_jsonb(w) order by w.id) from pb.wallets w where w.id = any (own_wallets)),
    'balances', (
      select jsonb_agg(jsonb_build_object(
        'wallet_id', w.id, 'balance', w.credited_micros - w.debited_micros, 'owed', w.owed_micros
      ) order by w.id)
      from pb.wallets w where w.id = any (own_wallets)
    ),
    'members', (
      select coalesce(jsonb_agg(jsonb_build_object('email', p.email, 'name', p.name, 'role', m.role)), '[]')
      from pb.members m join pb.people p on p.id = m.person_id where m.account_id = p_account
    ),
    'events', (
      select coalesce(jsonb_agg(to_jsonb(e)), '[]') from pb.events e
      where e.wallet_id = any (own_wallets) and (
        e.dispatched_at is null or e.email_due_at is not null
        or exists (select from pb.webhook_deliveries d where d.event_id = e.id and d.state = 'pending')
      )
    ),
    'deliveries', (
      select coalesce(jsonb_agg(to_jsonb(d)), '[]') from pb.webhook_deliveries d
      where d.wallet_id = any (own_wallets) and d.state = 'pending'
    )
  );
end
$$;

-- A page of answered claims on Idempotency-Keys since a time, in the order of their primary key.
create or replace function pb.export_claims(
  p_account uuid, p_since timestamptz, p_after jsonb, p_limit integer
) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  last_claim pb.idempotency := jsonb_populate_record(null::pb.idempotency, p_after);
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(c)), '[]') from (
      select * from pb.idempotency i
      where i.wallet_id = any (pb.account_wallets(p_account)) and i.claimed_at >= p_since and i.answer is not null
        and (p_after is null or (i.wallet_id, i.key_hmac, i.mode) > (last_claim.wallet_id, last_claim.key_hmac, last_claim.mode))
      order by i.wallet_id, i.key_hmac, i.mode limit p_limit
    ) c
  );
end
$$;

-- Creates the account and its wallets, not active, so that claims can be imported before the account is fenced.
create or replace function pb.prepare_arrival(p_export jsonb) returns void
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.accounts select * from jsonb_populate_record(null::pb.accounts, p_export -> 'account')
  on conflict (id) do nothing;
  insert into pb.wallets (id, name, account_id, created_at, fenced_until)
  select w.id, w.name, w.account_id, w.created_at, 'infinity'
  from jsonb_populate_recordset(null::pb.wallets, p_export -> 'wallets') w
  on conflict (id) do nothing;
end;

-- Claims of an account that is not active here.
create or replace function pb.import_claims(p_claims jsonb) returns void
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.idempotency as i
  select n.* from jsonb_populate_recordset(null::pb.idempotency, p_claims) n
  where exists (select from pb.wallets w where w.id = n.wallet_id and w.fenced_until = 'infinity')
  on conflict (wallet_id, key_hmac, mode) do update
  set fingerprint = excluded.fingerprint, search_id = excluded.search_id, claimed_at = excluded.claimed_at,
      answer = excluded.answer, scheme = excluded.scheme, secret_version = excluded.secret_version;
end;

-- Inserts or replaces rows of a table, and verifies that they are then equal to the given ones. Payments and credits never
-- change.
create or replace function pb.import_rows(p_table text, p_keys text[], p_rows jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  columns text[] := array(
    select a.attname from pg_attribute a
    where a.attrelid = ('pb.' || p_table)::regclass and a.attnum > 0 and not a.attisdropped
  );
  changes text := (select string_agg(format('%1$I = excluded.%1$I', c), ', ') from unnest(columns) c where c <> all (p_keys));
  same integer;
begin
  execute format(
    'insert into pb.%1$I select * from jsonb_populate_recordset(null::pb.%1$I, $1) on conflict (%2$s) do %3$s',
    p_table, array_to_string(p_keys, ', '),
    case when p_table in ('payments', 'manual_credits') then 'nothing' else 'update set ' || changes end
  ) using p_rows;
  execute format(
    'select count(*) from jsonb_populate_recordset(null::pb.%1$I, $1) n join pb.%1$I t using (%2$s)
     where to_jsonb(n) - ''changed_at'' = to_jsonb(t) - ''changed_at''',
    p_table, array_to_string(p_keys, ', ')
  ) into same using p_rows;
  if same <> jsonb_array_length(p_rows) then
    raise exception '% of % imported rows of % differ', jsonb_array_length(p_rows) - same, jsonb_array_length(p_rows), p_table;
  end if;
end
$$;

-- Records which part of the imported amounts was not spent here: the amount minus what this cell has counted itself. The rows
-- of the account's last stay are still here.
create or replace function pb.import_spending(p_export jsonb) returns void
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.spent_elsewhere as s (id, total_micros, day, day_micros, month, month_micros)
  select n.id,
    n.total_spent_micros - coalesce(o.total_spent_micros - coalesce(e.total_micros, 0), 0),
    n.day,
    n.day_spent_micros - case
      when o.day = n.day then o.day_spent_micros - case when e.day = n.day then e.day_micros else 0 end else 0 end,
    n.month,
    n.month_spent_micros - case
      when o.month = n.month then o.month_spent_micros - case when e.month = n.month then e.month_micros else 0 end
      else 0 end
  from jsonb_populate_recordset(null::pb.key_budgets, p_export -> 'key_budgets') n
  left join pb.key_budgets o on o.id = n.id
  left join pb.spent_elsewhere e on e.id = n.id
  on conflict (id) do update
  set total_micros = excluded.total_micros, day = excluded.day, day_micros = excluded.day_micros,
      month = excluded.month, month_micros = excluded.month_micros;

  insert into pb.spent_elsewhere as s (id, total_micros)
  select n.id, n.spent_micros - coalesce(o.spent_micros - coalesce(e.total_micros, 0), 0)
  from (
    select r.id, r.spent_micros from jsonb_populate_recordset(null::pb.run_budgets, p_export -> 'run_budgets') r
    union all
    select u.id, u.spent_micros from jsonb_populate_recordset(null::pb.end_user_budgets, p_export -> 'end_user_budgets') u
  ) n
  left join (
    select r.id, r.spent_micros from pb.run_budgets r union all select u.id, u.spent_micros from pb.end_user_budgets u
  ) o on o.id = n.id
  left join pb.spent_elsewhere e on e.id = n.id
  on conflict (id) do update set total_micros = excluded.total_micros;
end;

-- Stores the exported account, not active. It can be repeated until the account is handed over.
create or replace function pb.import_account(p_export jsonb, p_from text, p_epoch integer, p_fence timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_account uuid := p_export #>> '{account,id}';
  own_wallets uuid[];
begin
  perform pb.prepare_arrival(p_export);
  update pb.accounts a set name = p_export #>> '{account,name}', label = p_export #>> '{account,label}'
  where a.id = v_account;
  own_wallets := pb.account_wallets(v_account);
  perform pb.lock_fenced_wallets(own_wallets);
  if exists (select from pb.wallets w where w.id = any (own_wallets) and w.fenced_until is distinct from 'infinity')
    or p_epoch <= coalesce((select o.epoch from pb.account_owners o where o.account_id = v_account), 0)
  then
    raise exception 'the account is active in this cell' using errcode = 'object_not_in_prerequisite_state';
  end if;
  update pb.wallets w
  set name = n.name, suspended_at = n.suspended_at, low_balance_micros = n.low_balance_micros, alert_email = n.alert_email
  from jsonb_populate_recordset(null::pb.wallets, p_export -> 'wallets') n where n.id = w.id;

  perform pb.import_spending(p_export);
  -- Rows that were deleted in the other cell. Others are never deleted while the account exists.
  delete from pb.webhook_endpoints e where e.wallet_id = any (own_wallets);
  delete from pb.auto_top_ups t where t.wallet_id = any (own_wallets);
  delete from pb.run_budgets r where r.wallet_id = any (own_wallets);
  delete from pb.test_run_budgets r where r.wallet_id = any (own_wallets);
  delete from pb.end_user_budgets u where u.wallet_id = any (own_wallets);
  perform pb.import_rows(m.name, m.key_columns, p_export -> m.name) from pb.moved_tables() m;
  delete from pb.spent_elsewhere s
  where not exists (select from pb.key_budgets b where b.id = s.id)
    and not exists (select from pb.run_budgets r where r.id = s.id)
    and not exists (select from pb.end_user_budgets u where u.id = s.id);

  insert into pb.booked_elsewhere (id)
  select r.id from (
    select p.transfer_id as id from pb.payments p where p.wallet_id = any (own_wallets)
    union select unnest(array[v.taken_transfer_id, v.owed_transfer_id, v.returned_transfer_id])
      from pb.reversals v where v.wallet_id = any (own_wallets)
    union select unnest(array[a.transfer_id, a.owed_transfer_id])
      from pb.adjustments a where a.wallet_id = any (own_wallets)
  ) r
  where r.id is not null and not exists (select from pb.transfers t where t.id = r.id)
  on conflict do nothing;

  delete from pb.members m using pb.people p
  where m.account_id = v_account and p.id = m.person_id
    and p.email not in (select x ->> 'email' from jsonb_array_elements(p_export -> 'members') x);
  insert into pb.members as m (account_id, person_id, role)
  select v_account, pb.find_or_create_person(x ->> 'email', x ->> 'name'), (x ->> 'role')::pb.member_role
  from jsonb_array_elements(p_export -> 'members') x
  on conflict (account_id, person_id) do update set role = excluded.role;

  insert into pb.arrivals (account_id, epoch, from_cell, fence, balances, events, deliveries)
  values (v_account, p_epoch, p_from, p_fence, p_export -> 'balances', p_export -> 'events', p_export -> 'deliveries')
  on conflict (account_id) do update
  set epoch = excluded.epoch, from_cell = excluded.from_cell, fence = excluded.fence, balances = excluded.balances,
      events = excluded.events, deliveries = excluded.deliveries, imported_at = clock_timestamp(), activated_at = null;
end
$$;

-- Forgets an import that was not handed over. The rows stay, not active, and are replaced by the next import.
create or replace function pb.discard_arrival(p_account uuid, p_epoch integer) returns void
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  delete from pb.arrivals a where a.account_id = p_account and a.epoch = p_epoch and a.activated_at is null;
end;

-- Books balances and debts of an account against other_cells, and ends or begins its activity here. The caller has locked the
-- wallets.
create or replace function pb.book_move(p_balances jsonb, is_leaving boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  b record;
  now_at timestamptz := pb.entry_time();
begin
  for b in select * from jsonb_to_recordset(p_balances) as r (wallet_id uuid, balance bigint, owed bigint) loop
    update pb.wallets w
    set credited_micros = w.credited_micros + case when is_leaving then 0 else b.balance end,
        debited_micros = w.debited_micros + case when is_leaving then b.balance else 0 end,
        owed_micros = w.owed_micros + case when is_leaving then -b.owed else b.owed end,
        fenced_until = case when is_leaving then timestamptz 'infinity' end
    where w.id = b.wallet_id;
    insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
    select pb.new_uuid(), b.wallet_id, 'move',
      case when is_leaving then leg.debit else leg.credit end::pb.ledger_account,
      case when is_leaving then leg.credit else leg.debit end::pb.ledger_account, leg.micros, now_at
    from (values ('wallet', 'other_cells', b.balance), ('other_cells', 'receivable', b.owed)) as leg (debit, credit, micros)
    where leg.micros > 0;
  end loop;
end
$$;

create or replace function pb.set_account_owner(p_account uuid, p_epoch integer, p_cell text) returns void
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.account_owners as o (account_id, epoch, cell) values (p_account, p_epoch, p_cell)
  on conflict (account_id) do update set epoch = excluded.epoch, cell = excluded.cell, since = clock_timestamp();
end;

-- Gives the account to another cell, which has imported it with these balances. Returns 'handed_over', also if this epoch was
-- handed over before, or 'fence_ended': then the account may have changed since its export.
create or replace function pb.hand_over(
  p_operator text, p_reason text, p_account uuid, p_fence timestamptz, p_to text, p_epoch integer, p_balances jsonb
) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  own_wallets uuid[] := pb.account_wallets(p_account);
  known pb.account_owners;
begin
  perform from pb.accounts a where a.id = p_account for no key update;
  perform pb.lock_fenced_wallets(own_wallets);
  select * into known from pb.account_owners o where o.account_id = p_account;
  if (known.epoch, known.cell) = (p_epoch, p_to) then
    return 'handed_over';
  elsif p_fence <= clock_timestamp()
    or exists (select from pb.wallets w where w.id = any (own_wallets) and w.fenced_until is distinct from p_fence)
    or coalesce(known.epoch, 0) <> p_epoch - 1
  then
    return 'fence_ended';
  end if;
  if p_balances is distinct from (
    select jsonb_agg(jsonb_build_object(
      'wallet_id', w.id, 'balance', w.credited_micros - w.debited_micros - w.held_micros, 'owed', w.owed_micros
    ) order by w.id)
    from pb.wallets w where w.id = any (own_wallets)
  ) or pb.count_pending(p_account) > 0 then
    raise exception 'the account has changed since its export' using errcode = 'object_not_in_prerequisite_state';
  end if;
  perform pb.book_move(p_balances, is_leaving => true);
  perform pb.set_account_owner(p_account, p_epoch, p_to);
  delete from pb.arrivals a where a.account_id = p_account;
  -- The other cell sends them.
  delete from pb.webhook_deliveries d where d.wallet_id = any (own_wallets) and d.state = 'pending';
  delete from pb.events e where e.wallet_id = any (own_wallets) and e.dispatched_at is null;
  update pb.events e set email_due_at = null where e.wallet_id = any (own_wallets) and e.email_due_at is not null;
  perform pb.record_audit(
    p_operator, 'move_account', null, p_account::text, p_reason, 'moved_out',
    jsonb_build_object('to', p_to, 'epoch', p_epoch, 'balances', p_balances)
  );
  return 'handed_over';
end
$$;

-- Makes an imported account active. Only after the other cell has handed it over, with the same epoch. Repeatable.
create or replace function pb.activate_account(p_operator text, p_reason text, p_account uuid, p_epoch integer)
returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  own_wallets uuid[] := pb.account_wallets(p_account);
  arrived pb.arrivals;
begin
  perform from pb.accounts a where a.id = p_account for no key update;
  perform pb.lock_fenced_wallets(own_wallets);
  select * into arrived from pb.arrivals a where a.account_id = p_account for update;
  if arrived.epoch is distinct from p_epoch then
    return 'not_imported';
  elsif arrived.activated_at is not null then
    return 'activated';
  end if;
  perform pb.book_move(arrived.balances, is_leaving => false);
  perform pb.set_account_owner(p_account, p_epoch, (select c.name from pb.cell c));
  insert into pb.events select * from jsonb_populate_recordset(null::pb.events, arrived.events) on conflict do nothing;
  insert into pb.webhook_deliveries
  select * from jsonb_populate_recordset(null::pb.webhook_deliveries, arrived.deliveries) on conflict do nothing;
  update pb.arrivals a set activated_at = clock_timestamp(), events = '[]', deliveries = '[]' where a.account_id = p_account;
  perform pb.record_audit(
    p_operator, 'move_account', null, p_account::text, p_reason, 'moved_in',
    jsonb_build_object('from', arrived.from_cell, 'epoch', p_epoch, 'balances', arrived.balances)
  );
  return 'activated';
end
$$;
