import type { Micros } from "../lib/money.ts";
import type { Log } from "../telemetry/log.ts";
import type { WorkerMetrics } from "../telemetry/worker-metrics.ts";
import type { Tasks } from "./run-jobs.ts";

/** The work of each task, injected by create-worker.ts. This file decides only when and how often it runs. */
export interface TaskDependencies {
  log: Log;
  metrics: Pick<WorkerMetrics, "countSwept" | "recordSkippedHolds" | "countUsageCorrections">;
  /** Each of these handles at most `limit` rows and returns how many it handled. */
  expireHolds: (limit: number) => Promise<Swept>;
  expireMissedHolds: (limit: number) => Promise<Swept>;
  deleteExpiredAnswers: (limit: number) => Promise<number>;
  deleteEndedWindows: (limit: number) => Promise<number>;
  deleteOldEndUsers: (limit: number) => Promise<number>;
  deleteOldEvents: (limit: number) => Promise<number>;
  deleteExpiredSignIns: (limit: number) => Promise<number>;
  makePartitions: (daysAhead: number) => Promise<number>;
  partitionDaysAhead: () => Promise<number>;
  /** Drops the days of refusals and replays that are no longer listed. Returns how many. */
  dropOldRequests: () => Promise<number>;
  /** Runs after the stored answers are pruned, because they refer to searches. */
  deleteOldTestSearches: (signal: AbortSignal) => Promise<number>;
  rollUpUsage: (signal: AbortSignal) => Promise<number>;
  recountUsage: (signal: AbortSignal) => Promise<number>;
  /** Adds up usage for the status page. */
  countStatus: () => Promise<void>;
  /** Age of the usage watermark by the database's clock. */
  usageLagSeconds: () => Promise<number>;
  /** Sends deliveries until none is due. */
  sendWebhooks: (signal: AbortSignal) => Promise<void>;
  /** Sends at most `limit` due emails. Returns how many it attempted. */
  sendAlertEmails: (limit: number) => Promise<number>;
  /**
   * Closes hours of the ledger, reconciles, and returns the number of differences, with a few examples. Undefined if
   * another worker is doing so.
   */
  findDifferences: (signal: AbortSignal) => Promise<{ count: number; examples: string[] } | undefined>;
  /** Signs and exports the roots of closed hours. Undefined if no signing key is configured. */
  signRoots?: ((signal: AbortSignal) => Promise<number>) | undefined;
  /** Archives and drops old days. Undefined if retention is not configured. */
  dropOldDays?: ((signal: AbortSignal) => Promise<{ day: string }[]>) | undefined;
  /** Undefined if no payment processor is configured. */
  payments?: PaymentTasks | undefined;
}

interface Swept {
  holds: number;
  micros: Micros;
  /** How long the oldest hold of a locked wallet, which was skipped, has been overdue. */
  skippedSeconds: number;
}

export interface PaymentTasks {
  /** Compares the ledger with the processor, in both directions. */
  comparePayments: () => Promise<{
    creditedNow: number;
    reversedNow: number;
    unpaid: string[];
    unreadable: string[];
    openNotices: number;
  }>;
  /** Charges saved cards for automatic top-ups. */
  chargeCards: () => Promise<{ paid: number; declined: number; undecided: number }>;
}

const batchSize = 1_000;
const chargeIntervalMs = 5_000;
const sweepIntervalMs = 5_000;
const webhookIntervalMs = 1_000;
const emailIntervalMs = 2_000;
/** The usage watermark is at least two minutes behind the database's clock, unless that was set back. */
const minUsageLagSeconds = 110;
/** By then a hold has been captured, released or expired. */
const recountDelayMs = 180_000;
const partitionDays = 14;
const minPartitionDays = 7;

interface TaskSchedule {
  cron: string;
  /** Operators are alerted if the last success is older. */
  maxAgeSeconds: number;
  /** Instead of "replace". */
  jobKeyMode?: "preserve_run_at";
}

const minute = 60;
const hour = 60 * minute;

/** Some tasks also schedule themselves every few seconds; cron restarts them if they stop. */
export const taskSchedules: Readonly<Record<string, TaskSchedule>> = {
  // Keeps its earlier run_at: cron uses the worker's clock, and a clock that is ahead would postpone the next sweep.
  sweep: { cron: "* * * * *", maxAgeSeconds: 5 * minute, jobKeyMode: "preserve_run_at" },
  webhooks: { cron: "* * * * *", maxAgeSeconds: 5 * minute },
  emails: { cron: "* * * * *", maxAgeSeconds: 5 * minute },
  sweep_thoroughly: { cron: "7 * * * *", maxAgeSeconds: 2 * hour },
  reconcile: { cron: "17 * * * *", maxAgeSeconds: 2 * hour },
  sign_roots: { cron: "*/5 * * * *", maxAgeSeconds: 20 * minute },
  partitions: { cron: "23 3 * * *", maxAgeSeconds: 26 * hour },
  retention: { cron: "53 3 * * *", maxAgeSeconds: 26 * hour },
  prune: { cron: "*/10 * * * *", maxAgeSeconds: 30 * minute },
  roll_up_usage: { cron: "* * * * *", maxAgeSeconds: 15 * minute },
  recount_usage: { cron: "41 4 * * *", maxAgeSeconds: 26 * hour },
  count_status: { cron: "*/5 * * * *", maxAgeSeconds: 20 * minute },
  compare_payments: { cron: "*/5 * * * *", maxAgeSeconds: 20 * minute },
  charge_cards: { cron: "* * * * *", maxAgeSeconds: 5 * minute },
};

/**
 * A killed job keeps its lock for hours, and would block a named queue for that time. There are therefore no named queues: concurrent
 * runs of a task are safe by their SQL, and the job key keeps at most one run queued.
 */
export const crontab = Object.entries(taskSchedules)
  .map(
    ([task, { cron, jobKeyMode }]) =>
      `${cron} ${task} ?jobKey=${task}${jobKeyMode === undefined ? "" : `&jobKeyMode=${jobKeyMode}`}`,
  )
  .join("\n");

export function createTasks(dependencies: TaskDependencies): Tasks {
  const { log, metrics } = dependencies;
  return {
    async sweep({ schedule, signal }) {
      const ended = await drain(withSweepMetrics(metrics, dependencies.expireHolds), signal);
      if (ended > 0) log.info({ holds: ended }, "expired overdue holds");
      await schedule("sweep", sweepIntervalMs);
    },

    async sweep_thoroughly({ schedule, signal }) {
      const ended = await drain(withSweepMetrics(metrics, dependencies.expireMissedHolds), signal);
      if (ended > 0) log.warn({ holds: ended }, "expired holds missed by the sweeper");
      // Usage of their hours has been rolled up already.
      if (ended > 0) await schedule("recount_usage", 0);
    },

    ...createUsageTasks(dependencies),

    async reconcile({ signal }) {
      const found = await dependencies.findDifferences(signal);
      if (!found) log.info("reconciliation is already running");
      else if (found.count === 0) log.info("reconciliation clean");
      else log.error(found, "reconciliation found differences");
    },

    sign_roots: skipIfRunning(async ({ signal }) => void (await dependencies.signRoots?.(signal))),

    async partitions() {
      const made = await dependencies.makePartitions(partitionDays);
      const days = await dependencies.partitionDaysAhead();
      if (made > 0) log.info({ made, days }, "created partitions");
      const dropped = await dependencies.dropOldRequests();
      if (dropped > 0) log.info({ dropped }, "dropped old days of refused requests");
      if (days < minPartitionDays) log.warn({ days }, "partitions are running out");
    },

    retention: skipIfRunning(async ({ signal }) => {
      const closed = (await dependencies.dropOldDays?.(signal)) ?? [];
      for (const day of closed) log.info(day, "archived and dropped old day");
    }),

    async prune({ signal }) {
      const pruned = await prune(dependencies, signal);
      if (Object.values(pruned).some((rows) => rows > 0)) log.info(pruned, "pruned expired rows");
    },

    compare_payments: skipIfRunning(async () => {
      const found = await dependencies.payments?.comparePayments();
      if (!found) return;
      const { unpaid, unreadable, openNotices, ...applied } = found;
      if (applied.creditedNow + applied.reversedNow > 0) log.warn(applied, "applied payments missed by webhooks");
      if (unpaid.length > 0)
        log.error({ payments: unpaid.slice(0, 20) }, "credited payments not paid at the processor");
      if (unreadable.length > 0)
        log.error({ payments: unreadable.slice(0, 20) }, "payments, refunds or disputes could not be read or booked");
      if (openNotices > 0) log.error({ openNotices }, "open payment notices, run: npm run admin -- payments list");
    }),

    charge_cards: skipIfRunning(async ({ schedule }) => {
      if (!dependencies.payments) return;
      const report = await dependencies.payments.chargeCards();
      if (report.paid + report.declined + report.undecided > 0) log.info(report, "charged saved cards");
      await schedule("charge_cards", chargeIntervalMs);
    }),

    webhooks: skipIfRunning(async ({ schedule, signal }) => {
      await dependencies.sendWebhooks(signal);
      await schedule("webhooks", webhookIntervalMs);
    }),

    emails: skipIfRunning(async ({ schedule, signal }) => {
      await drain(() => dependencies.sendAlertEmails(10), signal);
      await schedule("emails", emailIntervalMs);
    }),
  };
}

function createUsageTasks(dependencies: TaskDependencies): Tasks {
  const { log, metrics } = dependencies;
  return {
    async roll_up_usage({ schedule, signal }) {
      const searches = await dependencies.rollUpUsage(signal);
      if (searches > 0) log.debug({ searches }, "rolled up usage");
      // The clock was set back: until it passes the watermark, new searches are behind it and are not rolled up.
      if ((await dependencies.usageLagSeconds()) < minUsageLagSeconds) await schedule("recount_usage", recountDelayMs);
    },

    count_status: skipIfRunning(() => dependencies.countStatus()),

    async recount_usage({ signal }) {
      const rows = await dependencies.recountUsage(signal);
      metrics.countUsageCorrections(rows);
      if (rows > 0) log.warn({ rows }, "corrected usage of searches committed after their roll-up");
    },
  };
}

function withSweepMetrics(
  metrics: TaskDependencies["metrics"],
  expire: TaskDependencies["expireHolds"],
): (limit: number) => Promise<number> {
  return async (limit) => {
    const swept = await expire(limit);
    metrics.countSwept(swept);
    metrics.recordSkippedHolds(swept.skippedSeconds);
    return swept.holds;
  };
}

/**
 * A task that waits for an external service can outlast the minute after which cron restarts it. Without this, its runs
 * would pile up and take the slots of all other tasks.
 */
function skipIfRunning(task: Tasks[string]): Tasks[string] {
  let isRunning = false;
  return async (context) => {
    if (isRunning) return;
    isRunning = true;
    try {
      await task(context);
    } finally {
      isRunning = false;
    }
  };
}

async function prune(dependencies: TaskDependencies, signal: AbortSignal): Promise<Record<string, number>> {
  return {
    answers: await drain(dependencies.deleteExpiredAnswers, signal),
    windows: await drain(dependencies.deleteEndedWindows, signal),
    endUsers: await drain(dependencies.deleteOldEndUsers, signal),
    events: await drain(dependencies.deleteOldEvents, signal),
    signIns: await drain(dependencies.deleteExpiredSignIns, signal),
    testSearches: await dependencies.deleteOldTestSearches(signal),
  };
}

/** In batches, so that no statement holds many locks for long. */
async function drain(work: (limit: number) => Promise<number>, signal: AbortSignal): Promise<number> {
  let total = 0;
  while (!signal.aborted) {
    const done = await work(batchSize);
    total += done;
    if (done === 0) break;
  }
  return total;
}
