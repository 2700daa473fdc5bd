import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Tasks } from "./start-worker.ts";

/** What the jobs do, handed in by main.ts: a job knows when and how often, not how. */
export interface TaskParts {
  log: Log;
  metrics: Pick<Metrics, "countSwept" | "setReconciliation" | "setPartitionDays">;
  /** Each ends, deletes or makes at most as many as it is told and says how many it did. */
  expireHolds: (most: number) => Promise<number>;
  expireForgottenHolds: (most: number) => Promise<number>;
  forgetAnswers: (most: number) => Promise<number>;
  forgetRuns: (most: number) => Promise<number>;
  makePartitions: (daysAhead: number) => Promise<number>;
  partitionDaysAhead: () => Promise<number>;
  /** How often the books say something else than the searches, with a few examples. */
  findDifferences: () => Promise<{ count: number; examples: string[] }>;
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
const partitionDays = 14;
const fewestPartitionDays = 7;

/**
 * A job that is killed keeps its lock for hours, and so would a queue of its own. So there are no queues: two runs of
 * one job at once are harmless by their SQL, and the job's key keeps at most one waiting.
 */
export const crontab = [
  // It reschedules itself every few seconds; this line revives it.
  "* * * * * sweep ?jobKey=sweep",
  "7 * * * * sweep_thoroughly ?jobKey=sweep_thoroughly",
  "17 * * * * reconcile ?jobKey=reconcile",
  "23 3 * * * partitions ?jobKey=partitions",
  "*/10 * * * * forget ?jobKey=forget",
  "*/5 * * * * compare_payments ?jobKey=compare_payments",
  // Like the sweep.
  "* * * * * charge_cards ?jobKey=charge_cards",
].join("\n");

export function createTasks(parts: TaskParts): Tasks {
  const { log, metrics } = parts;
  return {
    async sweep({ schedule, signal }) {
      const ended = await untilNone(parts.expireHolds, signal);
      if (ended > 0) log.info({ holds: ended }, "expired holds whose life was over");
      metrics.countSwept(ended);
      await schedule("sweep", sweepEveryMs);
    },

    async sweep_thoroughly({ signal }) {
      const ended = await untilNone(parts.expireForgottenHolds, signal);
      if (ended > 0) log.warn({ holds: ended }, "expired holds that the sweeper had passed by");
      metrics.countSwept(ended);
    },

    async reconcile() {
      const { count, examples } = await parts.findDifferences();
      metrics.setReconciliation(count);
      if (count === 0) log.info("the books are right");
      else log.error({ count, examples }, "the books do not add up");
    },

    async partitions() {
      const made = await parts.makePartitions(partitionDays);
      const days = await parts.partitionDaysAhead();
      metrics.setPartitionDays(days);
      if (made > 0) log.info({ made, days }, "made partitions");
      if (days < fewestPartitionDays) log.warn({ days }, "partitions are running out");
    },

    async forget({ signal }) {
      const answers = await untilNone(parts.forgetAnswers, signal);
      const runs = await untilNone(parts.forgetRuns, signal);
      if (answers + runs > 0) log.info({ answers, runs }, "forgot what is no longer promised");
    },

    async compare_payments() {
      const found = await parts.payments?.comparePayments();
      if (!found) return;
      const { notPaidThere, openNotices, ...news } = found;
      if (news.creditedNow + news.reversedNow > 0) log.warn(news, "the processor knew what we had not heard");
      if (notPaidThere.length > 0) log.error({ payments: notPaidThere.slice(0, 20) }, "credited here, not paid there");
      if (openNotices > 0) log.error({ openNotices }, "payments wait for a person: npm run admin -- payments list");
    },

    async charge_cards({ schedule }) {
      if (!parts.payments) return;
      const report = await parts.payments.chargeCards();
      if (report.paid + report.declined + report.undecided > 0) log.info(report, "charged saved cards");
      await schedule("charge_cards", chargeEveryMs);
    },
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
