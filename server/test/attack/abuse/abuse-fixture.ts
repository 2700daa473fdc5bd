import { createTestDatabase } from "../../support/services/database.ts";
import { createTestKey, createTestWallet } from "../../support/services/server.ts";
import { startBreakableUpstream } from "../fuzz/breakable-upstream.ts";
import { launchServer } from "../fuzz/launch-server.ts";
import type { Attack, Target } from "./attacks.ts";
import { type CallerResult, measureCaller } from "./paying-caller.ts";

export interface AbuseFixture {
  url: string;
  /** Measures a paying caller during an attack, or without one. */
  measure(attack: Attack | undefined, connections: number, forMs: number): Promise<CallerResult>;
  /** The number of paid answers so far, and the number of charges in the ledger. */
  countCharges(): Promise<{ paid: number; charged: number }>;
  close(): Promise<void>;
}

export async function openAbuseFixture(): Promise<AbuseFixture> {
  const db = await createTestDatabase();
  const upstream = await startBreakableUpstream();
  const server = await launchServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url, PENNYBLACK_LOG_LEVEL: "error" });
  const wallet = await createTestWallet(db, "1000.00");
  const attacker = await createTestKey(db, { walletId: wallet.walletId, mode: "test", name: "attacker" });
  const port = Number(new URL(server.url).port);
  let paid = 0;
  async function call(forMs: number, atLeast: number): Promise<CallerResult> {
    const result = await measureCaller(server.url, wallet.live, { forMs, perSecond: 20, atLeast });
    paid += result.searches - result.failures.length;
    return result;
  }
  return {
    url: server.url,
    async measure(attack, connections, forMs) {
      const target: Target = { port, connections, testKey: attacker.key };
      const stop = new AbortController();
      // One search first, so that effects of the previous attack are not counted for this one.
      await call(1, 1);
      attack?.(target, stop.signal);
      try {
        return await call(forMs, 10);
      } finally {
        stop.abort();
      }
    },
    async countCharges() {
      const { rows } = await db.owner.query<{ count: bigint }>(
        "select count(*) from pb.transfers where kind = 'capture'",
      );
      return { paid, charged: Number(rows[0]?.count ?? 0) };
    },
    async close() {
      server.process.kill("SIGKILL");
      await server.ended;
      await upstream.close();
      await db.drop();
    },
  };
}
