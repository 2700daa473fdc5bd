import { type KeyObject, randomUUIDv7 } from "node:crypto";
import type { Pool } from "../db/pool.ts";
import { seal, unseal } from "../lib/seal.ts";
import { invitationLink, signInLink } from "./sessions.ts";

// Letters with a token in them. The request only queues one; the worker sends it, so that nobody learns from how long a
// request takes whether an address is known. Queued, the token is sealed; sent, its row is gone.

interface Contents {
  token: string;
  returnTo?: string | undefined;
}

export interface SealedLetter {
  id: string;
  sealed: Buffer;
}

export function sealLetter(secret: KeyObject, contents: Contents): SealedLetter {
  const id = randomUUIDv7();
  return { id, sealed: seal(secret, purposeOf(id), JSON.stringify(contents)) };
}

function purposeOf(letterId: string): string {
  return `letter\0${letterId}`;
}

export interface LetterParts {
  /** As the owner. */
  pool: Pool;
  secret: KeyObject;
  publicUrl: string;
  mailer: { send(letter: { id: string; to: string; subject: string; text: string }): Promise<void> };
  onFailure: (failure: { letterId: string; attempt: number; err: unknown }) => void;
}

interface DueLetter {
  id: string;
  email: string;
  sealed: Buffer;
  expires_at: Date;
  account_name: string | null;
  role: string | null;
  attempt: number;
}

/** Sends letters that are due; what fails is due again later, while its token lives. Says how many it tried. */
export async function sendLetters(parts: LetterParts, most: number): Promise<number> {
  const { pool, secret, mailer, onFailure } = parts;
  const { rows } = await pool.query<DueLetter>("select * from pb.claim_letters($1)", [most]);
  for (const letter of rows) {
    try {
      const contents = JSON.parse(unseal(secret, purposeOf(letter.id), letter.sealed)) as Contents;
      await mailer.send({ id: letter.id, to: letter.email, ...writeLetter(letter, contents, parts.publicUrl) });
      await pool.query("delete from pb.letters where id = $1", [letter.id]);
    } catch (err) {
      onFailure({ letterId: letter.id, attempt: letter.attempt, err });
    }
  }
  return rows.length;
}

function writeLetter(
  { account_name: accountName, role, expires_at: expiresAt }: DueLetter,
  { token, returnTo }: Contents,
  publicUrl: string,
): { subject: string; text: string } {
  const until = expiresAt.toISOString().slice(0, 16).replace("T", " ");
  if (accountName === null) {
    return {
      subject: "Your link to sign in to Pennyblack",
      text: [
        `Open this link to sign in at ${publicUrl}:`,
        signInLink(publicUrl, token, returnTo),
        `It works once, until ${until} UTC. If you did not ask for it, ignore this message: nobody gets in without the link.`,
      ].join("\n\n"),
    };
  }
  return {
    subject: `You are invited to ${accountName} on Pennyblack`,
    text: [
      `You are invited to the account ${accountName} at ${publicUrl}, as ${role === "owner" ? "an owner" : `a ${role}`}. Open this link to accept:`,
      invitationLink(publicUrl, token),
      `It works once, until ${until} UTC. If you do not know what this is about, ignore this message.`,
    ].join("\n\n"),
  };
}
