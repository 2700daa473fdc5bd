import { setTimeout as wait } from "node:timers/promises";
import { until } from "../../support/assertions/until.ts";
import type { Callers } from "./callers.ts";
import type { ChaosCluster } from "./chaos-cluster.ts";
import type { FaultRecord } from "./draw-faults.ts";

export interface Failover {
  /** From kill -9 of the primary until the replica takes writes. */
  promotedMs: number;
  /** From the kill until a search that was sent after it is paid. */
  paidMs: number;
  rebuiltMs: number;
}

/** Kills the primary over and over under load, and nothing else. */
export async function failOver(
  fixture: ChaosCluster,
  callers: Callers,
  times: number,
  say: (line: string) => void,
): Promise<{ failovers: Failover[]; records: FaultRecord[] }> {
  const failovers: Failover[] = [];
  const records: FaultRecord[] = [];
  for (let time = 1; time <= times; time += 1) {
    // As long as anyone needs to be sure that all is well.
    await wait(3_000);
    const primary = await fixture.pair.findPrimary();
    if (!primary) throw new Error("there is no primary to kill");
    const beganAt = Date.now();
    const killedAt = performance.now();
    const paid = callers.timeToPaid();
    await primary.process.retire("SIGKILL");
    await until("the replica is promoted", async () => (await fixture.pair.findPrimary()) !== undefined, 60_000);
    const promotedMs = performance.now() - killedAt;
    const paidMs = await paid;
    await fixture.pair.heal();
    failovers.push({ promotedMs, paidMs, rebuiltMs: performance.now() - killedAt });
    records.push({ kind: "primary_killed", beganAt, endedAt: Date.now(), detail: primary.name });
    say(
      `failover ${time} of ${times}: promoted after ${Math.round(promotedMs)} ms, a paid search after ${Math.round(paidMs)} ms`,
    );
  }
  return { failovers, records };
}
