-- Closing hours. The ledger entries of an hour are summed and included in a chain of digests per wallet, once, when no
-- transaction can add an entry to it any more. Nothing here is on the path of a search.
--
--   open -> announced   15 minutes after the end of the hour. From now on new entries get a time after the hour, even
--                       if the clock is set back. Captures use the unadjusted time: a capture needs a pending hold, and
--                       the sweep watermark shows that none exists.
--        -> marked      Transactions that may not have read the announcement have an id before closing_xid.
--        -> closed      They have ended, including those whose commit hung, and the watermarks of the sweeper and of usage
--                       have passed the hour. Its rows are final.
--
-- Each step is a separate transaction. An entry that appears later with a time in a closed hour is not included, and
-- reconciliation reports it.

-- Returns the time of a new ledger entry other than a capture. Call it after locking the wallet, because the lock assigns the
-- transaction id on which closing_xid relies.
create or replace function pb.entry_time() returns timestamptz
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
  select greatest(clock_timestamp(), w.closed_before, w.closing_before) from pb.ledger_watermark w;
end;

-- A record that is part of the digests of closed hours gets a time that is not in one. The transaction id is assigned first,
-- as for entries. The argument is the name of the column.
create or replace function pb.stamp_record() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  given timestamptz := to_jsonb(new) ->> tg_argv[0];
begin
  perform pg_current_xact_id();
  return jsonb_populate_record(new, jsonb_build_object(tg_argv[0], (
    select greatest(given, w.closed_before, w.closing_before) from pb.ledger_watermark w
  )));
end
$$;

create or replace function pb.line_text(p_text text) returns text
language sql immutable set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce('x' || encode(convert_to(p_text, 'UTF8'), 'hex'), '-');
end;

create or replace function pb.line_time(p_at timestamptz) returns text
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select to_char(p_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
end;

-- The list of changes and decided adjustments, as lines for the digest of an hour. Text is hexadecimal, so that a line has a
-- fixed number of fields.
create or replace function pb.records(p_since timestamptz, p_until timestamptz) returns table (at timestamptz, line text)
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select c.at, concat_ws(
    ' ', 'change', c.number, c.id, pb.line_time(c.at), c.actor, pb.line_text(c.operator), coalesce(c.actor_id::text, '-'),
    c.act, pb.line_text(c.subject), coalesce(c.account_id::text, '-'), coalesce(c.wallet_id::text, '-'),
    pb.line_text(c.reason), c.outcome, coalesce(encode(c.values_digest, 'hex'), '-'), c.visibility
  )
  from pb.changes c where c.at >= p_since and c.at < p_until
  union all
  select d.decided_at, concat_ws(
    ' ', 'adjustment', d.id, pb.line_time(d.requested_at), pb.line_time(d.decided_at), pb.line_text(d.kind),
    pb.line_text(d.reference), d.wallet_id, d.amount_micros, d.limit_micros, d.owed_micros, pb.line_text(d.state),
    pb.line_text(d.reason), pb.line_text(d.operator), pb.line_text(d.approver), coalesce(d.transfer_id::text, '-'),
    coalesce(d.owed_transfer_id::text, '-')
  )
  from pb.adjustments d where d.decided_at >= p_since and d.decided_at < p_until;
end;

-- The first closed hour also has the records before it.
create or replace function pb.records_since(p_hour timestamptz) returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select case
    when exists (select from pb.ledger_hours h where h.hour = p_hour - interval '1 hour') then p_hour
    else '-infinity'
  end;
end;

-- sha256(previous digest || "<hour> <number of records>\n" || lines), or the previous digest without records.
create or replace function pb.records_digest(p_hour timestamptz) returns bytea
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  previous bytea := coalesce(
    (select h.records_digest from pb.ledger_hours h where h.hour = p_hour - interval '1 hour'),
    decode(repeat('00', 32), 'hex')
  );
  lines text := (
    select count(*) || E'\n' || string_agg(r.line || E'\n', '' order by r.line collate "C")
    from pb.records(pb.records_since(p_hour), p_hour + interval '1 hour') r
  );
begin
  return coalesce(
    sha256(previous || convert_to(
      to_char(p_hour at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ' ' || lines, 'UTF8'
    )),
    previous
  );
end
$$;

-- Starts with the sums of the archived days, 25 hours before the first entry that is not archived, because an id can be a day off the
-- time of its entry. The lock keeps pb.close_day from moving that boundary.
create or replace function pb.begin_hours(p_due timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  first_id uuid;
begin
  perform from pb.retention for share;
  first_id := (select t.id from pb.transfers t where t.id >= pb.retained_since() order by t.id limit 1);

  insert into pb.wallet_checkpoints
    (wallet_id, entries, credited_micros, debited_micros, owed_micros, digest)
  select o.wallet_id, sum(o.transfers),
    coalesce(sum(o.amount_micros) filter (where o.to_account = 'wallet'), 0),
    coalesce(sum(o.amount_micros) filter (where o.from_account = 'wallet'), 0),
    coalesce(sum(o.amount_micros) filter (where o.from_account = 'receivable'), 0)
      - coalesce(sum(o.amount_micros) filter (where o.to_account = 'receivable'), 0),
    decode(repeat('00', 32), 'hex')
  from pb.openings o group by o.wallet_id;
  insert into pb.window_checkpoints select o.window_id, o.micros from pb.window_openings o;

  update pb.ledger_watermark
  set closed_before = least(p_due, date_trunc('hour', pb.uuid_time(first_id), 'utc')) - interval '25 hours',
      begun_at = clock_timestamp(),
      opening_micros = (select coalesce(sum(c.credited_micros - c.debited_micros), 0) from pb.wallet_checkpoints c);
end
$$;

-- Returns the condition that delays closing the next hour: 'transactions', 'sweep' or 'usage'. NULL if it can be closed.
create or replace function pb.hour_waits_for() returns text
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select case
    when w.closing_xid is null or pg_snapshot_xmin(pg_current_snapshot()) < w.closing_xid then 'transactions'
    when s.settled_before < w.closed_before + interval '1 hour' then 'sweep'
    when u.counted_before < w.closed_before + interval '1 hour' then 'usage'
  end
  from pb.ledger_watermark w, pb.sweep_watermark s, pb.usage_watermark u;
end;

-- Closes the next hours that have no rows, and returns the first hour that is not closed. If the next row is months away,
-- the hours up to a day before it are closed in one step. Others are checked one by one, at most 100 per call.
create or replace function pb.close_empty_hours(p_hour timestamptz, p_closing timestamptz) returns timestamptz
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  first_id uuid := greatest(pb.uuid_floor(p_hour - interval '25 hours'), pb.retained_since());
  last_hour timestamptz := date_trunc('hour', least(
    p_closing,
    (select w.settled_before from pb.sweep_watermark w),
    (select w.counted_before from pb.usage_watermark w)
  ), 'utc');
  next_hour timestamptz := greatest(p_hour, date_trunc('hour', least(
    last_hour,
    pb.uuid_time((select t.id from pb.transfers t where t.id >= first_id order by t.id limit 1)) - interval '25 hours',
    pb.uuid_time((select s.id from pb.searches s where s.id >= first_id order by s.id limit 1)) - interval '25 hours',
    (select min(r.at) from pb.records(pb.records_since(p_hour), last_hour) r)
  ), 'utc'));
begin
  for each_hour in 1..100 loop
    exit when next_hour >= last_hour or pb.hour_has_rows(next_hour);
    next_hour := next_hour + interval '1 hour';
  end loop;
  if next_hour > p_hour then
    insert into pb.ledger_hours
      (hour, entries, wallets, credited_micros, debited_micros, owed_micros, closed_at, records_digest)
    select h, 0, 0, 0, 0, 0, clock_timestamp(), pb.records_digest(p_hour)
    from generate_series(p_hour, next_hour - interval '1 hour', interval '1 hour') h;
    update pb.ledger_watermark set closed_before = next_hour;
  end if;
  return next_hour;
end
$$;

-- Whether a transfer, a search or a record has a time in this hour.
create or replace function pb.hour_has_rows(p_hour timestamptz) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_indexscan = off as $$
declare
  first_id uuid := greatest(pb.uuid_floor(p_hour - interval '25 hours'), pb.retained_since());
  last_id uuid := pb.uuid_floor(p_hour + interval '26 hours');
begin
  return exists (
      select from pb.transfers t
      where t.id >= first_id and t.id < last_id and t.created_at >= p_hour and t.created_at < p_hour + interval '1 hour'
    ) or exists (
      select from pb.searches s
      where s.id >= first_id and s.id < last_id and s.held_at >= p_hour and s.held_at < p_hour + interval '1 hour'
    ) or exists (select from pb.records(pb.records_since(p_hour), p_hour + interval '1 hour'));
end
$$;

-- Moves the next hour one step towards being closed. Call it again, in a new transaction, while it returns 'announced'
-- or 'marked'. Otherwise the state is 'ready' (verify the hour, then call pb.close_hour), 'open' (no hour is due),
-- 'busy' (another call is running) or what the hour waits for. p_now: the database's clock; tests pass another time.
create or replace function pb.prepare_hour(
  p_now timestamptz default clock_timestamp(), out hour timestamptz, out state text
)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  -- Only the owner may pass a later time, because entries would get times after it.
  at timestamptz := case when session_user = current_user then p_now else least(p_now, clock_timestamp()) end;
  due timestamptz := date_trunc('hour', at - interval '15 minutes', 'utc');
  closing timestamptz;
  xid xid8;
begin
  select w.closed_before, w.closing_before, w.closing_xid into hour, closing, xid
  from pb.ledger_watermark w for update skip locked;
  if not found then
    state := 'busy';
    return;
  end if;
  if hour = '-infinity' then
    perform pb.begin_hours(due);
    select w.closed_before into hour from pb.ledger_watermark w;
  end if;
  if closing > hour and xid is null then
    -- The announcement is committed, so every transaction with a later id reads it. The xmax of a snapshot is not enough: it
    -- follows the last transaction that has ended, and a running one can have a later id.
    update pb.ledger_watermark set closing_xid = pg_current_xact_id();
    state := 'marked';
  elsif closing > hour then
    state := pb.hour_waits_for();
    if state is null then
      hour := pb.close_empty_hours(hour, closing);
      state := case when hour < closing then coalesce(pb.hour_waits_for(), 'ready') else 'open' end;
    end if;
  elsif due > hour then
    update pb.ledger_watermark set closing_before = due, closing_xid = null;
    state := 'announced';
  else
    state := 'open';
  end if;
end
$$;

-- Closes an hour for which pb.prepare_hour returned 'ready'. Verification is up to the caller. One line per entry, in
-- the order of time and id:
--
--   <id> <wallet> <kind> <from account> <to account> <amount in micros> <time> <search id or ->
--
-- digest = sha256(previous digest of the wallet || "<hour> <number of entries>\n" || lines)
create or replace function pb.close_hour(
  p_hour timestamptz, out entries bigint, out wallets bigint
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_indexscan = off set work_mem = '64MB' as $$
#variable_conflict use_column
declare
  next_hour timestamptz := p_hour + interval '1 hour';
  -- An id is at most a day off the time of the hold, and a capture is up to a minute later. Archived days are in the sums
  -- that pb.begin_hours started with.
  first_id uuid := greatest(pb.uuid_floor(p_hour - interval '25 hours'), pb.retained_since());
  last_id uuid := pb.uuid_floor(next_hour + interval '25 hours');
  hour_text text := to_char(p_hour at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
begin
  perform from pb.ledger_watermark w
  where w.closed_before = p_hour and w.closing_before >= next_hour and pb.hour_waits_for() is null
  for update;
  if not found then
    raise exception 'hour % cannot be closed', hour_text using errcode = 'object_not_in_prerequisite_state';
  end if;

  insert into pb.wallet_hours (hour, wallet_id, entries, credited_micros, debited_micros, owed_micros, digest)
  select p_hour, e.wallet_id, e.entries, e.credited, e.debited, e.owed,
    sha256(
      coalesce(c.digest, decode(repeat('00', 32), 'hex'))
      || convert_to(hour_text || ' ' || e.entries || E'\n' || e.lines, 'UTF8')
    )
  from (
    select t.wallet_id, count(*) as entries,
      coalesce(sum(t.amount_micros) filter (where t.to_account = 'wallet'), 0) as credited,
      coalesce(sum(t.amount_micros) filter (where t.from_account = 'wallet'), 0) as debited,
      coalesce(sum(t.amount_micros) filter (where t.from_account = 'receivable'), 0)
        - coalesce(sum(t.amount_micros) filter (where t.to_account = 'receivable'), 0) as owed,
      string_agg(
        concat_ws(
          ' ', t.id, t.wallet_id, t.kind, t.from_account, t.to_account, t.amount_micros,
          to_char(t.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), coalesce(t.search_id::text, '-')
        ) || E'\n',
        '' order by t.created_at, t.id
      ) as lines
    from pb.transfers t
    where t.id >= first_id and t.id < last_id and t.created_at >= p_hour and t.created_at < next_hour
    group by t.wallet_id
  ) e
  left join pb.wallet_checkpoints c on c.wallet_id = e.wallet_id;

  insert into pb.wallet_checkpoints as c
    (wallet_id, hour, entries, credited_micros, debited_micros, owed_micros, digest)
  select h.wallet_id, h.hour, h.entries, h.credited_micros, h.debited_micros, h.owed_micros, h.digest
  from pb.wallet_hours h where h.hour = p_hour
  on conflict (wallet_id) do update
  set hour = excluded.hour, entries = c.entries + excluded.entries,
      credited_micros = c.credited_micros + excluded.credited_micros,
      debited_micros = c.debited_micros + excluded.debited_micros,
      owed_micros = c.owed_micros + excluded.owed_micros, digest = excluded.digest;

  insert into pb.ledger_hours
    (hour, entries, wallets, credited_micros, debited_micros, owed_micros, closed_at, records_digest)
  select p_hour, coalesce(sum(h.entries), 0), count(*), coalesce(sum(h.credited_micros), 0),
    coalesce(sum(h.debited_micros), 0), coalesce(sum(h.owed_micros), 0), clock_timestamp(), pb.records_digest(p_hour)
  from pb.wallet_hours h where h.hour = p_hour
  returning entries, wallets into entries, wallets;

  perform pb.add_to_windows(p_hour, first_id, last_id);
  update pb.ledger_watermark set closed_before = next_hour;
end
$$;

-- Adds the captured searches that were held in an hour to the sums of their windows.
create or replace function pb.add_to_windows(p_hour timestamptz, first_id uuid, last_id uuid) returns void
language plpgsql
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_indexscan = off as $$
begin
  insert into pb.window_checkpoints as c (window_id, micros)
  select w.id, sum(s.price_micros)::bigint
  from pb.searches s cross join lateral unnest(s.window_ids) as w (id)
  where s.id >= first_id and s.id < last_id and s.held_at >= p_hour and s.held_at < p_hour + interval '1 hour'
    and s.state = 'captured' and s.price_micros > 0
  group by w.id
  on conflict (window_id) do update set micros = c.micros + excluded.micros;

  -- A window that has ended is deleted, or replaced under a new id. Its sum is not read again. Finding these sums compares every sum
  -- with every window, so only the first hour of a day that has entries deletes them.
  if not exists (
    select from pb.ledger_hours h where h.hour >= date_trunc('day', p_hour, 'utc') and h.hour < p_hour and h.entries > 0
  ) then
    delete from pb.window_checkpoints c where not exists (select from pb.budget_windows w where w.id = c.window_id);
  end if;
end
$$;

-- A closed hour never changes, except that its root and signature are filled in once.
create or replace function pb.guard_ledger_hour() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'UPDATE' and to_jsonb(new) - '{root,signed}'::text[] = to_jsonb(old) - '{root,signed}'::text[]
    and new.root is not distinct from coalesce(old.root, new.root)
    and new.signed is not distinct from coalesce(old.signed, new.signed)
  then
    return new;
  end if;
  raise exception 'a closed hour does not change' using errcode = 'restrict_violation';
end
$$;
