import type { Queryable } from "../db/pool.ts";
import { digestKey, keyPattern, type Pepper, readKeyMode, startOfKey } from "./key-format.ts";

// Revokes keys found in public. Recognizing a key needs all of it, but it is never printed, stored or passed on.

export interface LeakedKey {
  /** The first characters of the key. */
  start: string;
  /** "not_ours": a well-formed key that was never issued here. */
  outcome: "revoked" | "already_revoked" | "not_ours";
  keyId?: string;
  walletId?: string;
}

/** Finds all well-formed keys in any text, such as a list, a scanner's report or source code. */
export function findKeys(text: string): string[] {
  const found = text.match(new RegExp(keyPattern, "g")) ?? [];
  return [...new Set(found)].filter((key) => readKeyMode(key) !== undefined);
}

/** Revokes the keys that are ours, and calls `notify` for each one that this call revoked. */
export async function revokeLeakedKeys(
  db: Queryable,
  keys: readonly string[],
  options: {
    peppers: readonly Pepper[];
    /** Returns false if the key was already revoked. */
    revoke: (keyId: string) => Promise<boolean>;
    notify: (key: Required<LeakedKey>) => Promise<void>;
  },
): Promise<LeakedKey[]> {
  const results: LeakedKey[] = [];
  for (const key of keys) {
    const result = await revokeLeakedKey(db, key, options);
    results.push(result);
    if (isRevokedNow(result)) await options.notify(result);
  }
  return results;
}

function isRevokedNow(result: LeakedKey): result is Required<LeakedKey> {
  return result.outcome === "revoked";
}

async function revokeLeakedKey(
  db: Queryable,
  key: string,
  { peppers, revoke }: { peppers: readonly Pepper[]; revoke: (keyId: string) => Promise<boolean> },
): Promise<LeakedKey> {
  const start = startOfKey(key);
  const { rows } = await db.query<{ id: string; wallet_id: string }>(
    "select id, wallet_id from pb.find_principals($1)",
    [peppers.map((pepper) => digestKey(key, pepper))],
  );
  const [found] = rows;
  if (!found) return { start, outcome: "not_ours" };
  const { id: keyId, wallet_id: walletId } = found;
  return { start, keyId, walletId, outcome: (await revoke(keyId)) ? "revoked" : "already_revoked" };
}
