-- Apps that a person connects with OAuth, through the operator's OpenID Connect provider.
-- docs/decisions/0021-connected-apps.md gives the reasons.

-- Who a person is at the provider, recorded at each sign-in through it. A person has one subject per provider.
create table pb.identities (
  issuer text not null,
  subject text not null check (length(subject) between 1 and 255),
  person_id uuid not null references pb.people on delete cascade,
  primary key (issuer, subject),
  constraint one_subject_per_issuer unique (person_id, issuer)
);

-- The wallet that a person's apps spend from, and the daily budget of each new app. Without a row, no app can connect.
create table pb.app_settings (
  person_id uuid primary key references pb.people on delete cascade,
  wallet_id uuid not null references pb.wallets,
  day_limit_micros bigint not null check (day_limit_micros >= 0)
);

create index app_settings_by_wallet on pb.app_settings (wallet_id);

-- A connected app spends through a key of its own, which has no secret. The row of an app whose key is revoked stays, so that
-- the app does not connect again by itself.
create table pb.connected_apps (
  key_id uuid primary key,
  wallet_id uuid not null,
  person_id uuid not null references pb.people,
  client_id text not null check (length(client_id) between 1 and 512),
  constraint one_app_per_client unique (person_id, client_id),
  constraint app_key_in_same_wallet foreign key (wallet_id, key_id) references pb.keys (wallet_id, id)
);

create index connected_apps_by_wallet on pb.connected_apps (wallet_id);
