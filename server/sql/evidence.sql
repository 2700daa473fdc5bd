-- Evidence for customers: receipts, and proofs that an entry is part of a signed root.

-- The entry that credited a top-up of the wallet. NULL if it has not been paid.
create or replace function pb.own_top_up_entry(p_top_up uuid) returns uuid
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select p.transfer_id from pb.top_ups t join pb.payments p on p.payment_id = t.payment_id
  where t.id = p_top_up and t.wallet_id = pb.own_wallet();
end;

-- Stores the signed root of a closed hour and its tree, once. False if the hour already has a root.
create or replace function pb.sign_hour(p_hour timestamptz, p_root bytea, p_signed text, p_levels bytea[])
returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update pb.ledger_hours h set root = p_root, signed = p_signed where h.hour = p_hour and h.root is null;
  if not found then
    return false;
  end if;
  insert into pb.hour_trees (hour, level, hashes)
  select p_hour, l.number - 1, l.hashes from unnest(p_levels) with ordinality as l (hashes, number);
  return true;
end
$$;

-- Stores the signed root of a day, once.
create or replace function pb.sign_day(p_day date, p_root bytea, p_signed text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into pb.ledger_days (day, root, signed) values (p_day, p_root, p_signed) on conflict (day) do nothing;
  return found;
end
$$;

-- The proof for the wallet's last signed hour that ended at or before p_until. `path`: the sibling hashes from the leaf
-- to the root. `complete_until`: the wallet has no other entry in a closed hour before this time. `hour_roots`: the roots
-- of the day's hours if the day is signed.
create or replace function pb.own_proof(
  p_until timestamptz, out hour timestamptz, out complete_until timestamptz, out digest bytea, out leaf_index bigint,
  out tree_size bigint, out path bytea[], out signed text, out hour_roots bytea[], out day_signed text
) returns setof record
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_wallet uuid := pb.own_wallet();
begin
  -- The last leaf is the digest of the records.
  select w.hour, w.digest, h.wallets + 1, h.signed into hour, digest, tree_size, signed
  from pb.wallet_hours w join pb.ledger_hours h on h.hour = w.hour
  where w.wallet_id = v_wallet and w.hour <= p_until - interval '1 hour' and h.signed is not null
  order by w.hour desc limit 1;
  if not found then
    return;
  end if;
  complete_until := coalesce(
    (select min(w.hour) from pb.wallet_hours w where w.wallet_id = v_wallet and w.hour > own_proof.hour),
    (select w.closed_before from pb.ledger_watermark w)
  );
  leaf_index := (select count(*) from pb.wallet_hours w where w.hour = own_proof.hour and w.wallet_id < v_wallet);
  path := array(
    select substring(t.hashes from (((leaf_index >> t.level) # 1) * 32 + 1)::integer for 32)
    from pb.hour_trees t
    where t.hour = own_proof.hour and ((leaf_index >> t.level) # 1) * 32 < octet_length(t.hashes)
    order by t.level
  );
  select d.signed into day_signed from pb.ledger_days d where d.day = pb.utc_day(own_proof.hour);
  if found then
    hour_roots := array(
      select h.root from pb.ledger_hours h
      where h.hour >= date_trunc('day', own_proof.hour, 'utc')
        and h.hour < date_trunc('day', own_proof.hour, 'utc') + interval '1 day'
      order by h.hour
    );
  end if;
  return next;
end
$$;
