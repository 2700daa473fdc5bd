-- Why: at ten million searches a day the ledger grows by gigabytes, and nobody asks about last year's searches one by one.
-- Old days leave the database and the books stay provable: before a day goes, what it adds up to is written down for each
-- wallet and budget, in the transaction that moves the edge of what is counted. From then on its rows count no more,
-- whether they are gone yet or not, so that taking a partition away needs no lock that a search would wait for.

-- Rows of searches and transfers with an older id are in the sums below and in the archive.
create table pb.retention (
  single_row boolean primary key default true check (single_row),
  kept_since date not null
);

insert into pb.retention (kept_since) values ('1970-01-01');

-- What a wallet's transfers of closed days come to, by kind and legs.
create table pb.openings (
  wallet_id uuid not null references pb.wallets,
  kind pb.transfer_kind not null,
  from_account pb.ledger_account not null,
  to_account pb.ledger_account not null,
  transfers bigint not null check (transfers > 0),
  amount_micros bigint not null check (amount_micros > 0),
  primary key (wallet_id, kind, from_account, to_account)
);

-- What the captured searches of closed days were counted with in the total of a key's budget.
create table pb.budget_openings (
  budget_id uuid primary key references pb.key_budgets,
  amount_micros bigint not null check (amount_micros > 0)
);

-- What was archived of a day: how many rows, and the SHA-256 of each file.
create table pb.closed_days (
  day date primary key,
  searches bigint not null,
  transfers bigint not null,
  searches_sum text not null,
  transfers_sum text not null,
  closed_at timestamptz not null
);

create function pb.kept_since() returns uuid stable language sql set search_path = pg_catalog, pg_temp
begin atomic
  select pb.uuid_floor(r.kept_since::timestamp at time zone 'utc') from pb.retention r;
end;

-- Takes a day out of what is counted. The caller has archived it and says what it archived; if that is not all there is,
-- or the day is not over in every respect, nothing happens.
create function pb.close_day(
  the_day date, archived_searches bigint, archived_transfers bigint, searches_sum text, transfers_sum text
) returns void
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  first_id uuid := pb.uuid_floor(the_day::timestamp at time zone 'utc');
  next_id uuid := pb.uuid_floor((the_day + 1)::timestamp at time zone 'utc');
  kept uuid;
  fault text;
begin
  perform from pb.retention for update;
  kept := pb.kept_since();
  fault := case
    -- Budgets count by the month, and a month may have 31 days.
    when the_day > pb.utc_day(clock_timestamp()) - 35 then 'it is younger than 35 days'
    when first_id < kept then 'it is closed already'
    when exists (select from pb.searches s where s.id >= kept and s.id < first_id)
      or exists (select from pb.transfers t where t.id >= kept and t.id < first_id) then 'an older day is open'
    when exists (select from pb.searches s where s.id >= first_id and s.id < next_id and s.state = 'pending')
      then 'a search of it is pending'
    when (select w.counted_before from pb.usage_watermark w) < (the_day + 3)::timestamp at time zone 'utc'
      then 'its usage is not counted'
    when (select count(*) from pb.searches s where s.id >= first_id and s.id < next_id) <> archived_searches
      or (select count(*) from pb.transfers t where t.id >= first_id and t.id < next_id) <> archived_transfers
      then 'the archive is not whole'
  end;
  if fault is not null then
    raise exception 'day % cannot be closed: %', the_day, fault using errcode = 'restrict_violation';
  end if;

  insert into pb.openings as o (wallet_id, kind, from_account, to_account, transfers, amount_micros)
  select t.wallet_id, t.kind, t.from_account, t.to_account, count(*), sum(t.amount_micros)::bigint
  from pb.transfers t where t.id >= first_id and t.id < next_id
  group by 1, 2, 3, 4
  on conflict (wallet_id, kind, from_account, to_account) do update
  set transfers = o.transfers + excluded.transfers, amount_micros = o.amount_micros + excluded.amount_micros;

  insert into pb.budget_openings as o (budget_id, amount_micros)
  select s.key_budget_id, sum(s.price_micros)::bigint
  from pb.searches s
  where s.id >= first_id and s.id < next_id and s.key_budget_id is not null and s.state = 'captured' and s.price_micros > 0
  group by 1
  on conflict (budget_id) do update set amount_micros = o.amount_micros + excluded.amount_micros;

  insert into pb.closed_days values
    (the_day, archived_searches, archived_transfers, searches_sum, transfers_sum, clock_timestamp());
  update pb.retention r set kept_since = the_day + 1;
end
$$;

-- The partitions of closed days that are still there, and whether their removal was begun.
create function pb.partitions_to_drop() returns table (parent text, partition text, is_attached boolean, is_pending boolean)
stable language sql set search_path = pg_catalog, pg_temp
begin atomic
  select p.name, c.relname::text, i.inhrelid is not null, coalesce(i.inhdetachpending, false)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'pb'
  cross join (values ('searches'), ('transfers')) as p (name)
  cross join pb.retention r
  left join pg_inherits i on i.inhrelid = c.oid
  where c.relkind = 'r' and c.relname ~ ('^' || p.name || '_\d{8}$')
    and right(c.relname::text, 8) < to_char(r.kept_since, 'YYYYMMDD')
  order by c.relname;
end;
