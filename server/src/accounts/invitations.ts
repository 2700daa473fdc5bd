import type { Queryable } from "../db/pool.ts";
import { digestToken, mintToken } from "../lib/token.ts";
import type { Role } from "./members.ts";

export interface Invitation {
  id: string;
  /** Goes into the e-mail and is kept nowhere: whoever has it can read mail at that address. */
  token: string;
  expiresAt: Date;
}

/** Invites an address, in place of an open invitation to it. Undefined if there is no such account. */
export async function invite(
  db: Queryable,
  wanted: { accountId: string; email: string; role: Role },
): Promise<Invitation | undefined> {
  const token = mintToken();
  const { rows } = await db.query<{ id: string | null; expires_at: Date }>("select * from pb.invite($1, $2, $3, $4)", [
    wanted.accountId,
    wanted.email,
    wanted.role,
    digestToken(token),
  ]);
  const [made] = rows;
  return made?.id ? { id: made.id, token, expiresAt: made.expires_at } : undefined;
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
export async function acceptInvitation(
  db: Queryable,
  given: { token: string; name: string },
): Promise<Joined | undefined> {
  const { rows } = await db.query<Joined>(
    `select account_id as "accountId", person_id as "personId", role from pb.accept_invitation($1, $2)`,
    [digestToken(given.token), given.name],
  );
  return rows[0];
}
