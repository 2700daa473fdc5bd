-- The sweeper expires holds that were neither captured nor released.

-- Expires up to max_holds holds that are overdue by the database's clock, oldest first, and returns how many there were
-- and how much money they held. It starts at a watermark, the oldest pending hold or two minutes ago, which gives
-- a commit a minute longer than a hold lasts to become visible. A hold that appears behind the watermark, after a
-- commit that hung or a clock that was set back, is found by the thorough pass over two days.
--
-- Holds of a wallet that another transaction has locked are skipped, do not count towards max_holds, and keep the
-- watermark where it is. skipped_ids are these wallets, and skipped_s is how many seconds the oldest of the holds has been
-- overdue. Because a hot wallet is nearly always locked, a sweep with only_wallet is restricted to that wallet and waits 200 ms for
-- its lock.
create or replace function pb.sweep(
  max_holds integer, is_thorough boolean default false, only_wallet uuid default null,
  out ended integer, out micros bigint, out skipped_s double precision, out skipped_ids uuid[]
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_at timestamptz := clock_timestamp();
  since timestamptz := case
    when is_thorough then now_at - interval '2 days' else (select settled_before from pb.sweep_watermark) end;
  -- An id is at most a day older than its hold, because pb.hold refuses others.
  first_id uuid := pb.uuid_floor(since - interval '1 day');
  overdue_ids uuid[];
  overdue_wallets uuid[];
  busy_ids uuid[];
begin
  if only_wallet is not null then
    perform set_config('lock_timeout', '200', true);
    perform pb.lock_wallets(array[only_wallet]);
  end if;
  skipped_ids := '{}';
  loop
    select array_agg(o.id), array_agg(o.wallet_id) into overdue_ids, overdue_wallets
    from (
      select s.id, s.wallet_id from pb.searches s
      where s.id >= first_id and s.held_at >= since and s.state = 'pending' and s.expires_at <= now_at
        and s.wallet_id <> all (skipped_ids) and s.wallet_id = coalesce(only_wallet, s.wallet_id)
      order by s.held_at limit max_holds
    ) o;
    busy_ids := pb.lock_free_wallets(overdue_wallets);
    exit when cardinality(busy_ids) = 0;
    skipped_ids := skipped_ids || busy_ids;
  end loop;

  micros := (select coalesce(sum(w.held_micros), 0) from pb.wallets w where w.id = any (overdue_wallets));
  ended := pb.settle_unpaid(overdue_ids, overdue_wallets, 'expired', now_at, held_until => now_at);
  micros := micros - (select coalesce(sum(w.held_micros), 0) from pb.wallets w where w.id = any (overdue_wallets));

  skipped_s := 0;
  if cardinality(skipped_ids) > 0 then
    skipped_s := (
      select coalesce(extract(epoch from now_at - min(s.expires_at)), 0) from pb.searches s
      where s.id >= first_id and s.held_at >= since and s.state = 'pending' and s.expires_at <= now_at
        and s.wallet_id = any (skipped_ids)
    );
  end if;

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
