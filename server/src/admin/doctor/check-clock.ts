import { offsetMs } from "../../db/watch-clock.ts";
import { error, type Finding } from "./finding.ts";

/** Times in the ledger are the database's, limits use those of Redis, and deadlines the server's. */
const maxDifferenceMs = 1_000;

/** Compares a clock that was read between `sentAt` and now. */
export function checkClock(name: string, clock: number, sentAt: number): Finding | false {
  const differenceMs = Math.abs(offsetMs(clock, sentAt, Date.now()));
  return (
    differenceMs > maxDifferenceMs &&
    error(
      `The clocks of this machine and ${name} differ by ${(differenceMs / 1_000).toFixed(1)} seconds.`,
      "Synchronize both with NTP, for example with chrony.",
    )
  );
}
