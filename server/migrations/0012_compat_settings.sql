-- Settings of a key for the compatibility endpoints, as in the API. Most clients of other search APIs can change only the base
-- URL and the key, so options that would be headers are set on the key.
alter table pb.keys add column compat jsonb constraint compat_is_object check (jsonb_typeof(compat) = 'object');
