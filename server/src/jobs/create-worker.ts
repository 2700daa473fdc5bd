import { randomUUIDv7 } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { WorkerConfig } from "../config/config.ts";
import { readArchiver } from "../db/archiver.ts";
import { readHosts } from "../db/find-primary.ts";
import { describeDatabaseFailure, findSchemaFault } from "../db/find-schema-fault.ts";
import { findUnlistedSecret } from "../db/find-unlisted-secret.ts";
import { partitionDaysAhead } from "../db/partitions.ts";
import { type Pool, waitForConnection } from "../db/pool.ts";
import { readReplicas } from "../db/replicas.ts";
import { startWorkerReports } from "../db/report-worker.ts";
import { startClockWatch } from "../db/watch-clock.ts";
import { createEmailSender } from "../email/email.ts";
import { createOpsServer } from "../http/ops-server.ts";
import { createReadiness } from "../http/readiness.ts";
import { createSecrets } from "../lib/secrets.ts";
import { type ServiceWatch, watchService } from "../lib/watch-service.ts";
import { createStatusPage, readStatusCounts, startStatusCopy } from "../status/status.ts";
import type { Log } from "../telemetry/log.ts";
import { createWorkerMetrics } from "../telemetry/worker-metrics.ts";
import { readUsageLag } from "../usage/usage.ts";
import { readLastReport } from "../wallet/upkeep/save-report.ts";
import { createSender } from "../webhooks/deliver.ts";
import { readWebhookLag } from "../webhooks/webhooks.ts";
import { type JobRunner, runJobs } from "./run-jobs.ts";
import { createTaskDependencies } from "./task-dependencies.ts";
import { createTasks, crontab, taskSchedules } from "./tasks.ts";
import { openWorkerPools, type WorkerPools } from "./worker-pools.ts";

export interface Worker {
  ops: FastifyInstance;
  /** Returns the reason this worker must not start, or undefined. */
  findStartFault(): Promise<string | undefined>;
  /** Starts the jobs. */
  start(): Promise<JobRunner>;
  /** Finishes running jobs and takes no new ones. */
  close(): Promise<void>;
}

/** Tasks that run after the start, with their delays in ms. */
const startupTasks = {
  sweep: 0,
  partitions: 0,
  webhooks: 0,
  emails: 0,
  // After the sweep, which moves its limit. The usage of a new database is a day behind until then.
  roll_up_usage: 5_000,
  count_status: 10_000,
  charge_cards: 0,
  compare_payments: 10_000,
  reconcile: 60_000,
};

/** Wires every module to the tasks. Neither listens nor runs jobs yet. */
export function createWorker(config: WorkerConfig, log: Log): Worker {
  const metrics = createWorkerMetrics();
  const pools = openWorkerPools(config, log);
  const { pool } = pools;
  const secrets = createSecrets(config.secrets);
  const processId = randomUUIDv7();
  // Job times are computed from this machine's clock and shared with all workers. A worker whose clock is hours ahead would
  // delay every job by hours, so it must not run.
  const clock = startClockWatch({ db: pool });
  const findFault = createReadiness(async () => (await findSchemaFault(pool, "running")) ?? clock.lastFault());
  let state: "starting" | "running" | "stopping" = "starting";
  const whyNotReady = async (): Promise<string | undefined> => (state === "running" ? await findFault() : state);
  const ops = createOpsServer({ log, renderMetrics: metrics.render, whyNotReady });
  const sender = createSender({ allowPrivate: config.webhooksAllowPrivate });
  const tasks = createTasks(createTaskDependencies({ config, log, metrics, pools, secrets, send: sender.send }));
  watchMetrics(config, pools, metrics);
  metrics.watchClock(() => clock.offsetSeconds());
  const mail = watchMail(config);
  if (mail) metrics.watchDependency("smtp", mail.isAvailable);
  const maxAges = listMaxAges(config);
  metrics.watchTasks(Object.keys(maxAges));
  let reports: ReturnType<typeof startWorkerReports> | undefined;
  let jobs: JobRunner | undefined;
  let copy: ReturnType<typeof startStatusCopy> | undefined;

  return {
    ops,
    async findStartFault() {
      // The primary can be lost between any two of these statements.
      try {
        await waitForConnection(pool);
        return (
          (await findSchemaFault(pool, "starting")) ??
          (await pools.findRoleFaults()) ??
          (await clock.measure()) ??
          (await findUnlistedSecret(pool, secrets))
        );
      } catch (error) {
        return describeDatabaseFailure("PENNYBLACK_WORKER_DATABASE_URL", error);
      }
    },
    async start() {
      if (config.webhooksAllowPrivate)
        log.warn("webhooks to private addresses allowed (PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE), do not use in production");
      const own = startWorkerReports({ db: pool, processId, secretIds: secrets.all.map(({ id }) => id), maxAges });
      reports = own;
      const onTask = (task: string, isOk: boolean): void => {
        metrics.recordTask(task, isOk);
        if (isOk) own.recordSuccess(task);
      };
      jobs = await runJobs({ pool: pools.jobsPool, tasks, onTask, crontab, startupTasks, log });
      copy = copyStatus(config, { pool, log, onTask });
      state = "running";
      return jobs;
    },
    async close() {
      state = "stopping";
      await jobs?.stop();
      await copy?.close();
      await sender.close();
      mail?.close();
      metrics.close();
      clock.close();
      await reports?.close();
      await pools.close();
      await ops.close();
    },
  };
}

/** Writes the copy of the status page. Not a task of the database, but reported like one. */
const statusCopyTask = "copy_status";

function listMaxAges({ statusFolder }: WorkerConfig): Record<string, number> {
  const scheduled = Object.entries(taskSchedules).map(([task, { maxAgeSeconds }]) => [task, maxAgeSeconds] as const);
  return Object.fromEntries(statusFolder === undefined ? scheduled : [...scheduled, [statusCopyTask, 300] as const]);
}

function copyStatus(
  { statusFolder: folder, publicUrl }: WorkerConfig,
  { pool, log, onTask }: { pool: Pool; log: Log; onTask: (task: string, isOk: boolean) => void },
): ReturnType<typeof startStatusCopy> | undefined {
  if (folder === undefined) return undefined;
  const readPage = createStatusPage({ publicUrl, readCounts: () => readStatusCounts(pool) });
  return startStatusCopy({
    folder,
    readPage,
    onAttempt(err) {
      if (err !== undefined) log.error({ err, folder }, "copy of the status page not written");
      onTask(statusCopyTask, err === undefined);
    },
  });
}

function watchMetrics(
  { workerDatabaseUrl }: WorkerConfig,
  { pool, pools }: WorkerPools,
  metrics: ReturnType<typeof createWorkerMetrics>,
): void {
  metrics.watchPools(pools);
  metrics.watchDatabase(async () => ({
    reconciliation: await readLastReport(pool),
    partitionDaysAhead: await partitionDaysAhead(pool),
    webhookLagSeconds: await readWebhookLag(pool),
    usageLagSeconds: await readUsageLag(pool),
    replicas: await readReplicas(pool),
    archiver: await readArchiver(pool),
  }));
  metrics.watchHosts(() => readHosts(workerDatabaseUrl));
}

/** Undefined if email is not configured. */
function watchMail({ smtpUrl, mailFrom }: WorkerConfig): ServiceWatch | undefined {
  if (!smtpUrl || !mailFrom) return undefined;
  const mailer = createEmailSender({ smtpUrl, from: mailFrom });
  return watchService(() => mailer.verify());
}
