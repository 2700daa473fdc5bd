import { createHmac } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import { installation, openDataKey, sealNewDataKey } from "../lib/data-key.ts";
import { mailboxOf } from "../lib/email-address.ts";
import type { Secrets } from "../lib/secrets.ts";

/**
 * The HMAC under which an address that had a trial credit is stored, the same for all addresses of a mailbox. Its key belongs to
 * the installation: an address can have only one trial in all accounts, and the row outlives the account.
 */
export async function hashTrialAddress(db: Queryable, secrets: Secrets, email: string): Promise<Buffer> {
  const { rows } = await db.query<{ sealed: Buffer }>("select pb.installation_data_key($1) as sealed", [
    sealNewDataKey(secrets, installation),
  ]);
  if (!rows[0]) throw new Error("pb.installation_data_key returned no row");
  const { trialAddress } = openDataKey(secrets, installation, rows[0].sealed);
  return createHmac("sha256", trialAddress).update(mailboxOf(email)).digest();
}
