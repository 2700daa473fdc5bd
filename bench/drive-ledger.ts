import { randomUUIDv7 } from "node:crypto";
import type { Ledger } from "../server/src/wallet/wallet.ts";
import { readFamilyCpuMicroseconds } from "./read-cpu.ts";

export interface LedgerRound {
  searches: number;
  perSecond: number;
  postgresUs: number;
}

interface LedgerDrive {
  ledger: Ledger;
  /** How many hold and capture at once. */
  loops: number;
  /** Whose search the next one is. */
  pick: () => { walletId: string; keyId: string };
  seconds: number;
  postgresPid: number;
}

/** Hold and capture, again and again. Anything but a charge is an error. */
export async function driveLedger(drive: LedgerDrive): Promise<LedgerRound> {
  const { ledger, loops, pick, seconds, postgresPid } = drive;
  const cpuBefore = readFamilyCpuMicroseconds(postgresPid);
  const beganMs = performance.now();
  const endMs = beganMs + seconds * 1_000;
  let searches = 0;

  async function loop(): Promise<void> {
    while (performance.now() < endMs) {
      const searchId = randomUUIDv7();
      const { walletId, keyId } = pick();
      const held = await ledger.hold({ searchId, walletId, keyId });
      if (held.outcome !== "held") throw new Error(`a hold was refused: ${held.outcome}`);
      const paid = await ledger.capture({ searchId, walletId });
      if (paid.state !== "captured") throw new Error(`a capture came to nothing: ${paid.state}`);
      searches += 1;
    }
  }

  await Promise.all(Array.from({ length: loops }, loop));
  const tookSeconds = (performance.now() - beganMs) / 1_000;
  const postgresUs = (readFamilyCpuMicroseconds(postgresPid) - cpuBefore) / searches;
  return { searches, perSecond: searches / tookSeconds, postgresUs };
}
