-- Upkeep by the worker, which cannot write to any table itself. Each function deletes only rows that are no longer needed and
-- returns how many it deleted. Rows locked by a search are skipped, because they are in use and because never waiting for a
-- lock rules out deadlocks.

-- Deletes stored answers and Idempotency-Key claims older than a day.
create or replace function pb.delete_expired_answers(p_limit integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  deleted integer;
begin
  with old as materialized (
    select o.wallet_id, o.mode, o.key_hmac from pb.idempotency o
    where o.claimed_at <= clock_timestamp() - interval '24 hours'
    limit p_limit for update skip locked
  )
  delete from pb.idempotency c using old
  where c.wallet_id = old.wallet_id and c.mode = old.mode and c.key_hmac = old.key_hmac;
  get diagnostics deleted = row_count;
  return deleted;
end
$$;

-- Deletes windows and runs that ended, and budgets that were archived, over an hour ago. By then none of their searches is in
-- flight, because a hold lasts a minute.
create or replace function pb.delete_ended_windows(p_limit integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  deleted integer;
  ended_before timestamptz := clock_timestamp() - interval '1 hour';
begin
  -- In two parts, each of which reads only its index. One statement would read every window.
  with ended as materialized (
    select w.id from pb.budget_windows w where w.resets_at <= ended_before
    order by w.resets_at limit p_limit for update skip locked
  ), archived as materialized (
    select w.id from pb.budgets b
    join pb.budget_windows w on w.wallet_id = b.wallet_id and w.mode = b.mode and w.budget_id = b.id
    where b.archived_at <= ended_before
    limit p_limit for update of w skip locked
  ), deletable as (
    select id from ended union select id from archived
  ), opened as (
    delete from pb.window_openings o using deletable d where o.window_id = d.id
  )
  delete from pb.budget_windows w using deletable d where w.id = d.id;
  get diagnostics deleted = row_count;
  delete from pb.budgets b
  where b.archived_at <= ended_before and not exists (
    select from pb.budget_windows w where w.wallet_id = b.wallet_id and w.mode = b.mode and w.budget_id = b.id
  );
  return deleted;
end
$$;

-- Deletes events older than 30 days and their deliveries, and requests for a higher budget, which are shown for 30 days.
create or replace function pb.delete_old_events(p_limit integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  deleted integer;
begin
  delete from pb.events e where e.id in (
    select o.id from pb.events o where o.id < pb.uuid_floor(clock_timestamp() - interval '30 days')
    order by o.id limit p_limit
  );
  get diagnostics deleted = row_count;
  delete from pb.budget_requests r where r.id in (
    select o.id from pb.budget_requests o where o.id < pb.uuid_floor(clock_timestamp() - interval '30 days')
    order by o.id limit p_limit
  );
  return deleted;
end
$$;

-- Deletes expired sign-in tokens and sessions, and people who never joined an account.
create or replace function pb.delete_expired_sign_ins(p_limit integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  tokens integer;
  sessions integer;
  people integer;
begin
  delete from pb.sign_in_tokens d where d.digest in (
    select t.digest from pb.sign_in_tokens t where t.expires_at < clock_timestamp() - interval '1 day' limit p_limit
  );
  get diagnostics tokens = row_count;
  delete from pb.sessions d where d.id in (
    select s.id from pb.sessions s where not pb.is_live(s) limit p_limit
  );
  get diagnostics sessions = row_count;
  delete from pb.people d where d.id in (
    select p.id from pb.people p
    where p.created_at < clock_timestamp() - interval '30 days'
      and not exists (select from pb.members m where m.person_id = p.id)
      and not exists (select from pb.sessions s where s.person_id = p.id)
    limit p_limit for update skip locked
  );
  get diagnostics people = row_count;
  return tokens + sessions + people;
end
$$;

-- Returns the partitions whose test searches may be deleted, which are whole days that ended at least p_days ago. An id can be a day
-- off the time of its hold, and the last two days of usage are recounted.
create or replace function pb.prunable_partitions(p_days integer) returns setof text
stable language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'pb.searches'::regclass and not i.inhdetachpending
    and c.relname < 'searches_' || to_char(
      least(
        clock_timestamp() - greatest(p_days, 3) * interval '1 day', pb.usage_as_of() - interval '3 days'
      ) at time zone 'utc', 'YYYYMMDD')
  order by c.relname;
end;

-- The next wallet with test searches in a partition, or NULL.
create or replace function pb.find_test_wallet(p_partition text, p_after uuid) returns uuid
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  found_id uuid;
begin
  execute format(
    'select wallet_id from pb.%I where mode = ''test'' and wallet_id > $1 order by wallet_id limit 1',
    (select p from pb.prunable_partitions(3) p where p = p_partition)
  ) into found_id using p_after;
  return found_id;
end
$$;

-- Deletes up to 1,000 test searches of a wallet with an id below p_before. They moved no money. last_id is the lowest id
-- read, or NULL at the end. Starting over would read the index entries of the rows deleted so far, which stay until a
-- vacuum. A partition that is not prunable is NULL, which format() rejects.
create or replace function pb.delete_test_searches(
  p_partition text, p_wallet uuid, p_before uuid, out deleted integer, out last_id uuid
)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  execute format(
    'with old as materialized (
       select id from pb.%1$I where mode = ''test'' and wallet_id = $1 and id < $2 order by id desc limit 1000
     ), gone as (
       delete from pb.%1$I s using old where s.id = old.id and s.state <> ''pending'' returning s.id
     )
     select (select count(*) from gone), (select id from old order by id limit 1)',
    (select p from pb.prunable_partitions(3) p where p = p_partition)
  ) into deleted, last_id using p_wallet, p_before;
end
$$;

-- Records that the comparison with the payment processor is complete for everything before this time, which never moves back.
create or replace function pb.record_comparison(p_until timestamptz) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  update pb.payment_comparison c set compared_until = greatest(c.compared_until, p_until);
end;

-- Saves a report of the reconciliation for operators and deletes reports older than a month.
create or replace function pb.save_reconciliation(p_at timestamptz, p_differences bigint, p_checks jsonb) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  insert into pb.reconciliations (at, differences, checks) values (p_at, p_differences, p_checks)
  on conflict (at) do nothing;
  delete from pb.reconciliations r where r.at < clock_timestamp() - interval '31 days';
end;

-- Records that a server or worker runs, with the ids of the secrets that it lists. A process that stops leaves no row, unlike one
-- that crashes.
create or replace function pb.report_process(p_process uuid, p_kind text, p_secrets text[], p_stopped boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_stopped then
    delete from pb.process_reports r where r.process_id = p_process;
  else
    insert into pb.process_reports (process_id, kind, secret_ids, started_at, seen_at)
    values (p_process, p_kind, p_secrets, clock_timestamp(), clock_timestamp())
    on conflict (process_id) do update set seen_at = excluded.seen_at;
    delete from pb.process_reports r where r.seen_at < clock_timestamp() - interval '1 day';
  end if;
end
$$;

create or replace function pb.report_server(p_process uuid, p_secrets text[], p_stopped boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.report_process(p_process, 'server', p_secrets, p_stopped);
end
$$;

-- Records that a worker runs, like pb.report_process, with its tasks, the maximum age of their last success in seconds, and the tasks
-- that have succeeded since its last report.
create or replace function pb.report_worker(
  p_process uuid, p_secrets text[], p_tasks text[], p_max_ages integer[], p_succeeded text[], p_stopped boolean
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pb.report_process(p_process, 'worker', p_secrets, p_stopped);
  -- In a fixed order, because several workers report at the same time.
  insert into pb.worker_tasks as t (task, max_age_s, succeeded_at, reported_at)
  select n.task, n.max_age_s, clock_timestamp(), clock_timestamp()
  from unnest(p_tasks, p_max_ages) n (task, max_age_s) order by n.task
  on conflict (task) do update
  set max_age_s = excluded.max_age_s, reported_at = excluded.reported_at,
    succeeded_at = case when t.task = any (p_succeeded) then excluded.succeeded_at else t.succeeded_at end;
end
$$;
