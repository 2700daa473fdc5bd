import type { Role } from "../accounts/accounts.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import type { Act } from "../db/record-act.ts";
import { mintSignInToken, signInLink } from "../email/email.ts";
import { digestToken, mintToken } from "../lib/token.ts";

// Sign-in tokens and sessions, as the role pennyblack_people. The browser has the tokens; we store only their digests.

export const sessionSeconds = 30 * 86_400;

export interface WalletMembership {
  id: string;
  name: string;
  account_id: string;
  account_name: string;
  role: Role;
  suspended: boolean;
}

export interface SessionView {
  person: { id: string; email: string; name: string };
  fresh_until: string | null;
  wallets: WalletMembership[];
}

export async function readSession(people: Queryable, token: string): Promise<SessionView | undefined> {
  const { rows } = await people.query<{ shown: SessionView | null }>("select pb.read_session($1) as shown", [
    digestToken(token),
  ]);
  const shown = rows[0]?.shown;
  return shown ? { ...shown, fresh_until: toIso(shown.fresh_until) } : undefined;
}

/** Timestamps in PostgreSQL's JSON do not have the API's format. */
export function toIso<Timestamp extends string | null>(timestamp: Timestamp): Timestamp | string {
  return timestamp === null ? timestamp : new Date(timestamp).toISOString();
}

/** The new session's token, and the digests of it and of the session it replaces. */
export interface NewSession {
  token: string;
  digests: [current: Buffer, previous: Buffer | null];
}

export function newSession(previousToken: string | undefined): NewSession {
  const token = mintToken();
  return { token, digests: [digestToken(token), previousToken === undefined ? null : digestToken(previousToken)] };
}

export async function redeemSignIn(people: Pool, token: string, session: NewSession): Promise<boolean> {
  const { rows } = await people.query<{ done: boolean }>("select pb.redeem_sign_in($1, $2, $3) as done", [
    digestToken(token),
    ...session.digests,
  ]);
  return rows[0]?.done ?? false;
}

/** Starts a session after OpenID Connect. False if the address is unknown and sign-up is closed. */
export async function startSession(
  people: Pool,
  identity: {
    email: string;
    issuer: string;
    subject: string;
    isSignUpOpen: boolean;
    authenticatedAt: Date | undefined;
  },
  session: NewSession,
): Promise<boolean> {
  const { rows } = await people.query<{ person: string | null }>(
    "select pb.begin_oidc_session($1, $2, $3, $4, $5, $6, $7) as person",
    [
      identity.email,
      identity.isSignUpOpen,
      ...session.digests,
      // Without auth_time the sign-in does not count as fresh.
      identity.authenticatedAt ?? "-infinity",
      identity.issuer,
      identity.subject,
    ],
  );
  return (rows[0]?.person ?? null) !== null;
}

export async function joinAccount(
  people: Pool,
  invitation: { token: string; name: string },
  session: NewSession,
): Promise<boolean> {
  const { rows } = await people.query<{ done: boolean }>("select pb.join_account($1, $2, $3, $4) as done", [
    digestToken(invitation.token),
    invitation.name,
    ...session.digests,
  ]);
  return rows[0]?.done ?? false;
}

export async function endSession(people: Pool, token: string, isEverywhere: boolean): Promise<void> {
  const call = isEverywhere ? "pb.end_all_sessions" : "pb.end_session";
  await people.query(`select ${call}($1)`, [digestToken(token)]);
}

/** Creates a link for an existing person, valid for up to a day. Undefined if the address is unknown. */
export async function makeSignInLink(
  people: Queryable,
  options: { email: string; publicUrl: string; ttlMinutes: number; act: Act },
): Promise<string | undefined> {
  const token = mintSignInToken(options.email);
  const { rows } = await people.query<{ created: boolean }>(
    "select pb.create_sign_in_token($1, $2, $3, $4, $5) as created",
    [options.act.operator, options.act.reason, options.email, digestToken(token), options.ttlMinutes],
  );
  return rows[0]?.created ? signInLink(options.publicUrl, token) : undefined;
}

/** Deletes tokens a day after they expire, expired sessions, and people older than 30 days without account or session. */
export async function deleteExpiredSignIns(worker: Queryable, limit: number): Promise<number> {
  const { rows } = await worker.query<{ deleted: number }>("select pb.delete_expired_sign_ins($1) as deleted", [limit]);
  return rows[0]?.deleted ?? 0;
}
