-- Idempotency claims of searches. A claim is found by an HMAC of its Idempotency-Key under the wallet's data key.

-- Deletes claims older than a day, whose answers are no longer guaranteed, before the accepted items claim their Idempotency-Keys
-- again. Accepted items are those with a mode.
create or replace function pb.delete_old_claims(
  wallet_ids uuid[], idempotency_hmacs bytea[], held_modes pb.key_mode[], now_at timestamptz
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  delete from pb.idempotency c
  using unnest(wallet_ids, idempotency_hmacs, held_modes) as b (wallet_id, hmac, mode)
  cross join lateral (
    select f.ctid as place from pb.idempotency f
    where f.wallet_id = b.wallet_id and f.key_hmac = b.hmac and f.mode = b.mode
      and f.claimed_at <= now_at - interval '24 hours'
    offset 0
  ) old
  where c.ctid = old.place;
end
$$;

-- A claim whose search has not finished after 15 s belongs to a server that crashed or is paused, because the upstream phase ends
-- after 10 s. A retry expires that hold in its own transaction, so only one of the two can be charged. Only an
-- item that passes the checks of key, account and id may take over a claim, and a hold that is sent again must not
-- expire itself.
create or replace function pb.take_over_claims(
  search_ids uuid[], wallet_ids uuid[], key_ids uuid[], idempotency_hmacs bytea[], fingerprints bytea[],
  now_at timestamptz
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  takers integer[];
  stale uuid[];
  stale_wallets uuid[];
  first_id uuid := (select id from unnest(search_ids) id order by id limit 1);
  last_id uuid := (select id from unnest(search_ids) id order by id desc limit 1);
begin
  -- OFFSET 0 forces an index look-up per item, while a plain join may scan all claims of a wallet.
  select array_agg(b.item) into takers
  from unnest(wallet_ids, idempotency_hmacs, fingerprints) with ordinality
    as b (wallet_id, idempotency_hmac, fingerprint, item)
  cross join lateral (
    select f.fingerprint, f.answer, f.claimed_at from pb.idempotency f
    where f.wallet_id = b.wallet_id and f.key_hmac = b.idempotency_hmac offset 0
  ) c
  where c.fingerprint = b.fingerprint and c.answer is null
    and c.claimed_at <= now_at - interval '15 seconds';
  if takers is null then
    return;
  end if;

  select array_agg(c.search_id), array_agg(c.wallet_id) into stale, stale_wallets
  from unnest(takers) as t (item)
  cross join lateral (select * from pb.wallets f where f.id = wallet_ids[t.item] offset 0) w
  cross join lateral (select * from pb.keys f where f.id = key_ids[t.item] offset 0) k
  cross join lateral (
    select * from pb.idempotency f
    where f.wallet_id = wallet_ids[t.item] and f.key_hmac = idempotency_hmacs[t.item] and f.mode = k.mode offset 0
  ) c
  where w.suspended_at is null and k.wallet_id = w.id and k.revoked_at is null and coalesce(k.expires_at > now_at, true)
    and c.fingerprint = fingerprints[t.item] and c.answer is null
    and c.claimed_at <= now_at - interval '15 seconds'
    and not exists (
      select from pb.searches s where s.id = search_ids[t.item] and s.id between first_id and last_id offset 0
    );
  perform pb.settle_unpaid(stale, stale_wallets, 'expired', now_at);
end
$$;
