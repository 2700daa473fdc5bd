import { createHash, randomUUIDv7 } from "node:crypto";
import type { Queryable } from "../../../src/db/pool.ts";
import type { Micros } from "../../../src/lib/money.ts";
import { topUpBatch } from "../../../src/wallet/statements.ts";

export interface KeySeed {
  mode?: "live" | "test" | "mgmt";
  budgetId?: string;
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
    `insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, budget_id, expires_at)
     values ($1, $2, $3, 'A key', 'pb_', 1, $4, $5, $6, case when $7 then clock_timestamp() - interval '1 second' end)`,
    [
      keyId,
      walletId,
      mode,
      createHash("sha256").update(keyId).digest(),
      mode === "mgmt" ? ["keys:write"] : ["search"],
      seed.budgetId ?? null,
      seed.isExpired ?? false,
    ],
  );
  return keyId;
}

export interface BudgetSeed {
  total?: Micros | undefined;
  day?: Micros | undefined;
  month?: Micros | undefined;
  endUser?: { amount: Micros; period: "day" | "month" } | undefined;
}

export async function seedBudget(
  owner: Queryable,
  walletId: string,
  limits: BudgetSeed,
  mode: "live" | "test" = "live",
): Promise<string> {
  const budgetId = randomUUIDv7();
  await owner.query(
    `insert into pb.key_budgets (id, wallet_id, mode, total_limit_micros, day_limit_micros, month_limit_micros,
       end_user_limit_micros, end_user_period)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      budgetId,
      walletId,
      mode,
      limits.total ?? null,
      limits.day ?? null,
      limits.month ?? null,
      limits.endUser?.amount ?? null,
      limits.endUser?.period ?? null,
    ],
  );
  return budgetId;
}
