import { createHmac } from "node:crypto";
import { type Actor, asTenant, callAsTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import type { DataKey } from "../lib/data-key.ts";
import { isHashedEndUser } from "../lib/end-user-id.ts";
import type { DataKeyOwner, DataKeys } from "./data-keys.ts";

// Ids of end users, which callers send in Search-For. They are stored as hashes under the wallet's data key, unless its owner
// chooses to store the ids themselves. Without PENNYBLACK_SECRET, a copy of the database does not show whether a given person
// searched, and equal ids of two wallets have different hashes.

/** The id in the form in which it is stored with a search. */
export async function toStoredEndUser(
  dataKeys: DataKeys,
  caller: DataKeyOwner & { storesPlainEndUsers?: boolean },
  id: string,
): Promise<string> {
  return caller.storesPlainEndUsers ? id : hashId(await dataKeys.open(caller), id);
}

/** Every form in which the id may be stored, because the owner can change the setting. A hash is returned unchanged. */
export async function findStoredEndUser(dataKeys: DataKeys, owner: DataKeyOwner, text: string): Promise<string[]> {
  if (isHashedEndUser(text)) return [text];
  const dataKey = await dataKeys.find(owner);
  return dataKey ? [text, hashId(dataKey, text)] : [text];
}

/** Whether later searches store the ids themselves. */
export function readStoresPlainIds(tenant: Pool, walletId: string): Promise<boolean> {
  return asTenant(tenant, walletId, async (db) => {
    const { rows } = await db.query<{ isPlain: boolean }>(
      `select stores_plain_ids as "isPlain" from pb.end_user_settings where wallet_id = $1`,
      [walletId],
    );
    return rows[0]?.isPlain ?? false;
  });
}

/** Applies within a second to later searches. Stored ids and hashes do not change. */
export async function setStoresPlainIds(tenant: Pool, { walletId, keyId }: Actor, isPlain: boolean): Promise<void> {
  await callAsTenant(tenant, walletId, "pb.set_end_user_ids($2, $3)", [keyId, isPlain]);
}

function hashId({ endUser }: DataKey, id: string): string {
  return `~${createHmac("sha256", endUser).update(id).digest("base64url").slice(0, 22)}`;
}
