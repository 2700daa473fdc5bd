import { setTimeout as wait } from "node:timers/promises";
import type { Node, PatroniCluster } from "../../support/patroni/patroni-cluster.ts";
import type { Callers } from "../callers.ts";
import type { ChaosCluster } from "./chaos-cluster.ts";
import type { FaultRecord } from "./inject-faults.ts";

export interface Failover {
  kind: string;
  /** From the fault until another node accepts writes. */
  promotedMs: number;
  /** From the fault until a search sent after it is paid. */
  paidMs: number;
  /** From the fault until the primary has two replicas again. */
  wholeMs: number;
  /** Searches answered with a status of 500 or more. */
  failedSearches: number;
}

export interface Failovers {
  failovers: Failover[];
  records: FaultRecord[];
  /** Failovers after which the service did not recover. */
  failures: string[];
}

/** How long the successor is paid before the old primary returns. */
const paidFirstMs = 3_000;

type Inject = (database: PatroniCluster, primary: Node) => Promise<void> | void;

interface Fault {
  /** Before the time is taken. */
  prepare?: Inject;
  inject: Inject;
  /** The old primary returns only after the successor was paid for some seconds. */
  isPaidFirst?: boolean;
}

const leadEtcdElsewhere: Inject = async (database, primary) => {
  const [replica] = database.replicasOf(primary);
  if (replica) await database.leadEtcd(replica);
};

const faults: Record<string, Fault> = {
  postgres_killed: { inject: (database, primary) => database.killPostgres(primary) },
  node_lost: { prepare: leadEtcdElsewhere, inject: (database, primary) => database.loseNode(primary) },
  // A new leader of etcd restarts the time of every lease.
  node_and_etcd_leader_lost: {
    prepare: (database, primary) => database.leadEtcd(primary),
    inject: (database, primary) => database.loseNode(primary),
  },
  switchover: { inject: (database, primary) => database.switchOver(primary) },
  // The old primary returns with a view of the cluster from before its lease ended, after its successor was paid.
  primary_cut_off: {
    inject: (database, primary) => database.network.disconnect(primary),
    isPaidFirst: true,
  },
};

export const failoverKinds = Object.keys(faults);

/** Replaces the primary in each way, repeatedly, under load and without other faults. */
export async function failOver(
  cluster: ChaosCluster,
  callers: Callers,
  { times, only }: { times: number; only: readonly string[] },
  log: (line: string) => void,
): Promise<Failovers> {
  const done: Failovers = { failovers: [], records: [], failures: [] };
  for (const [kind, fault] of Object.entries(faults)) {
    if (only.length > 0 && !only.includes(kind)) continue;
    for (let time = 1; time <= times; time += 1) {
      // Load without faults in between, so that each failover is measured from a steady state.
      await wait(3_000);
      const beganAt = Date.now();
      const record = { kind, beganAt, endedAt: Number.POSITIVE_INFINITY, detail: "" };
      done.records.push(record);
      try {
        const { name, ...measured } = await measure(cluster, callers, fault);
        done.failovers.push({ kind, ...measured });
        Object.assign(record, { endedAt: Date.now(), detail: name });
        log(
          `${kind} ${time} of ${times}: ${Object.entries(measured)
            .map(([what, value]) => `${what} ${Math.round(value)}`)
            .join(", ")}`,
        );
      } catch (error) {
        // The next one could not be measured.
        done.failures.push(`after ${kind} ${time} the service did not recover: ${String(error)}`);
        return done;
      }
    }
  }
  return done;
}

async function measure(
  { database }: ChaosCluster,
  callers: Callers,
  { prepare, inject, isPaidFirst }: Fault,
): Promise<Omit<Failover, "kind"> & { name: string }> {
  const primary = await database.findPrimary();
  if (!primary) throw new Error("there is no primary");
  await prepare?.(database, primary);
  const failedBefore = countFailed(callers);
  const startedAt = performance.now();
  const injected = inject(database, primary);
  const paid = callers.timeToPaid();
  await database.untilReplaced(primary);
  const promotedMs = performance.now() - startedAt;
  const paidMs = await paid;
  await injected;
  if (isPaidFirst) await wait(paidFirstMs);
  database.startNode(primary);
  await database.heal();
  const wholeMs = performance.now() - startedAt;
  return { name: primary.name, promotedMs, paidMs, wholeMs, failedSearches: countFailed(callers) - failedBefore };
}

function countFailed({ counts }: Callers): number {
  return counts.statuses
    .entries()
    .filter(([outcome]) => outcome.startsWith("5"))
    .reduce((sum, [, count]) => sum + count, 0);
}
