import { randomUUIDv7 } from "node:crypto";
import type { Ledger } from "../server/src/wallet/wallet.ts";
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
  /** Picks the wallet of the next search. */
  pick: () => { walletId: string; keyId: string };
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
      const { walletId, keyId } = pick();
      const held = await ledger.hold({ searchId, walletId, keyId });
      if (held.outcome !== "held") throw new Error(`hold failed: ${held.outcome}`);
      const captured = await ledger.capture({ searchId, walletId });
      if (captured.state !== "captured") throw new Error(`capture failed: ${captured.state}`);
      searches += 1;
    }
  }

  await Promise.all(Array.from({ length: loops }, loop));
  const elapsedSeconds = (performance.now() - startMs) / 1_000;
  const postgresUs = (readTreeCpuMicroseconds(postgresPid) - cpuBefore) / searches;
  return { searches, perSecond: searches / elapsedSeconds, postgresUs };
}
