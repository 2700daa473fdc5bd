import type { Queryable } from "../db/pool.ts";
import { digestKey, keyPattern, type Pepper, readKeyMode, startOfKey } from "./key-format.ts";

// Keys that someone found where they should not be. The whole key is needed to know whether it is ours, and is never
// shown, stored or handed on.

export interface LeakedKey {
  /** Its first characters. */
  start: string;
  /** "not_ours": it looks like a key and was never issued here. */
  outcome: "revoked" | "already_revoked" | "not_ours";
  keyId?: string;
  walletId?: string;
}

/** Every key in a text of any shape: one a line, a scanner's report, a page of someone's code. */
export function findKeys(text: string): string[] {
  const found = text.match(new RegExp(keyPattern, "g")) ?? [];
  return [...new Set(found)].filter((key) => readKeyMode(key) !== undefined);
}

/** Revokes those that are ours, and tells of each key that was revoked by this call, in whatever way is handed in. */
export async function revokeLeakedKeys(
  db: Queryable,
  keys: readonly string[],
  parts: {
    peppers: readonly Pepper[];
    /** False if it was revoked already. */
    revoke: (keyId: string) => Promise<boolean>;
    notify: (key: Required<LeakedKey>) => Promise<void>;
  },
): Promise<LeakedKey[]> {
  const results: LeakedKey[] = [];
  for (const key of keys) {
    const result = await revokeLeakedKey(db, key, parts);
    results.push(result);
    if (isRevokedNow(result)) await parts.notify(result);
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
    "select id, wallet_id from pb.keys where digest = any ($1)",
    [peppers.map((pepper) => digestKey(key, pepper))],
  );
  const [found] = rows;
  if (!found) return { start, outcome: "not_ours" };
  const { id: keyId, wallet_id: walletId } = found;
  return { start, keyId, walletId, outcome: (await revoke(keyId)) ? "revoked" : "already_revoked" };
}
