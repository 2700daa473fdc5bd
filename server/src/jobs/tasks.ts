import type { Micros } from "../lib/money.ts";
import type { Log } from "../telemetry/log.ts";
import type { WorkerMetrics } from "../telemetry/worker-metrics.ts";
import type { Tasks } from "./start-worker.ts";

/** What the jobs do, handed in by main.ts: a job knows when and how often, not how. */
export interface TaskParts {
  log: Log;
  metrics: Pick<WorkerMetrics, "countSwept" | "countUsageCorrections">;
  /** Each ends, deletes or makes at most as many as it is told and says how many it did. */
  expireHolds: (most: number) => Promise<{ holds: number; micros: Micros }>;
  expireForgottenHolds: (most: number) => Promise<{ holds: number; micros: Micros }>;
  forgetAnswers: (most: number) => Promise<number>;
  forgetRuns: (most: number) => Promise<number>;
  forgetEvents: (most: number) => Promise<number>;
  forgetSignIns: (most: number) => Promise<number>;
  makePartitions: (daysAhead: number) => Promise<number>;
  partitionDaysAhead: () => Promise<number>;
  rollUpUsage: (signal: AbortSignal) => Promise<number>;
  recountUsage: (signal: AbortSignal) => Promise<number>;
  /** Sends events to those who asked for them, until none is due. */
  sendWebhooks: (signal: AbortSignal) => Promise<void>;
  /** Mail that is due, at most as many. Says how many it tried. */
  sendMail: (most: number) => Promise<number>;
  /** How often the books say something else than the searches, with a few examples. */
  findDifferences: () => Promise<{ count: number; examples: string[] }>;
  /** Archives and drops days that are over, where the operator wants that. */
  dropOldDays?: ((signal: AbortSignal) => Promise<{ day: string }[]>) | undefined;
  /** Nothing where no payment processor is configured. */
  payments?: PaymentTasks | undefined;
}

export interface PaymentTasks {
  /** Compares with the processor, both ways. */
  comparePayments: () => Promise<{
    creditedNow: number;
    reversedNow: number;
    notPaidThere: string[];
    openNotices: number;
  }>;
  /** Charges the saved cards of wallets that are low. */
  chargeCards: () => Promise<{ paid: number; declined: number; undecided: number }>;
}

const batchSize = 1_000;
const chargeEveryMs = 5_000;
const sweepEveryMs = 5_000;
const webhooksEveryMs = 1_000;
const mailEveryMs = 2_000;
const partitionDays = 14;
const fewestPartitionDays = 7;

/**
 * A job that is killed keeps its lock for hours, and so would a queue of its own. So there are no queues: two runs of
 * one job at once are harmless by their SQL, and the job's key keeps at most one waiting.
 */
export const crontab = [
  // These reschedule themselves every few seconds; the lines revive them. The sweep keeps its own appointment, which is
  // never far: a line is dated by the worker's clock, and one that is ahead would put the next sweep off until then.
  "* * * * * sweep ?jobKey=sweep&jobKeyMode=preserve_run_at",
  "* * * * * webhooks ?jobKey=webhooks",
  "* * * * * mail ?jobKey=mail",
  "7 * * * * sweep_thoroughly ?jobKey=sweep_thoroughly",
  "17 * * * * reconcile ?jobKey=reconcile",
  "23 3 * * * partitions ?jobKey=partitions",
  "53 3 * * * retention ?jobKey=retention",
  "*/10 * * * * forget ?jobKey=forget",
  "* * * * * roll_up_usage ?jobKey=roll_up_usage",
  "41 4 * * * recount_usage ?jobKey=recount_usage",
  "*/5 * * * * compare_payments ?jobKey=compare_payments",
  // Like the sweep.
  "* * * * * charge_cards ?jobKey=charge_cards",
].join("\n");

export function createTasks(parts: TaskParts): Tasks {
  const { log, metrics } = parts;
  return {
    async sweep({ schedule, signal }) {
      const ended = await untilNone(counted(metrics, parts.expireHolds), signal);
      if (ended > 0) log.info({ holds: ended }, "expired holds whose life was over");
      await schedule("sweep", sweepEveryMs);
    },

    async sweep_thoroughly({ schedule, signal }) {
      const ended = await untilNone(counted(metrics, parts.expireForgottenHolds), signal);
      if (ended > 0) log.warn({ holds: ended }, "expired holds that the sweeper had passed by");
      // The hours they were held in are counted already.
      if (ended > 0) await schedule("recount_usage", 0);
    },

    async roll_up_usage({ signal }) {
      const searches = await parts.rollUpUsage(signal);
      if (searches > 0) log.debug({ searches }, "counted usage");
    },

    async recount_usage({ signal }) {
      const rows = await parts.recountUsage(signal);
      metrics.countUsageCorrections(rows);
      if (rows > 0) log.warn({ rows }, "put usage right: searches appeared after their hour was counted");
    },

    async reconcile() {
      const { count, examples } = await parts.findDifferences();
      if (count === 0) log.info("the books are right");
      else log.error({ count, examples }, "the books do not add up");
    },

    async partitions() {
      const made = await parts.makePartitions(partitionDays);
      const days = await parts.partitionDaysAhead();
      if (made > 0) log.info({ made, days }, "made partitions");
      if (days < fewestPartitionDays) log.warn({ days }, "partitions are running out");
    },

    retention: alone(async ({ signal }) => {
      const closed = (await parts.dropOldDays?.(signal)) ?? [];
      for (const each of closed) log.info(each, "archived a day and dropped it");
    }),

    async forget({ signal }) {
      const answers = await untilNone(parts.forgetAnswers, signal);
      const runs = await untilNone(parts.forgetRuns, signal);
      const events = await untilNone(parts.forgetEvents, signal);
      const signIns = await untilNone(parts.forgetSignIns, signal);
      const total = answers + runs + events + signIns;
      if (total > 0) log.info({ answers, runs, events, signIns }, "forgot what is no longer promised");
    },

    compare_payments: alone(async () => {
      const found = await parts.payments?.comparePayments();
      if (!found) return;
      const { notPaidThere, openNotices, ...news } = found;
      if (news.creditedNow + news.reversedNow > 0) log.warn(news, "the processor knew what we had not heard");
      if (notPaidThere.length > 0) log.error({ payments: notPaidThere.slice(0, 20) }, "credited here, not paid there");
      if (openNotices > 0) log.error({ openNotices }, "payments wait for a person: npm run admin -- payments list");
    }),

    charge_cards: alone(async ({ schedule }) => {
      if (!parts.payments) return;
      const report = await parts.payments.chargeCards();
      if (report.paid + report.declined + report.undecided > 0) log.info(report, "charged saved cards");
      await schedule("charge_cards", chargeEveryMs);
    }),

    webhooks: alone(async ({ schedule, signal }) => {
      await parts.sendWebhooks(signal);
      await schedule("webhooks", webhooksEveryMs);
    }),

    mail: alone(async ({ schedule, signal }) => {
      await untilNone(() => parts.sendMail(10), signal);
      await schedule("mail", mailEveryMs);
    }),
  };
}

function counted(metrics: TaskParts["metrics"], expire: TaskParts["expireHolds"]): (most: number) => Promise<number> {
  return async (most) => {
    const swept = await expire(most);
    metrics.countSwept(swept);
    return swept.holds;
  };
}

/**
 * What waits for strangers can take longer than the minute after which it is revived. Run twice at once, and three
 * times a minute later, it would take the places of all other jobs.
 */
function alone(task: Tasks[string]): Tasks[string] {
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

/** In batches, so that no statement holds many locks for long. */
async function untilNone(work: (most: number) => Promise<number>, signal: AbortSignal): Promise<number> {
  let total = 0;
  while (!signal.aborted) {
    const done = await work(batchSize);
    total += done;
    if (done === 0) break;
  }
  return total;
}
