-- The scope keys:read. Listing keys required keys:write, so a dashboard or an audit script needed a key that can create keys.
-- No existing key changes, and the previous release ignores a scope that it does not list.
alter table pb.keys
  drop constraint known_scopes,
  add constraint known_scopes
    check (scopes <@ array['search', 'wallet:read', 'wallet:write', 'keys:read', 'keys:write', 'webhooks:write']);
