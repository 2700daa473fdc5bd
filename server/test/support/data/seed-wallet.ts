import assert from "node:assert/strict";
import { createHash, randomUUIDv7 } from "node:crypto";
import type { Queryable } from "../../../src/db/pool.ts";
import type { Micros } from "../../../src/lib/money.ts";
import { topUpBatch } from "../../../src/wallet/statements.ts";

export interface KeySeed {
  mode?: "live" | "test" | "mgmt";
  limitsId?: string;
  isExpired?: boolean;
}

/** A wallet with a credit and one live key. */
export async function seedWallet(
  owner: Queryable,
  { credit = 0n, walletId = randomUUIDv7() }: { credit?: Micros; walletId?: string } = {},
): Promise<{ walletId: string; keyId: string }> {
  await owner.query("insert into pb.wallets (id, name) values ($1, 'A wallet')", [walletId]);
  if (credit > 0n) await topUpBatch(owner, "top_up", [{ paymentId: `seed ${walletId}`, walletId, amount: credit }]);
  return { walletId, keyId: await seedKey(owner, walletId) };
}

export async function seedKey(owner: Queryable, walletId: string, seed: KeySeed = {}): Promise<string> {
  const keyId = randomUUIDv7();
  const mode = seed.mode ?? "live";
  await owner.query(
    `insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, limits_id, expires_at)
     values ($1, $2, $3, 'A key', 'pb_', 1, $4, $5, $6, case when $7 then clock_timestamp() - interval '1 second' end)`,
    [
      keyId,
      walletId,
      mode,
      createHash("sha256").update(keyId).digest(),
      mode === "mgmt" ? ["keys:write"] : ["search"],
      seed.limitsId ?? null,
      seed.isExpired ?? false,
    ],
  );
  return keyId;
}

export interface LimitsSeed {
  total?: Micros | undefined;
  day?: Micros | undefined;
  month?: Micros | undefined;
  endUser?: { amount: Micros; period: "day" | "month" } | undefined;
  /** Ids of shared budgets. */
  shared?: string[];
}

export async function seedKeyLimits(
  owner: Queryable,
  walletId: string,
  limits: LimitsSeed,
  mode: "live" | "test" = "live",
): Promise<string> {
  const { rows } = await owner.query<{ id: string }>("select pb.save_key_limits($1, null, $2, $3) as id", [
    walletId,
    mode,
    toLimits(limits),
  ]);
  const [row] = rows;
  assert(row);
  return row.id;
}

/** As pb.save_key_limits expects them. */
export function toLimits({ endUser, shared = [], ...limits }: LimitsSeed): string {
  const all = {
    ...(shared.length > 0 && { shared }),
    ...limits,
    end_user: endUser?.amount,
    end_user_period: endUser?.period,
  };
  return JSON.stringify(all, (_, value) => (typeof value === "bigint" ? String(value) : value));
}

export interface SharedBudgetSeed {
  amount: Micros;
  name?: string;
  mode?: "live" | "test";
  period?: string;
  isPerEndUser?: boolean;
  alerts?: number[];
}

export async function seedSharedBudget(owner: Queryable, walletId: string, seed: SharedBudgetSeed): Promise<string> {
  const id = randomUUIDv7();
  const { amount, name = "A budget", mode = "live", period = "total", isPerEndUser = false, alerts = [] } = seed;
  await owner.query(
    `insert into pb.budgets (id, wallet_id, mode, name, amount_micros, period, per_end_user, alerts)
     values ($1, $2, $3, $4, $5, nullif($6, 'total'), $7, $8)`,
    [id, walletId, mode, name, amount, period, isPerEndUser, alerts],
  );
  return id;
}

/** A key with a shared budget, and its open request. */
export async function seedBudgetRequest(
  owner: Queryable,
  walletId: string,
  request: { amount?: Micros; hours?: number; name?: string } = {},
): Promise<{ budgetId: string; keyId: string; requestId: string }> {
  const { amount = 1_000_000n, hours = 24, name = "A budget" } = request;
  const budgetId = await seedSharedBudget(owner, walletId, { amount: 5_000_000n, name, period: "week" });
  const keyId = await seedKey(owner, walletId, {
    limitsId: await seedKeyLimits(owner, walletId, { shared: [budgetId] }),
  });
  const requestId = randomUUIDv7();
  await owner.query(
    `insert into pb.budget_requests
       (id, wallet_id, mode, budget_id, key_id, amount_micros, hours, sends_email, created_at)
     values ($1, $2, 'live', $3, $4, $5, $6, false, clock_timestamp())`,
    [requestId, walletId, budgetId, keyId, amount, hours],
  );
  return { budgetId, keyId, requestId };
}

/** The window of a budget of these limits. */
export const windowOf = (limitsId: string, period: "total" | "day" | "month"): string =>
  `budget_id = (select b.id from pb.key_limit_budgets l join pb.budgets b on b.id = l.budget_id
    where l.limits_id = '${limitsId}' and coalesce(b.period, 'total') = '${period}' and not b.per_end_user)`;
