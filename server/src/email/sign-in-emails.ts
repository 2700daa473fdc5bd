import { randomUUIDv7 } from "node:crypto";
import type { Pool, Queryable } from "../db/pool.ts";
import { resealColumn } from "../db/reseal-column.ts";
import { seal, unseal } from "../lib/seal.ts";
import type { Resealed, Secrets } from "../lib/secrets.ts";
import { invitationLink, signInLink } from "./sign-in-links.ts";

// Emails with a sign-in or invitation token. Requests only queue them and the worker sends them, so that response times
// do not reveal whether an address is known. The token is encrypted while queued, and its row is deleted once sent.

interface Contents {
  token: string;
  returnTo?: string | undefined;
  /** The address of the person who sent the invitation. */
  invitedBy?: string | undefined;
}

export interface SealedEmail {
  id: string;
  sealed: Buffer;
}

export function sealEmail(secrets: Secrets, contents: Contents): SealedEmail {
  const id = randomUUIDv7();
  return { id, sealed: seal(secrets, purposeOf(id), JSON.stringify(contents)) };
}

/** Seals queued emails under the first secret. */
export function resealEmails(db: Queryable, secrets: Secrets): Promise<Resealed> {
  return resealColumn(db, secrets, { table: "pb.pending_emails", column: "sealed", purposeOf });
}

function purposeOf(emailId: string): string {
  return `email\0${emailId}`;
}

export interface SignInEmailDependencies {
  pool: Pool;
  secrets: Secrets;
  publicUrl: string;
  mailer: { send(email: { id: string; to: string; subject: string; text: string }): Promise<void> };
  onFailure: (failure: { emailId: string; attempt: number; err: unknown }) => void;
}

interface DueEmail {
  id: string;
  email: string;
  sealed: Buffer;
  expires_at: Date;
  account_name: string | null;
  role: string | null;
  attempt: number;
}

/** Sends emails that are due and returns the number of attempts. Failures are retried until the token expires. */
export async function sendSignInEmails(dependencies: SignInEmailDependencies, limit: number): Promise<number> {
  const { pool, secrets, mailer, onFailure } = dependencies;
  const { rows } = await pool.query<DueEmail>("select * from pb.claim_sign_in_emails($1)", [limit]);
  for (const email of rows) {
    try {
      const contents = JSON.parse(unseal(secrets, purposeOf(email.id), email.sealed)) as Contents;
      await mailer.send({
        id: email.id,
        to: email.email,
        ...writeSignInEmail(email, contents, dependencies.publicUrl),
      });
      await pool.query("select pb.finish_sign_in_email($1)", [email.id]);
    } catch (err) {
      onFailure({ emailId: email.id, attempt: email.attempt, err });
    }
  }
  return rows.length;
}

function writeSignInEmail(
  { account_name: accountName, role, expires_at: expiresAt }: DueEmail,
  { token, returnTo, invitedBy }: Contents,
  publicUrl: string,
): { subject: string; text: string } {
  const expiry = expiresAt.toISOString().slice(0, 16).replace("T", " ");
  if (accountName === null) {
    return {
      subject: "Your sign-in link for Pennyblack",
      text: [
        `Open this link to sign in at ${publicUrl}:`,
        signInLink(publicUrl, token, returnTo),
        `The link works once and expires at ${expiry} UTC. If you did not request it, you can ignore this email.`,
      ].join("\n\n"),
    };
  }
  // The name was chosen by the inviter. It is not part of the subject, and is quoted so that its end is visible.
  const account = `"${accountName.replaceAll('"', "'")}"`;
  return {
    subject: "Invitation to join an account on Pennyblack",
    text: [
      `${invitedBy ?? "A member"} has invited you to join the account ${account} at ${publicUrl} as ${role === "owner" ? "an owner" : `a ${role}`}. Open this link to accept the invitation:`,
      invitationLink(publicUrl, token),
      `The link works once and expires at ${expiry} UTC. If you were not expecting this invitation, you can ignore this email.`,
    ].join("\n\n"),
  };
}
