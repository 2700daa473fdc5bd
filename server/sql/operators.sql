-- Operator actions. pennyblack_operator reads all wallets and acts only through these functions, each of which writes
-- a row of pb.changes in its own transaction.

-- For triggers of append-only tables.
create or replace function pb.forbid_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'this table is append-only' using errcode = 'restrict_violation';
end
$$;

-- Deletes an account, see pb.delete_account. Only the owner calls it, for the admin command. A balance that may be forfeited is
-- booked as breakage first. If a second operator must approve that, nothing is deleted yet.
create or replace function pb.operator_delete_account(
  p_operator text, p_reason text, p_account uuid, may_forfeit boolean
) returns table (outcome text, balance_micros bigint, adjustment_id uuid)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if may_forfeit then
    select f.outcome, f.amount_micros, f.adjustment_id into outcome, balance_micros, adjustment_id
    from pb.forfeit_balances(p_operator, p_reason, p_account) f;
  end if;
  if outcome is null then
    select d.outcome, d.balance_micros into outcome, balance_micros from pb.delete_account(p_account) d;
  end if;
  if outcome <> 'not_found' then
    perform pb.record_operator_act(
      p_operator, p_reason, 'account.delete', p_account::text, p_outcome => outcome, p_account => p_account,
      p_after => jsonb_build_object('balance', pb.usd(balance_micros))
    );
  end if;
  return next;
end
$$;

-- Books the available balance of each wallet of an account as breakage. Returns a row for the first one that cannot be booked.
create or replace function pb.forfeit_balances(p_operator text, p_reason text, p_account uuid)
returns table (outcome text, amount_micros bigint, adjustment_id uuid)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  w pb.wallets;
begin
  -- Before the wallets, as in pb.operator_adjust.
  perform from pb.approval_limit for update;
  perform pb.lock_wallets(array(select r.id from pb.wallets r where r.account_id = p_account));
  for w in
    select r.* from pb.wallets r join pb.accounts a on a.id = r.account_id
    where a.id = p_account and a.deleted_at is null and r.credited_micros > r.debited_micros order by r.id
  loop
    amount_micros := w.credited_micros - w.debited_micros;
    if w.held_micros > 0 then
      return query select 'searches_in_flight', w.held_micros, null::uuid;
      return;
    end if;
    select j.outcome, j.adjustment_id into outcome, adjustment_id
    from pb.operator_adjust(p_operator, p_reason, 'breakage', 'deletion of ' || w.id, w.id, amount_micros) j;
    if outcome <> 'booked' then
      return next;
      return;
    end if;
  end loop;
end
$$;

-- Records that an operator views the data of a wallet, at most once an hour, because open pages reload their data. Returns false if
-- the wallet does not exist.
create or replace function pb.operator_view(p_operator text, p_reason text, p_wallet uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from pb.wallets w where w.id = p_wallet) then
    return false;
  end if;
  -- The requests of one page arrive at the same time.
  perform pg_advisory_xact_lock(hashtextextended('view ' || p_operator || ' ' || p_wallet, 0));
  if not exists (
    select from pb.changes c
    where c.wallet_id = p_wallet and c.operator = p_operator and c.act = 'account.view'
      and c.at > clock_timestamp() - interval '1 hour'
  ) then
    perform pb.record_operator_act(p_operator, p_reason, 'account.view', p_wallet::text, p_wallet);
  end if;
  return true;
end
$$;

-- NULL if the wallet belongs to no account.
create or replace function pb.operator_read_team(p_wallet uuid) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select pb.describe_team(w.account_id, null) from pb.wallets w where w.id = p_wallet and w.account_id is not null;
end;

-- Refunds a captured search, found by its Request-Id alone.
create or replace function pb.operator_refund(p_operator text, p_reason text, p_search uuid, p_transfer uuid)
returns table (outcome text, balance_micros bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_wallet uuid := (select s.wallet_id from pb.searches s where s.id = p_search);
begin
  select r.outcome, r.balance_micros into outcome, balance_micros
  from pb.refund(array[p_search], array[v_wallet], array[p_transfer], array[p_reason]) r;
  -- Read again, because the refund may have paid a debt.
  select w.credited_micros - w.debited_micros into balance_micros from pb.wallets w where w.id = v_wallet;
  perform pb.record_operator_act(p_operator, p_reason, 'search.refund', p_search::text, v_wallet, outcome);
  return next;
end
$$;

create or replace function pb.operator_suspend(p_operator text, p_reason text, p_wallet uuid, is_suspended boolean)
returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was_found boolean := pb.suspend_wallet(p_wallet, is_suspended);
begin
  if was_found then
    perform pb.record_operator_act(
      p_operator, p_reason, case when is_suspended then 'wallet.suspend' else 'wallet.resume' end, p_wallet::text, p_wallet
    );
  end if;
  return was_found;
end
$$;

-- Returns 'revoked', 'repeated' or 'unknown_key'.
create or replace function pb.operator_revoke_key(
  p_operator text, p_reason text, p_key uuid, p_cause text default 'operator'
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_wallet uuid := (select k.wallet_id from pb.keys k where k.id = p_key);
  outcome text;
begin
  if v_wallet is null then
    return 'unknown_key';
  end if;
  outcome := case when pb.revoke_key(v_wallet, p_key, p_cause) then 'revoked' else 'repeated' end;
  perform pb.record_operator_act(
    p_operator, p_reason, 'key.revoke', p_key::text, v_wallet, outcome, p_after => jsonb_build_object('cause', p_cause)
  );
  return outcome;
end
$$;

-- Closes a payment notice that a person has handled. Returns false if it does not exist or is already closed.
create or replace function pb.operator_close_notice(p_operator text, p_reason text, p_notice uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update pb.payment_notices n set closed_at = clock_timestamp(), closed_by = p_operator
  where n.id = p_notice and n.closed_at is null;
  if not found then
    return false;
  end if;
  perform pb.record_operator_act(p_operator, p_reason, 'notice.close', p_notice::text);
  return true;
end
$$;

-- Records that servers may use this database from now on. See server/src/db/share-timeline.ts. A dump contains the timelines
-- of the database it was made of.
create or replace function pb.operator_accept_database(p_operator text, p_reason text, p_identity text) returns void
language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  delete from pb.timelines t using pg_control_system() s where t.system_identifier <> s.system_identifier;
  select pb.record_operator_act(p_operator, p_reason, 'database.accept', p_identity);
end;

-- Figures about the database. The search for the oldest pending hold is bounded, so that it stays cheap when the
-- sweeper has not run for hours.
create or replace function pb.operator_health(
  out oldest_pending_s integer, out worker_seen_at timestamptz, out worker_crashes integer, out late_tasks text[],
  out partition_days integer, out connections integer, out max_connections integer, out bytes bigint
)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  since timestamptz;
begin
  worker_seen_at := (select max(t.reported_at) from pb.worker_tasks t);
  -- Reports come every five seconds, and a worker that stops deletes its row.
  worker_crashes := (
    select count(*) from pb.process_reports r
    where r.kind = 'worker' and r.started_at > clock_timestamp() - interval '10 minutes'
      and r.seen_at < clock_timestamp() - interval '30 seconds'
  );
  -- If no worker is running, all tasks are late. A task that a newer release no longer has is not reported.
  late_tasks := (
    select coalesce(array_agg(t.task order by t.task), '{}') from pb.worker_tasks t
    where t.reported_at > clock_timestamp() - interval '5 minutes'
      and t.succeeded_at < clock_timestamp() - t.max_age_s * interval '1 second'
  );
  select w.settled_before into since from pb.sweep_watermark w;
  oldest_pending_s := (
    select extract(epoch from clock_timestamp() - min(s.held_at))
    from (
      select f.held_at, f.state from pb.searches f
      where f.id >= pb.uuid_floor(since - interval '1 minute') order by f.id limit 100000
    ) s
    where s.state = 'pending'
  );
  partition_days := pb.partition_days_ahead();
  connections := (select sum(numbackends) from pg_stat_database);
  max_connections := current_setting('max_connections');
  bytes := pg_database_size(current_database());
end
$$;
