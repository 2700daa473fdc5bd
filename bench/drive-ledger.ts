import { randomUUIDv7 } from "node:crypto";
import type { Ledger } from "../server/src/wallet/wallet.ts";
import type { NewSearch } from "./checkout.ts";
import { readTreeCpuMicroseconds } from "./read-cpu.ts";

export interface LedgerRound {
  searches: number;
  perSecond: number;
  postgresUs: number;
}

interface LedgerDriveOptions {
  ledger: Ledger;
  /** Number of concurrent loops. */
  loops: number;
  /** The next search, without its id. */
  pick: () => NewSearch;
  seconds: number;
  postgresPid: number;
}

/** Holds and captures in concurrent loops. Throws if any search is not charged. */
export async function driveLedger(options: LedgerDriveOptions): Promise<LedgerRound> {
  const { ledger, loops, pick, seconds, postgresPid } = options;
  const cpuBefore = readTreeCpuMicroseconds(postgresPid);
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  let searches = 0;

  async function loop(): Promise<void> {
    while (performance.now() < endMs) {
      const searchId = randomUUIDv7();
      const { answer, ...search } = pick();
      const held = await ledger.hold({ ...search, searchId });
      if (held.outcome !== "held") throw new Error(`hold failed: ${held.outcome}`);
      const captured = await ledger.capture({ searchId, walletId: search.walletId, answer });
      if (captured.state !== "captured") throw new Error(`capture failed: ${captured.state}`);
      searches += 1;
    }
  }

  await Promise.all(Array.from({ length: loops }, loop));
  const elapsedSeconds = (performance.now() - startMs) / 1_000;
  const postgresUs = (readTreeCpuMicroseconds(postgresPid) - cpuBefore) / searches;
  return { searches, perSecond: searches / elapsedSeconds, postgresUs };
}
