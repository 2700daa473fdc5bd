import { randomUUIDv7 } from "node:crypto";
import { asTenant, callAsTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { type KeyBudget, readKeyBudgets } from "../wallet/wallet.ts";
import { digestKey, type KeyMode, mintKey, type Pepper, startOfKey } from "./key-format.ts";
import { type KeyView, listKeys } from "./list-keys.ts";

// What a management key, or a person in the console, does to the keys of a wallet. The database decides, under the
// wallet's lock.

/** Who acts, and on which wallet. */
export interface Manager {
  /** Of a management key, or of a session in its place. */
  keyId: string;
  walletId: string;
}

export type KeyWithBudget = KeyView & { budget: KeyBudget | undefined };

/** Newest first. */
export function readOwnKeys(
  tenant: Pool,
  walletId: string,
  wanted: { id?: string; before?: string | undefined; most?: number },
): Promise<KeyWithBudget[]> {
  return asTenant(tenant, walletId, async (db) => {
    const keys = await listKeys(db, walletId, wanted);
    const ids = keys.flatMap((key) => key.budgetId ?? []);
    const budgets = ids.length > 0 ? await readKeyBudgets(db, walletId, ids) : [];
    return keys.map((key) => ({ ...key, budget: budgets.find((budget) => budget.id === key.budgetId) }));
  });
}

/** Why nothing was done, or that it was. */
export type KeyOutcome =
  | "done"
  | "not_found"
  | "key_not_active"
  | "key_limit_reached"
  | "budget_without_spending"
  | "insufficient_scope"
  | "api_key_invalid"
  | "api_key_revoked"
  | "api_key_expired"
  | "account_suspended"
  | "session_required"
  | "insufficient_role"
  | "reauthentication_required";

/** Parts of a key, as pb.create_own_key and pb.change_own_key read them: amounts are micros in a string. */
export interface KeyParts {
  name?: string;
  scopes?: readonly string[];
  allowed_ips?: readonly string[] | null;
  expires_at?: string | null;
  searches_per_second?: number;
  searches_in_flight?: number;
  budget?: { total?: string | null; day?: string | null; month?: string | null } | null;
}

export interface MadeKey {
  outcome: KeyOutcome;
  id: string;
  key: string;
}

export async function createOwnKey(
  tenant: Pool,
  by: Manager,
  wanted: { mode: KeyMode; pepper: Pepper; parts: KeyParts },
): Promise<MadeKey> {
  const { pepper } = wanted;
  const id = randomUUIDv7();
  const key = mintKey(wanted.mode);
  const outcome = await callAsTenant<KeyOutcome>(tenant, by.walletId, "pb.create_own_key($2, $3, $4, $5, $6, $7, $8)", [
    by.keyId,
    id,
    wanted.mode,
    startOfKey(key),
    pepper.version,
    digestKey(key, pepper),
    JSON.stringify(wanted.parts),
  ]);
  return { outcome, id, key };
}

export function changeOwnKey(tenant: Pool, by: Manager, id: string, changes: KeyParts): Promise<KeyOutcome> {
  return callAsTenant(tenant, by.walletId, "pb.change_own_key($2, $3, $4)", [by.keyId, id, JSON.stringify(changes)]);
}

export async function rotateOwnKey(
  tenant: Pool,
  by: Manager,
  old: { id: string; mode: KeyMode; graceSeconds: number; pepper: Pepper },
): Promise<MadeKey> {
  const { pepper } = old;
  const id = randomUUIDv7();
  const key = mintKey(old.mode);
  const outcome = await callAsTenant<KeyOutcome>(tenant, by.walletId, "pb.rotate_own_key($2, $3, $4, $5, $6, $7, $8)", [
    by.keyId,
    old.id,
    id,
    startOfKey(key),
    pepper.version,
    digestKey(key, pepper),
    old.graceSeconds,
  ]);
  return { outcome, id, key };
}

/** When this says "done", the key can spend nothing from that moment on. May be repeated. */
export function revokeOwnKey(tenant: Pool, by: Manager, id: string): Promise<KeyOutcome> {
  return callAsTenant(tenant, by.walletId, "pb.revoke_own_key($2, $3)", [by.keyId, id]);
}
