-- Why: tenants are apart twice. `pennyblack_ledger` can only call the functions of a paid search and can read
-- no table; `pennyblack_tenant` can only read, and sees only the wallet named for its transaction. A slip in
-- the server's own SQL can then neither move money outside the functions nor show one tenant another's books.
-- (Row-level security on the batch path would be wrong: one setting names one wallet, a batch carries many.)
--
-- The roles themselves are made by `npm run admin -- database setup`, since they belong to the whole cluster.

-- What the server compares with the migrations it was built with, before it listens.
create function pb.applied_migrations() returns setof text
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select name::text from pb.migrations order by id;
end;

revoke all on all functions in schema pb from public;

grant usage on schema pb to pennyblack_ledger, pennyblack_tenant;
grant execute on function
  pb.hold, pb.capture, pb.release, pb.find_keys, pb.applied_migrations
  to pennyblack_ledger;

grant select (id, name, credited_micros, debited_micros, held_micros, suspended_at, created_at)
  on pb.wallets to pennyblack_tenant;
grant select (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
  on pb.transfers to pennyblack_tenant;

alter table pb.wallets enable row level security;
alter table pb.transfers enable row level security;

-- Unset, the setting is null or empty and no row matches: deny by default.
create policy own_wallet on pb.wallets for select to pennyblack_tenant
  using (id = nullif(current_setting('pb.wallet_id', true), '')::uuid);
create policy own_transfers on pb.transfers for select to pennyblack_tenant
  using (wallet_id = nullif(current_setting('pb.wallet_id', true), '')::uuid);
