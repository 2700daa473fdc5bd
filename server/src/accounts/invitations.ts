import { hash, randomBytes } from "node:crypto";
import { inTransaction } from "../db/in-transaction.ts";
import type { Pool } from "../db/pool.ts";
import type { Role } from "./members.ts";

export interface Invitation {
  id: string;
  /** Goes into the e-mail and is kept nowhere: whoever has it can read mail at that address. */
  token: string;
  expiresAt: Date;
}

const lifeDays = 7;

/** Invites an address, in place of an open invitation to it. Undefined if there is no such account. */
export function invite(
  pool: Pool,
  wanted: { accountId: string; email: string; role: Role },
): Promise<Invitation | undefined> {
  const { accountId, email, role } = wanted;
  const token = randomBytes(32).toString("base64url");
  return inTransaction(pool, async (db) => {
    const account = await db.query("select from pb.accounts where id = $1 and deleted_at is null for no key update", [
      accountId,
    ]);
    if (account.rowCount === 0) return undefined;
    await db.query("delete from pb.invitations where account_id = $1 and email = $2 and accepted_at is null", [
      accountId,
      email,
    ]);
    const { rows } = await db.query<{ id: string; expiresAt: Date }>(
      `insert into pb.invitations (account_id, email, role, digest, expires_at)
       values ($1, $2, $3, $4, clock_timestamp() + make_interval(days => $5))
       returning id, expires_at as "expiresAt"`,
      [accountId, email, role, digestOf(token), lifeDays],
    );
    return rows[0] && { ...rows[0], token };
  });
}

export interface Joined {
  accountId: string;
  personId: string;
  role: Role;
}

/**
 * Makes the invited address a member, once. Someone who is a member already keeps the role they have. Undefined if the
 * token is unknown, was used or is too old: we do not say which.
 */
export function acceptInvitation(pool: Pool, given: { token: string; name: string }): Promise<Joined | undefined> {
  const digest = digestOf(given.token);
  return inTransaction(pool, async (db) => {
    // The account first, as everyone does: the deletion of an account takes its invitations after it.
    await db.query(
      `select from pb.accounts where id = (select account_id from pb.invitations where digest = $1) for no key update`,
      [digest],
    );
    const { rows } = await db.query<Joined>(
      `with invitation as (
         update pb.invitations set accepted_at = clock_timestamp()
         where digest = $1 and accepted_at is null and expires_at > clock_timestamp()
         returning account_id, email, role
       ), person as (
         insert into pb.people (email, name) select email, $2 from invitation
         on conflict (email) do update set email = excluded.email returning id
       )
       insert into pb.members (account_id, person_id, role)
       select i.account_id, p.id, i.role from invitation i, person p
       on conflict (account_id, person_id) do update set role = pb.members.role
       returning account_id as "accountId", person_id as "personId", role`,
      [digest, given.name],
    );
    return rows[0];
  });
}

/** The token has 256 bits of chance in it: a plain hash is enough. */
function digestOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
