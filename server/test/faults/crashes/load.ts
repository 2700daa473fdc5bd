import assert from "node:assert/strict";
import { seed } from "../../support/data/seed.ts";
import type { AuditReport } from "../audit.ts";
import { Callers } from "../callers.ts";
import { createRandom } from "../random.ts";
import { watchBalances } from "../watch-balances.ts";
import type { CrashFixture, CrashServer } from "./crash-fixture.ts";

/**
 * Runs `disturb` while callers search on the servers, one of their wallets runs out of money and a reader watches all
 * balances. Retries the searches without an answer and audits everything.
 */
export async function searchDuring(
  fixture: CrashFixture,
  servers: readonly CrashServer[],
  disturb: (callers: Callers) => Promise<void>,
): Promise<{ counts: AuditReport["counts"]; snapshots: number }> {
  const wallets = await Promise.all(["0.20", "20.00", "20.00"].map((balance) => fixture.createWallet(balance)));
  fixture.upstream.maxDelayMs = 30;
  const watch = watchBalances({ findUrl: async () => fixture.db.superuserUrl });
  const callers = new Callers({
    journal: fixture.journal,
    random: createRandom(seed, "callers"),
    serverUrls: servers.map((server) => server.url),
    pickWallet: (random) => random.pick(wallets),
    clients: 10,
  });
  await disturb(callers);
  await callers.timeToPaid();
  const unfinished = await callers.stop();
  assert.deepEqual(callers.violations, []);
  await fixture.finish(servers[0]?.url ?? "", unfinished);
  const { violations, snapshots } = await watch.stop();
  assert.deepEqual(violations, []);
  return { counts: await fixture.assertBooksBalance(), snapshots };
}
