-- Why: management keys come to do more than read. Two scopes join: wallet:write moves money into the wallet or sets how
-- that happens, webhooks:write says who is told of it. Management keys that had every scope have every scope again.
--
-- Functions that write for a tenant take the wallet from the transaction, never from an argument, so that a slip in the
-- server's SQL cannot name another one.

alter table pb.keys drop constraint keys_scopes_check;
alter table pb.keys add constraint known_scopes
  check (scopes <@ array['search', 'wallet:read', 'wallet:write', 'keys:write', 'webhooks:write']);

update pb.keys set scopes = array['wallet:read', 'wallet:write', 'keys:write', 'webhooks:write']
where mode = 'mgmt' and scopes @> array['wallet:read', 'keys:write'];

-- The wallet named for this transaction. Unset it is null, and nothing equals null: deny by default.
create function pb.own_wallet() returns uuid
language sql stable parallel safe set search_path = pg_catalog, pg_temp
return nullif(current_setting('pb.wallet_id', true), '')::uuid;

grant execute on function pb.own_wallet to pennyblack_tenant;
