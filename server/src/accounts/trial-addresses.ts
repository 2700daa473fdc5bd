import { createHmac } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import { mailboxOf } from "../lib/email-address.ts";
import type { Resealed, Secret, Secrets } from "../lib/secrets.ts";

// Addresses that had a trial credit are stored as HMACs, so that the rows can outlive the accounts. An address can have one
// trial ever, so it is looked up under every listed version of the secret.

/** The HMACs of an address, under the writing version first, as pb.take_trial expects them. */
export function trialAddressHmacs(secrets: Secrets, email: string): Buffer {
  return Buffer.concat(secrets.all.map((secret) => hmacOfAddress(secret, email)));
}

/**
 * Replaces HMACs of other versions by those under the writing version, as far as the address is still known: it is one of
 * the members of the account. After the account's deletion it is not.
 */
export async function rehashTrialAddresses(db: Queryable, secrets: Secrets): Promise<Resealed> {
  const count: Resealed = { resealed: 0, current: 0, failed: 0 };
  const { rows } = await db.query<{ account_id: string; address_hmac: Buffer; emails: string[] }>(
    "select * from pb.list_trial_addresses()",
  );
  for (const { account_id: accountId, address_hmac: stored, emails } of rows) {
    const email = emails.find((each) => secrets.all.some((secret) => hmacOfAddress(secret, each).equals(stored)));
    const changed = email && hmacOfAddress(secrets.writer, email);
    if (!changed) count.failed += 1;
    else if (changed.equals(stored)) count.current += 1;
    else {
      await db.query("select pb.replace_trial_address($1, $2)", [accountId, changed]);
      count.resealed += 1;
    }
  }
  return count;
}

/** The same for all addresses of a mailbox. */
function hmacOfAddress({ key }: Secret, email: string): Buffer {
  return createHmac("sha256", key)
    .update(`trial ${mailboxOf(email)}`)
    .digest();
}
