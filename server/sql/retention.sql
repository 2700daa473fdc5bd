-- Retention removes old days from the database while the books stay provable. Closing a day saves its totals per wallet and window
-- in the transaction that moves the boundary. From then on its rows no longer count, whether or not they still exist, so dropping a
-- partition needs no lock that a search would wait for.

-- The first id that is not archived.
create or replace function pb.retained_since() returns uuid stable language sql set search_path = pg_catalog, pg_temp
begin atomic
  select pb.uuid_floor(r.retained_since::timestamp at time zone 'utc') from pb.retention r;
end;

-- Closes a day that the caller has archived. Fails unless the archive is complete and the day is final.
create or replace function pb.close_day(
  p_day date, archived_searches bigint, archived_transfers bigint, searches_sum text, transfers_sum text
) returns void
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  first_id uuid := pb.uuid_floor(p_day::timestamp at time zone 'utc');
  next_id uuid := pb.uuid_floor((p_day + 1)::timestamp at time zone 'utc');
  retained uuid;
  fault text;
begin
  perform from pb.retention for update;
  retained := pb.retained_since();
  fault := case
    -- Windows last up to a month, and a month can have 31 days.
    when p_day > pb.utc_day(clock_timestamp()) - 35 then 'it is younger than 35 days'
    when first_id < retained then 'it is closed already'
    when exists (select from pb.searches s where s.id >= retained and s.id < first_id)
      or exists (select from pb.transfers t where t.id >= retained and t.id < first_id) then 'an older day is open'
    when exists (select from pb.searches s where s.id >= first_id and s.id < next_id and s.state = 'pending')
      then 'a search of it is pending'
    when (select w.counted_before from pb.usage_watermark w) < (p_day + 3)::timestamp at time zone 'utc'
      then 'its usage is not counted'
    when (select count(*) from pb.searches s where s.id >= first_id and s.id < next_id) <> archived_searches
      or (select count(*) from pb.transfers t where t.id >= first_id and t.id < next_id) <> archived_transfers
      then 'the archive is not whole'
    -- The time of an entry can be a day off its id.
    when (select w.closed_before from pb.ledger_watermark w) < (p_day + 3)::timestamp at time zone 'utc'
      then 'its hours are not closed'
  end;
  if fault is not null then
    raise exception 'day % cannot be closed: %', p_day, fault using errcode = 'restrict_violation';
  end if;

  insert into pb.openings as o (wallet_id, kind, from_account, to_account, transfers, amount_micros)
  select t.wallet_id, t.kind, t.from_account, t.to_account, count(*), sum(t.amount_micros)::bigint
  from pb.transfers t where t.id >= first_id and t.id < next_id
  group by 1, 2, 3, 4
  on conflict (wallet_id, kind, from_account, to_account) do update
  set transfers = o.transfers + excluded.transfers, amount_micros = o.amount_micros + excluded.amount_micros;

  insert into pb.window_openings as o (window_id, micros)
  select w.id, sum(s.price_micros)::bigint
  from pb.searches s
  cross join lateral unnest(s.window_ids) as n (id)
  join pb.budget_windows w on w.id = n.id and w.resets_at is null
  where s.id >= first_id and s.id < next_id and s.state = 'captured' and s.price_micros > 0
  group by w.id
  on conflict (window_id) do update set micros = o.micros + excluded.micros;

  insert into pb.closed_days values
    (p_day, archived_searches, archived_transfers, searches_sum, transfers_sum, clock_timestamp());
  update pb.retention r set retained_since = p_day + 1;
end
$$;

-- Partitions of closed days that still exist, and whether detaching was started.
create or replace function pb.partitions_to_drop()
returns table (parent text, partition text, is_attached boolean, is_pending boolean)
stable language sql set search_path = pg_catalog, pg_temp
begin atomic
  select p.name, c.relname::text, i.inhrelid is not null, coalesce(i.inhdetachpending, false)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'pb'
  cross join (values ('searches'), ('transfers')) as p (name)
  cross join pb.retention r
  left join pg_inherits i on i.inhrelid = c.oid
  where c.relkind = 'r' and c.relname ~ ('^' || p.name || '_\d{8}$')
    and right(c.relname::text, 8) < to_char(r.retained_since, 'YYYYMMDD')
  order by c.relname;
end;
