import { randomBytes, randomUUIDv7 } from "node:crypto";
import type { Pool } from "../server/src/db/pool.ts";
import { digestKey, mintKey, startOfKey } from "../server/src/keys/key-format.ts";
import type { Pepper } from "../server/src/keys/keys.ts";
import { sealNewDataKey } from "../server/src/lib/data-key.ts";
import type { Micros } from "../server/src/lib/money.ts";
import { createSecrets } from "../server/src/lib/secrets.ts";
import { topUpBatch } from "../server/src/wallet/wallet.ts";

export interface SeededWallet {
  walletId: string;
  keyId: string;
  key: string;
}

// High enough that no run gets a 402 or 429, which would fail the benchmark.
const creditMicros: Micros = 1_000_000_000_000n;
const unlimited = 100_000_000;
const maxPerStatement = 1_000;
const shared = "shared ";
const secretBytes = randomBytes(32);
const secrets = createSecrets([secretBytes]);

/** PENNYBLACK_SECRET of the servers. The data keys of the wallets are sealed under it. */
export const secret = secretBytes.toString("base64");

export interface SeededLimits {
  limitMicros: Micros;
  /** "total", "day", "month", "end_user" for a daily limit per end user, and "shared week" or "shared month" for a shared budget. */
  limits: readonly string[];
}

/**
 * Creates wallets with a balance, one live key and a data key each. Run as the owner. Otherwise the first search of each wallet
 * with an Idempotency-Key would create the data key, and a short round has one search per wallet.
 */
export async function seedWallets(
  owner: Pool,
  pepper: Pepper,
  count: number,
  limits?: SeededLimits,
): Promise<SeededWallet[]> {
  const wallets = Array.from({ length: count }, () => ({
    walletId: randomUUIDv7(),
    keyId: randomUUIDv7(),
    key: mintKey("live"),
  }));
  for (let first = 0; first < count; first += maxPerStatement) {
    await seedBatch(owner, pepper, wallets.slice(first, first + maxPerStatement));
  }
  if (limits && limits.limits.length > 0) await seedLimits(owner, wallets, limits);
  return wallets;
}

async function seedBatch(owner: Pool, pepper: Pepper, wallets: readonly SeededWallet[]): Promise<void> {
  const walletIds = wallets.map((wallet) => wallet.walletId);
  await owner.query("insert into pb.wallets (id, name) select id, 'bench' from unnest($1::uuid[]) as id", [walletIds]);
  await topUpBatch(
    owner,
    "top_up",
    walletIds.map((walletId) => ({ paymentId: `bench ${walletId}`, walletId, amount: creditMicros })),
  );
  await owner.query(
    `insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes,
       searches_per_second, searches_in_flight)
     select id, wallet_id, 'live', 'bench', start, $5, digest, array['search'], $6, $6
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[]) as k (id, wallet_id, start, digest)`,
    [
      wallets.map((wallet) => wallet.keyId),
      walletIds,
      wallets.map((wallet) => startOfKey(wallet.key)),
      wallets.map((wallet) => digestKey(wallet.key, pepper)),
      pepper.version,
      unlimited,
    ],
  );
  await owner.query("insert into pb.data_keys (wallet_id, sealed) select * from unnest($1::uuid[], $2::bytea[])", [
    walletIds,
    walletIds.map((walletId) => sealNewDataKey(secrets, walletId)),
  ]);
}

async function seedLimits(owner: Pool, wallets: readonly SeededWallet[], options: SeededLimits): Promise<void> {
  const { limitMicros, limits } = options;
  const own = limits.filter((limit) => !limit.startsWith(shared));
  const amounts = Object.fromEntries(own.map((limit) => [limit, String(limitMicros)]));
  const periods = limits.flatMap((limit) => (limit.startsWith(shared) ? [limit.slice(shared.length)] : []));
  await owner.query(
    `insert into pb.budgets (id, wallet_id, mode, name, amount_micros, period)
     select gen_random_uuid(), wallet_id, 'live', 'bench', $2, period
     from unnest($1::uuid[]) wallet_id, unnest($3::text[]) period`,
    [wallets.map(({ walletId }) => walletId), limitMicros, periods],
  );
  await owner.query(
    `update pb.keys k set limits_id = pb.save_key_limits(
       wallet_id, null, mode,
       $2::jsonb || coalesce((
         select jsonb_build_object('shared', jsonb_agg(b.id)) from pb.budgets b
         where b.wallet_id = k.wallet_id and b.name is not null having count(*) > 0
       ), '{}')
     ) where id = any ($1)`,
    [
      wallets.map((wallet) => wallet.keyId),
      JSON.stringify({ ...amounts, ...(limits.includes("end_user") && { end_user_period: "day" }) }),
    ],
  );
}
