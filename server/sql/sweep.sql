-- The sweeper expires holds that were neither captured nor released.

-- Expires up to max_holds holds that are overdue by the database's clock, oldest first, and returns how many there were
-- and how much money they held. It reads from a watermark on: the oldest pending hold, or two minutes ago, which gives
-- a commit a minute longer than a hold lasts to become visible. A hold that appears behind the watermark, after a
-- commit that hung or a clock that was set back, is found by the thorough pass over two days.
create or replace function pb.sweep(
  max_holds integer, is_thorough boolean default false, out ended integer, out micros bigint
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_at timestamptz := clock_timestamp();
  since timestamptz := case
    when is_thorough then now_at - interval '2 days' else (select settled_before from pb.sweep_watermark) end;
  -- An id is at most a day older than its hold: pb.hold refuses others.
  first_id uuid := pb.uuid_floor(since - interval '1 day');
  overdue_ids uuid[];
  overdue_wallets uuid[];
begin
  select array_agg(o.id), array_agg(o.wallet_id) into overdue_ids, overdue_wallets
  from (
    select s.id, s.wallet_id from pb.searches s
    where s.id >= first_id and s.held_at >= since and s.state = 'pending' and s.expires_at <= now_at
    order by s.held_at limit max_holds
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

-- Every sweep updates the watermark, so its row also shows when a worker last ran.
create or replace function pb.record_sweep() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.swept_at := clock_timestamp();
  return new;
end
$$;
