import type { Key } from "@pennyblack/sdk";
import { type ApplyFile, type FileKey, identify } from "./apply-file.ts";
import type { ApplyRun, Change, Wallet } from "./change.ts";
import { findDifferences } from "./differences.ts";
import { findById } from "./find-by-id.ts";
import type { SecretFiles } from "./secret-files.ts";

export function planKeys({ keys = [] }: ApplyFile, wallet: Wallet, secrets: SecretFiles | undefined): Change[] {
  const externalIds = new Map(wallet.budgets.map(({ id, external_id: own }) => [id, own ?? id]));
  return keys.flatMap((key, index) => {
    const existing = findById(wallet.keys, key);
    const subject = { section: "keys", id: key.external_id, mode: key.mode } as const;
    const secretFile = `${key.external_id}.${key.mode}.key`;
    if (!existing) {
      const apply: Change["apply"] = async (run) => (await run.client.keys.create(toRequest(key, run))).key;
      return [{ ...subject, action: "create", differences: [], secretFile, apply } satisfies Change];
    }
    const changes = planUpdate(key, existing, { subject, externalIds, path: `keys[${index}]` });
    if (secrets?.stateOf(secretFile) !== "empty") return changes;
    // The secret never arrived, so the old key is not in use.
    const apply: Change["apply"] = async ({ client }) =>
      (await client.keys.rotate(existing.id, { graceSeconds: 0 })).key;
    return [...changes, { ...subject, action: "replace secret", differences: [], secretFile, apply } satisfies Change];
  });
}

interface Update {
  subject: Pick<Change, "section" | "id" | "mode">;
  /** Of budgets, by their ids. */
  externalIds: ReadonlyMap<string, string>;
  path: string;
}

function planUpdate(key: FileKey, existing: Key, { subject, externalIds, path }: Update): Change[] {
  const desired = toDesiredKey(key);
  const differences = findDifferences(desired, toComparable(existing, externalIds));
  if (differences.some(({ name }) => name === "scopes"))
    throw new Error(`${path}.scopes cannot be changed. No changes were made. Use another external_id.`);
  if (differences.length === 0) return [];
  const names = new Set(differences.map(({ name }) => name));
  const apply: Change["apply"] = async (run) => {
    const request = toRequest({ ...desired, external_id: key.external_id, mode: key.mode }, run);
    const changes = Object.entries(request).filter(([name]) => names.has(name));
    await run.client.keys.update(existing.id, Object.fromEntries(changes));
  };
  return [{ ...subject, action: "update", differences, apply }];
}

/** The values of fields that the file omits. A management key has those of the key that created it. */
export function toDesiredKey({ external_id: _id, mode, ...fields }: FileKey): Omit<FileKey, "external_id" | "mode"> {
  const restrictions = mode === "mgmt" ? {} : { allowed_ips: null, expires_at: null };
  const limits = { budget: null, end_user_limit: null, budgets: [], max_run: null, sources: null };
  const rates = { searches_per_second: 1_000, searches_in_flight: 1_000 };
  return { ...restrictions, ...limits, ...rates, compat: null, ...fields };
}

/** The fields of a key in the form of the file. */
function toComparable(key: Key, externalIds: ReadonlyMap<string, string>): object {
  const { total, day, month } = key.budget ?? {};
  return {
    ...key,
    budget: { total: total?.limit, day: day?.limit, month: month?.limit },
    budgets: key.budgets.map(({ id }) => externalIds.get(id) ?? id),
  };
}

/** The body of a request, with the ids of budgets. A change of one limit would leave the others as they are. */
function toRequest(key: FileKey, { budgetIds }: ApplyRun): FileKey {
  const { mode, budget, budgets } = key;
  return {
    ...key,
    ...(budget && { budget: { total: null, day: null, month: null, ...budget } }),
    ...(budgets && { budgets: budgets.map((id) => budgetIds.get(identify({ mode, external_id: id })) ?? id) }),
  };
}
