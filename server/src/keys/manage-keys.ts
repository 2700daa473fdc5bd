import { randomUUIDv7 } from "node:crypto";
import { type Actor, asTenant, callAsTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { toJsonb } from "../db/to-jsonb.ts";
import { type BudgetOfKey, type KeyBudget, readBudgetsOfKeys, readKeyBudgets } from "../wallet/wallet.ts";
import type { CompatBody } from "./compat.ts";
import { digestKey, type KeyMode, mintKey, type Pepper, startOfKey } from "./key-format.ts";
import { type KeyView, listKeys } from "./list-keys.ts";
import type { MaxRunBody } from "./max-run.ts";
import type { SourcesBody } from "./source-policy.ts";

// Key management by a management key or by a person in the console. The database checks permissions and applies each change
// under the wallet lock.

export type KeyWithBudget = KeyView & { budget: KeyBudget | undefined; sharedBudgets: BudgetOfKey[] };

/** Newest first. */
export function readOwnKeys(
  tenant: Pool,
  walletId: string,
  options: { id?: string; before?: string | undefined; limit?: number },
): Promise<KeyWithBudget[]> {
  return asTenant(tenant, walletId, async (db) => {
    const keys = await listKeys(db, walletId, options);
    const ids = keys.flatMap((key) => key.limitsId ?? []);
    const budgets = ids.length > 0 ? await readKeyBudgets(db, walletId, ids) : [];
    const shared = ids.length > 0 ? await readBudgetsOfKeys(db, walletId, ids) : [];
    return keys.map((key) => ({
      ...key,
      budget: budgets.find((budget) => budget.id === key.limitsId),
      sharedBudgets: shared.filter((budget) => budget.limitsId === key.limitsId),
    }));
  });
}

/** "done", or the reason why nothing was changed. */
export type KeyOutcome =
  | "done"
  | "not_found"
  | "key_not_active"
  | "key_limit_reached"
  | "budget_without_spending"
  | "unknown_budget"
  | "external_id_taken"
  | "insufficient_scope"
  | "allowed_ips_too_wide"
  | "expires_at_too_wide"
  | "has_fewer_restrictions"
  | "api_key_invalid"
  | "api_key_revoked"
  | "api_key_expired"
  | "account_suspended"
  | "session_required"
  | "insufficient_role"
  | "reauthentication_required";

/** Fields of a key for pb.create_own_key and pb.change_own_key. Amounts are micro-USD in a string. */
export interface KeyFields {
  external_id?: string | null;
  name?: string;
  scopes?: readonly string[];
  allowed_ips?: readonly string[] | null;
  expires_at?: string | null;
  searches_per_second?: number;
  searches_in_flight?: number;
  budget?: { total?: string | null; day?: string | null; month?: string | null } | null;
  end_user_limit?: { amount: string; period: "day" | "month" } | null;
  /** Ids of shared budgets. */
  budgets?: readonly string[];
  compat?: CompatBody | null;
  sources?: SourcesBody | null;
  max_run?: MaxRunBody | null;
}

export interface CreatedKey {
  outcome: KeyOutcome;
  id: string;
  key: string;
}

export async function createOwnKey(
  tenant: Pool,
  by: Actor,
  { mode, pepper, fields }: { mode: KeyMode; pepper: Pepper; fields: KeyFields },
): Promise<CreatedKey> {
  const id = randomUUIDv7();
  const key = mintKey(mode, await labelOwnAccount(tenant, by));
  const outcome = await callAsTenant<KeyOutcome>(tenant, by.walletId, "pb.create_own_key($2, $3, $4, $5, $6, $7, $8)", [
    by.keyId,
    id,
    mode,
    startOfKey(key),
    pepper.version,
    digestKey(key, pepper),
    toJsonb(fields),
  ]);
  return { outcome, id, key };
}

export function changeOwnKey(tenant: Pool, by: Actor, id: string, changes: KeyFields): Promise<KeyOutcome> {
  return callAsTenant(tenant, by.walletId, "pb.change_own_key($2, $3, $4)", [by.keyId, id, toJsonb(changes)]);
}

export async function rotateOwnKey(
  tenant: Pool,
  by: Actor,
  old: { id: string; mode: KeyMode; graceSeconds: number; pepper: Pepper },
): Promise<CreatedKey> {
  const { pepper } = old;
  const id = randomUUIDv7();
  const key = mintKey(old.mode, await labelOwnAccount(tenant, by));
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

/** Once this returns "done", the key can no longer spend. Idempotent. */
export function revokeOwnKey(tenant: Pool, by: Actor, id: string): Promise<KeyOutcome> {
  return callAsTenant(tenant, by.walletId, "pb.revoke_own_key($2, $3)", [by.keyId, id]);
}

function labelOwnAccount(tenant: Pool, { walletId }: Actor): Promise<string | null> {
  return callAsTenant(tenant, walletId, "pb.label_own_account()", []);
}
