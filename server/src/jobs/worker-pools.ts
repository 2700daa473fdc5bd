import type { WorkerConfig } from "../config/config.ts";
import { workerConnections } from "../db/connection-counts.ts";
import { createFence } from "../db/fence.ts";
import { describeDatabaseFailure } from "../db/find-schema-fault.ts";
import { createPool, type Pool } from "../db/pool.ts";
import { findRoleFault } from "../db/roles.ts";
import type { Log } from "../telemetry/log.ts";

/** The database connections of a worker. */
export interface WorkerPools {
  pool: Pool;
  /** For statements that read whole tables. */
  slowPool: Pool;
  /** Of the job runner. */
  jobsPool: Pool;
  /** Undefined if payments are not configured. */
  paymentsPool: Pool | undefined;
  /** All of the above by name. */
  pools: Readonly<Record<keyof typeof workerConnections, Pool | undefined>>;
  /** Only the owner can drop partitions, so it is connected only for the time of that task. */
  openOwner: (url: string) => Pool;
  /** Returns the reason the worker must not connect as these roles, or undefined. */
  findRoleFaults(): Promise<string | undefined>;
  close(): Promise<void>;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export function openWorkerPools(config: WorkerConfig, log: Log): WorkerPools {
  const fence = createFence();
  const onIdleError = (err: Error): void => log.warn({ err }, "idle database connection failed");
  const open = (url: string, name: string, connections: number, statementTimeoutMs: number): Pool =>
    createPool({ fence, url, name, connections, statementTimeoutMs, onIdleError });
  const { workerDatabaseUrl: url, paymentsDatabaseUrl } = config;
  const counts = workerConnections;
  const pool = open(url, "pennyblack worker", counts.tasks, minuteMs);
  const slowPool = open(url, "pennyblack reconcile", counts.reconcile, hourMs);
  const paymentsPool =
    paymentsDatabaseUrl === undefined
      ? undefined
      : open(paymentsDatabaseUrl, "pennyblack payments", counts.payments, minuteMs);
  const jobsPool = createPool({
    url,
    name: "pennyblack jobs",
    connections: counts.jobs,
    statementTimeoutMs: minuteMs,
    // Two workers that schedule the same job wait for each other's commit. graphile-worker does not retry lock timeouts.
    lockTimeoutMs: 30_000,
    usesDriverTypes: true,
    onIdleError,
  });

  return {
    pool,
    slowPool,
    jobsPool,
    paymentsPool,
    pools: { tasks: pool, reconcile: slowPool, payments: paymentsPool, jobs: jobsPool },
    openOwner: (ownerUrl) => open(ownerUrl, "pennyblack retention", 4, hourMs),
    async findRoleFaults() {
      // The worker must not be able to change the ledger other than through its functions.
      const fault = await findRoleFault(pool);
      if (fault) return `PENNYBLACK_WORKER_DATABASE_URL must not connect as this role: ${fault}.`;
      return paymentsPool && (await findPaymentsFault(paymentsPool));
    },
    async close() {
      await Promise.all([pool.end(), slowPool.end(), paymentsPool?.end(), jobsPool.end()]);
    },
  };
}

async function findPaymentsFault(pool: Pool): Promise<string | undefined> {
  const variable = "PENNYBLACK_PAYMENTS_DATABASE_URL";
  try {
    const fault = await findRoleFault(pool);
    return fault && `${variable} must not connect as this role: ${fault}.`;
  } catch (error) {
    return describeDatabaseFailure(variable, error);
  }
}
