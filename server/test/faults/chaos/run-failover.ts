import { setTimeout as wait } from "node:timers/promises";
import { until } from "../../support/assertions/until.ts";
import type { Callers } from "../callers.ts";
import type { ChaosCluster } from "./chaos-cluster.ts";
import type { FaultRecord } from "./inject-faults.ts";

export interface Failover {
  /** From kill -9 of the primary until the replica accepts writes. */
  promotedMs: number;
  /** From the kill until a search sent after it is paid. */
  paidMs: number;
  rebuiltMs: number;
}

/** Repeatedly kills the primary under load, without other faults. */
export async function failOver(
  cluster: ChaosCluster,
  callers: Callers,
  times: number,
  log: (line: string) => void,
): Promise<{ failovers: Failover[]; records: FaultRecord[] }> {
  const failovers: Failover[] = [];
  const records: FaultRecord[] = [];
  for (let time = 1; time <= times; time += 1) {
    // Load without faults in between, so that each failover is measured from a steady state.
    await wait(3_000);
    const primary = await cluster.pair.findPrimary();
    if (!primary) throw new Error("there is no primary to kill");
    const beganAt = Date.now();
    const killedAt = performance.now();
    const paid = callers.timeToPaid();
    await primary.process.stop("SIGKILL");
    await until("the replica is promoted", async () => (await cluster.pair.findPrimary()) !== undefined, 60_000);
    const promotedMs = performance.now() - killedAt;
    const paidMs = await paid;
    await cluster.pair.heal();
    failovers.push({ promotedMs, paidMs, rebuiltMs: performance.now() - killedAt });
    records.push({ kind: "primary_killed", beganAt, endedAt: Date.now(), detail: primary.name });
    log(
      `failover ${time} of ${times}: promoted after ${Math.round(promotedMs)} ms, a paid search after ${Math.round(paidMs)} ms`,
    );
  }
  return { failovers, records };
}
