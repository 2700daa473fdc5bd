import { randomUUID } from "node:crypto";
import { digestToken, mintToken } from "../../../src/lib/token.ts";
import type { TestDatabase } from "../../support/services/database.ts";
import type { Tenant } from "./tenant.ts";

// Console sessions for a tenant's wallet. Written directly to the tables, because signing in would take most of a run.

interface Member {
  /** The placeholder of the session, or of the person's id. */
  placeholder: string;
  role: "owner" | "developer" | "viewer";
  hoursAgo?: number;
}

const members: readonly Member[] = [
  { placeholder: "owner", role: "owner" },
  { placeholder: "developer", role: "developer" },
  { placeholder: "viewer", role: "viewer" },
  { placeholder: "stale", role: "owner", hoursAgo: 1 },
  { placeholder: "disposable", role: "viewer" },
  ...Array.from({ length: 6 }, (): Member => ({ placeholder: "memberId", role: "viewer" })),
];

export async function openSessions({ owner }: TestDatabase, walletId: string): Promise<Tenant> {
  const people = members.map((member) => ({ ...member, token: mintToken(), email: createAddress() }));
  const { rows } = await owner.query<{ email: string; person_id: string }>(
    `with given as (
       select * from unnest($2::text[], $3::pb.member_role[], $4::bytea[], $5::int[]) as g (email, role, digest, hours)),
     made as (insert into pb.people (email, name) select email, 'fuzz' from given returning id, email),
     joined as (insert into pb.members (account_id, person_id, role)
       select w.account_id, made.id, given.role from pb.wallets w, made join given using (email) where w.id = $1),
     signed as (insert into pb.sessions (digest, person_id, authenticated_at)
       select given.digest, made.id, clock_timestamp() - make_interval(hours => given.hours)
       from made join given using (email))
     select email, id as person_id from made`,
    [
      walletId,
      people.map(({ email }) => email),
      people.map(({ role }) => role),
      people.map(({ token }) => digestToken(token)),
      people.map(({ hoursAgo = 0 }) => hoursAgo),
    ],
  );
  const idOf = (email: string): string => rows.find((row) => row.email === email)?.person_id ?? "";
  const ownInvitationId = await inviteToOthers(owner, people[0]?.email ?? "");
  const appId = await writeDisconnectedApps(owner, walletId, people[0]?.email ?? "");
  const found: Tenant = { walletId: [walletId], ownInvitationId, appId, ...(await writeLinks(owner, walletId)) };
  for (const { placeholder, token, email } of people) {
    (found[placeholder] ??= []).push(placeholder === "memberId" ? idOf(email) : token);
  }
  return found;
}

const linksOfEach = 6;

/** Single-use tokens to sign in and to join. */
async function writeLinks(owner: TestDatabase["owner"], walletId: string): Promise<Tenant> {
  const mint = (): string[] => Array.from({ length: linksOfEach }, mintToken);
  const [signIns, invitations] = [mint(), mint()];
  await owner.query(
    `insert into pb.sign_in_tokens (digest, email, may_sign_up, expires_at)
     select digest, email, true, now() + interval '1 hour' from unnest($1::bytea[], $2::text[]) as t (digest, email)`,
    [signIns.map(digestToken), signIns.map(createAddress)],
  );
  const { rows } = await owner.query<{ id: string }>(
    `insert into pb.invitations (account_id, email, role, digest, expires_at)
     select w.account_id, t.email, 'viewer', t.digest, now() + interval '1 hour'
     from pb.wallets w, unnest($2::bytea[], $3::text[]) as t (digest, email) where w.id = $1 returning id`,
    [walletId, invitations.map(digestToken), invitations.map(createAddress)],
  );
  return { signInOnce: signIns, invitationOnce: invitations, invitationId: rows.slice(0, 2).map(({ id }) => id) };
}

/** Invites the tenant's owner to other accounts. Returns the ids of the invitations. */
async function inviteToOthers(owner: TestDatabase["owner"], email: string): Promise<string[]> {
  const { rows } = await owner.query<{ id: string }>(
    `with others as (insert into pb.accounts (name) select 'other' from unnest($2::bytea[]) returning id)
     insert into pb.invitations (account_id, email, role, digest, expires_at)
     select o.id, $1, 'viewer', t.digest, now() + interval '1 hour'
     from (select id, row_number() over () as number from others) o
     join unnest($2::bytea[]) with ordinality as t (digest, number) using (number) returning id`,
    [email, Array.from({ length: linksOfEach }, mintToken).map(digestToken)],
  );
  return rows.map(({ id }) => id);
}

/** Apps of the tenant's owner that can be allowed again. Returns the ids of their keys. */
async function writeDisconnectedApps(owner: TestDatabase["owner"], walletId: string, email: string): Promise<string[]> {
  const { rows } = await owner.query<{ key_id: string }>(
    `with revoked as (
       insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, revoked_at)
       select gen_random_uuid(), $1, 'live', 'app', 'oauth', 1, t.digest, array['search'], now()
       from unnest($2::bytea[]) as t (digest) returning id)
     insert into pb.connected_apps (key_id, wallet_id, person_id, client_id)
     select revoked.id, $1, p.id, revoked.id::text from revoked, pb.people p where p.email = $3 returning key_id`,
    [walletId, Array.from({ length: linksOfEach }, mintToken).map(digestToken), email],
  );
  return rows.map(({ key_id }) => key_id);
}

/** A unique e-mail address. */
export function createAddress(): string {
  return `${randomUUID()}@fuzz.test`;
}
