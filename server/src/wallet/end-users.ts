import { createHmac, randomBytes } from "node:crypto";
import { type Actor, asTenant, callAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import { resealColumn } from "../db/reseal-column.ts";
import { isHashedEndUser } from "../lib/end-user-id.ts";
import { seal, unseal } from "../lib/seal.ts";
import type { Resealed, Secrets } from "../lib/secrets.ts";

// Ids of end users, which callers send in Search-For. They are stored as hashes under a key of the wallet, unless its owner
// chooses to store the ids themselves. The key is random and stored encrypted: without PENNYBLACK_SECRET, a copy of the
// database does not show whether a given person searched, and equal ids of two wallets have different hashes.

export interface EndUserSettings {
  /** Undefined until the wallet's first search with an end user. */
  sealedKey: Buffer | undefined;
  /** Store the ids themselves instead of hashes. */
  storesPlainIds: boolean;
}

export interface EndUserDependencies {
  tenant: Pool;
  secrets: Secrets;
}

/** The id in the form in which it is stored with a search. */
export async function toStoredEndUser(
  { tenant, secrets }: EndUserDependencies,
  { walletId, endUsers }: { walletId: string; endUsers?: EndUserSettings | undefined },
  id: string,
): Promise<string> {
  if (endUsers?.storesPlainIds) return id;
  const sealedKey =
    endUsers?.sealedKey ??
    (await callAsTenant<Buffer>(tenant, walletId, "pb.create_end_user_key($2)", [sealNewKey(secrets, walletId)]));
  return hashId(secrets, { walletId, sealedKey }, id);
}

/** Every form in which the id may be stored: the owner can have changed the setting. A hash is returned as it is. */
export async function findStoredEndUser(
  { tenant, secrets }: EndUserDependencies,
  walletId: string,
  text: string,
): Promise<string[]> {
  if (isHashedEndUser(text)) return [text];
  const { sealedKey } = await readEndUserSettings(tenant, walletId);
  return sealedKey ? [text, hashId(secrets, { walletId, sealedKey }, text)] : [text];
}

export function readEndUserSettings(tenant: Pool, walletId: string): Promise<EndUserSettings> {
  return asTenant(tenant, walletId, async (db) => {
    const { rows } = await db.query<{ sealed_key: Buffer; stores_plain_ids: boolean }>(
      "select sealed_key, stores_plain_ids from pb.end_user_settings where wallet_id = $1",
      [walletId],
    );
    return { sealedKey: rows[0]?.sealed_key, storesPlainIds: rows[0]?.stores_plain_ids ?? false };
  });
}

/** Applies within a second to later searches. Stored ids and hashes do not change. */
export async function setEndUserIds(
  { tenant, secrets }: EndUserDependencies,
  { walletId, keyId }: Actor,
  storesPlainIds: boolean,
): Promise<void> {
  const values = [keyId, storesPlainIds, sealNewKey(secrets, walletId)];
  await callAsTenant(tenant, walletId, "pb.set_end_user_ids($2, $3, $4)", values);
}

/** Seals the keys of all wallets under the writing version. The hashes do not change. */
export function resealEndUserKeys(db: Queryable, secrets: Secrets): Promise<Resealed> {
  const table = "pb.end_user_settings";
  return resealColumn(db, secrets, { table, idColumn: "wallet_id", column: "sealed_key", purposeOf });
}

function sealNewKey(secrets: Secrets, walletId: string): Buffer {
  return seal(secrets, purposeOf(walletId), randomBytes(32).toString("base64"));
}

function hashId(
  secrets: Secrets,
  { walletId, sealedKey }: { walletId: string; sealedKey: Buffer },
  id: string,
): string {
  const key = unseal(secrets, purposeOf(walletId), sealedKey).text;
  return `~${createHmac("sha256", key).update(id).digest("base64url").slice(0, 22)}`;
}

function purposeOf(walletId: string): string {
  return `end user key\0${walletId}`;
}
