import { randomUUIDv7 } from "node:crypto";
import type { Pool } from "../server/src/db/pool.ts";
import { digestKey, mintKey, startOfKey } from "../server/src/keys/key-format.ts";
import type { Pepper } from "../server/src/keys/keys.ts";
import type { Micros } from "../server/src/lib/money.ts";
import { topUpBatch } from "../server/src/wallet/wallet.ts";

export interface SeededWallet {
  walletId: string;
  keyId: string;
  key: string;
}

// More than any run can spend or use: a 402 or a 429 would end the bench.
const creditMicros: Micros = 1_000_000_000_000n;
const neverReached = 100_000_000;
const mostPerStatement = 1_000;

/** Wallets with money in their books and a live key each. Run as the owner. */
export async function seedWallets(owner: Pool, pepper: Pepper, count: number): Promise<SeededWallet[]> {
  const wallets = Array.from({ length: count }, () => ({
    walletId: randomUUIDv7(),
    keyId: randomUUIDv7(),
    key: mintKey("live"),
  }));
  for (let first = 0; first < count; first += mostPerStatement) {
    await seedSome(owner, pepper, wallets.slice(first, first + mostPerStatement));
  }
  return wallets;
}

async function seedSome(owner: Pool, pepper: Pepper, wallets: readonly SeededWallet[]): Promise<void> {
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
      neverReached,
    ],
  );
}
