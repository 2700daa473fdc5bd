import type { Role } from "../accounts/accounts.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import { digestToken, mintToken } from "../lib/token.ts";

// Sign-in tokens and sessions, as pennyblack_people. The browser has the tokens; we have their digests.

export const sessionSeconds = 30 * 86_400;

export interface WalletOfPerson {
  id: string;
  name: string;
  account_id: string;
  account_name: string;
  role: Role;
  suspended: boolean;
}

export interface ShownSession {
  person: { id: string; email: string; name: string };
  fresh_until: string | null;
  wallets: WalletOfPerson[];
}

export async function showSession(people: Queryable, token: string): Promise<ShownSession | undefined> {
  const { rows } = await people.query<{ shown: ShownSession | null }>("select pb.show_session($1) as shown", [
    digestToken(token),
  ]);
  const shown = rows[0]?.shown;
  return shown ? { ...shown, fresh_until: toIso(shown.fresh_until) } : undefined;
}

/** Moments inside the database's JSON are not written as the API writes them. */
export function toIso<Moment extends string | null>(moment: Moment): Moment | string {
  return moment === null ? moment : new Date(moment).toISOString();
}

/** What a way to sign in needs: the token of the session to be, and that of the one the browser had. */
export interface NewSession {
  token: string;
  digests: [now: Buffer, before: Buffer | null];
}

export function newSession(before: string | undefined): NewSession {
  const token = mintToken();
  return { token, digests: [digestToken(token), before === undefined ? null : digestToken(before)] };
}

export async function redeemSignIn(people: Pool, token: string, session: NewSession): Promise<boolean> {
  const { rows } = await people.query<{ done: boolean }>("select pb.redeem_sign_in($1, $2, $3) as done", [
    digestToken(token),
    ...session.digests,
  ]);
  return rows[0]?.done ?? false;
}

/** For whom a provider vouches. False if nobody is known by that address and none may be added. */
export async function beginSession(
  people: Pool,
  proof: { email: string; isSignUpOpen: boolean; provedAt: Date | undefined },
  session: NewSession,
): Promise<boolean> {
  const { rows } = await people.query<{ person: string | null }>(
    "select pb.begin_session($1, $2, $3, $4, $5) as person",
    // Who does not say when has not shown that it was lately.
    [proof.email, proof.isSignUpOpen, ...session.digests, proof.provedAt ?? "-infinity"],
  );
  return (rows[0]?.person ?? null) !== null;
}

export async function joinAccount(
  people: Pool,
  given: { token: string; name: string },
  session: NewSession,
): Promise<boolean> {
  const { rows } = await people.query<{ done: boolean }>("select pb.join_account($1, $2, $3, $4) as done", [
    digestToken(given.token),
    given.name,
    ...session.digests,
  ]);
  return rows[0]?.done ?? false;
}

export async function endSession(people: Pool, token: string, isEverywhere: boolean): Promise<void> {
  const call = isEverywhere ? "pb.end_all_sessions" : "pb.end_session";
  await people.query(`select ${call}($1)`, [digestToken(token)]);
}

/** A link for someone who is known, made by an operator. Undefined if nobody is known by that address. */
export async function makeSignInLink(
  owner: Queryable,
  wanted: { email: string; publicUrl: string; lifeMinutes: number },
): Promise<string | undefined> {
  const token = mintToken();
  const { rowCount } = await owner.query(
    `insert into pb.sign_in_tokens (digest, email, may_sign_up, expires_at)
     select $1, email, false, clock_timestamp() + make_interval(mins => $3) from pb.people where email = $2`,
    [digestToken(token), wanted.email, wanted.lifeMinutes],
  );
  return rowCount === 1 ? signInLink(wanted.publicUrl, token) : undefined;
}

/** The token stands behind the #, so that it is in no server's log and no Referer. */
export function signInLink(publicUrl: string, token: string, returnTo?: string): string {
  const back = returnTo === undefined ? "" : `&return_to=${encodeURIComponent(returnTo)}`;
  return `${publicUrl}/console/sign-in#token=${token}${back}`;
}

export function invitationLink(publicUrl: string, token: string): string {
  return `${publicUrl}/console/invitation#token=${token}`;
}

/** Deletes what is over: tokens after a day, sessions at once, and people of no account whom nobody has seen for long. */
export async function forgetSignIns(owner: Queryable, most: number): Promise<number> {
  const { rowCount: tokens } = await owner.query(
    `delete from pb.sign_in_tokens where digest in (
       select digest from pb.sign_in_tokens where expires_at < clock_timestamp() - interval '1 day' limit $1
     )`,
    [most],
  );
  const { rowCount: sessions } = await owner.query(
    "delete from pb.sessions where id in (select s.id from pb.sessions s where not pb.is_live(s) limit $1)",
    [most],
  );
  const { rowCount: people } = await owner.query(
    `delete from pb.people where id in (
       select p.id from pb.people p
       where p.created_at < clock_timestamp() - interval '30 days'
         and not exists (select from pb.members m where m.person_id = p.id)
         and not exists (select from pb.sessions s where s.person_id = p.id)
       limit $1 for update skip locked
     )`,
    [most],
  );
  return (tokens ?? 0) + (sessions ?? 0) + (people ?? 0);
}
