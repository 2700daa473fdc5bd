import type { Queryable } from "../db/pool.ts";
import { digestToken, mintToken } from "../lib/token.ts";
import type { Role } from "./members.ts";

export interface Invitation {
  id: string;
  /** Sent by email and not stored. It proves that its holder receives mail at the address. */
  token: string;
  expiresAt: Date;
}

/** Replaces any open invitation to the same address. Undefined if the account does not exist. */
export async function invite(
  db: Queryable,
  options: { accountId: string; email: string; role: Role },
): Promise<Invitation | undefined> {
  const token = mintToken();
  const { rows } = await db.query<{ id: string | null; expires_at: Date }>("select * from pb.invite($1, $2, $3, $4)", [
    options.accountId,
    options.email,
    options.role,
    digestToken(token),
  ]);
  const [created] = rows;
  return created?.id ? { id: created.id, token, expiresAt: created.expires_at } : undefined;
}

export interface Joined {
  accountId: string;
  personId: string;
  role: Role;
}

/**
 * Adds the invited address as a member. An existing member keeps their role. Undefined if the token is unknown, used or
 * expired.
 */
export async function acceptInvitation(
  db: Queryable,
  acceptance: { token: string; name: string },
): Promise<Joined | undefined> {
  const { rows } = await db.query<Joined>(
    `select account_id as "accountId", person_id as "personId", role from pb.accept_invitation($1, $2)`,
    [digestToken(acceptance.token), acceptance.name],
  );
  return rows[0];
}
