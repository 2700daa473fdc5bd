-- Why: operators watch how much money is captured, released and expired. The sweeper said how many holds it ended, not
-- what they held; a hold of a test key holds nothing, so one cannot be told from the other.

-- As pb.expire was, and says what went back to the wallets. It holds their locks, so what each holds before and after
-- differs by nothing else.
create function pb.sweep(most integer, is_thorough boolean default false, out ended integer, out micros bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_at timestamptz := clock_timestamp();
  since timestamptz := case
    when is_thorough then now_at - interval '2 days' else (select settled_before from pb.sweep_watermark) end;
  -- A hold's id is at most a day older than the hold itself: pb.hold refuses a server whose clock is further off.
  first_id uuid := pb.uuid_floor(since - interval '1 day');
  overdue_ids uuid[];
  overdue_wallets uuid[];
begin
  select array_agg(o.id), array_agg(o.wallet_id) into overdue_ids, overdue_wallets
  from (
    select s.id, s.wallet_id from pb.searches s
    where s.id >= first_id and s.held_at >= since and s.state = 'pending' and s.expires_at <= now_at
    order by s.held_at limit most
  ) o;

  perform pb.lock_wallets(overdue_wallets);
  micros := (select coalesce(sum(w.held_micros), 0) from pb.wallets w where w.id = any (overdue_wallets));
  ended := pb.settle_unpaid(overdue_ids, overdue_wallets, 'expired', now_at, held_until => now_at);
  micros := micros - (select coalesce(sum(w.held_micros), 0) from pb.wallets w where w.id = any (overdue_wallets));

  update pb.sweep_watermark
  set settled_before = least(
    now_at - interval '2 minutes',
    coalesce((
      select min(s.held_at) from pb.searches s
      where s.id >= first_id and s.held_at >= since and s.state = 'pending'
    ), 'infinity')
  )
  where settled_before < now_at - interval '2 minutes';
end
$$;

revoke all on function pb.sweep from public;

-- A worker of the version before still calls it.
create or replace function pb.expire(most integer, is_thorough boolean default false) returns integer
language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  select ended from pb.sweep(most, is_thorough);
end;
