import { createSecretKey } from "node:crypto";
import { ConfigFaults, readConfig, workerSettings } from "../config/config.ts";
import { deleteExpiredSignIns } from "../console/console.ts";
import { findSchemaFault } from "../db/migrate.ts";
import { makePartitions, partitionDaysAhead } from "../db/partitions.ts";
import { createPool, type Pool } from "../db/pool.ts";
import { readReplicas } from "../db/replicas.ts";
import { createEmailSender, sendAlertEmails, sendSignInEmails } from "../email/email.ts";
import { createOpsServer } from "../http/ops-server.ts";
import { chargeCards } from "../payments/charge-cards.ts";
import { comparePayments } from "../payments/compare-payments.ts";
import { createStripe } from "../payments/stripe.ts";
import { createLog } from "../telemetry/log.ts";
import { createWorkerMetrics } from "../telemetry/worker-metrics.ts";
import { readUsageLag, recountUsage, rollUpUsage } from "../usage/usage.ts";
import { expireHolds } from "../wallet/statements.ts";
import { deleteExpiredAnswers, deleteExpiredRuns, deleteOldTestSearches } from "../wallet/upkeep/prune.ts";
import { reconcile } from "../wallet/upkeep/reconcile.ts";
import { dropOldDays } from "../wallet/upkeep/retention.ts";
import { readLastReport, saveReport } from "../wallet/upkeep/save-report.ts";
import { createSender } from "../webhooks/deliver.ts";
import { deleteOldEvents, readWebhookLag, sendWebhooks, type WebhookDependencies } from "../webhooks/webhooks.ts";
import { startWorker } from "./start-worker.ts";
import { createTasks, crontab, type PaymentTasks } from "./tasks.ts";

// Worker process: runs scheduled background jobs. Any number of workers can run in parallel.

const config = readConfigOrExit();
const log = createLog(config.logLevel);
const metrics = createWorkerMetrics();
let isStopping = false;

const pool = openPool("pennyblack worker", 60_000);
// For statements that read whole tables.
const slowPool = openPool("pennyblack reconcile", 3_600_000);
const refusal = (await findSchemaFault(pool, "starting")) ?? (await findClockFault());
if (refusal) {
  process.stderr.write(`${refusal}\n`);
  process.exit(1);
}

const ops = createOpsServer({
  log,
  renderMetrics: metrics.render,
  whyNotReady: async () =>
    isStopping ? "stopping" : ((await findSchemaFault(pool, "running")) ?? (await findClockFault())),
});
const sender = createSender({ allowPrivate: config.webhooksAllowPrivate });
const { smtpUrl, mailFrom } = config;
const mailer = smtpUrl && mailFrom ? createEmailSender({ smtpUrl, from: mailFrom }) : undefined;
const webhooks: WebhookDependencies = {
  pool,
  secret: createSecretKey(config.secret),
  send: sender.send,
  hasEmail: mailer !== undefined,
  onAttempt: ({ sent, disabled, ...ids }) => {
    log.info({ ...ids, ...sent }, sent.ok ? "webhook delivered" : "webhook delivery failed");
    if (disabled) log.warn({ ...ids, disabled }, "webhook endpoint disabled");
  },
  onFault: (err, deliveryId) => log.error({ err, deliveryId }, "webhook delivery could not be attempted"),
};
if (config.webhooksAllowPrivate) {
  log.warn("webhooks to private addresses allowed (PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE), do not use in production");
}
metrics.watchDatabase(async () => ({
  reconciliation: await readLastReport(pool),
  partitionDaysAhead: await partitionDaysAhead(pool),
  webhookLagSeconds: await readWebhookLag(pool),
  usageLagSeconds: await readUsageLag(pool),
  replicas: await readReplicas(pool),
}));
const tasks = createTasks({
  log,
  metrics,
  expireHolds: (limit) => expireHolds(pool, limit),
  expireMissedHolds: (limit) => expireHolds(pool, limit, true),
  deleteExpiredAnswers: (limit) => deleteExpiredAnswers(pool, limit),
  deleteExpiredRuns: (limit) => deleteExpiredRuns(pool, limit),
  deleteOldEvents: (limit) => deleteOldEvents(pool, limit),
  deleteOldTestSearches: (signal) => deleteOldTestSearches(pool, config.retentionTestDays, signal),
  deleteExpiredSignIns: (limit) => deleteExpiredSignIns(pool, limit),
  sendWebhooks: (signal) => sendWebhooks(webhooks, signal),
  sendAlertEmails: sendEmails,
  makePartitions: (daysAhead) => makePartitions(pool, daysAhead),
  partitionDaysAhead: () => partitionDaysAhead(pool),
  rollUpUsage: (signal) => rollUpUsage(slowPool, signal),
  recountUsage: (signal) => recountUsage(slowPool, signal),
  findDifferences,
  dropOldDays: createRetentionTask(),
  payments: createPaymentTasks(),
});
metrics.watchTasks(Object.keys(tasks));
const worker = await startWorker({
  databaseUrl: config.directDatabaseUrl,
  tasks,
  onTask: metrics.recordTask,
  crontab,
  startupTasks: {
    sweep: 0,
    partitions: 0,
    webhooks: 0,
    emails: 0,
    charge_cards: 0,
    compare_payments: 10_000,
    reconcile: 60_000,
  },
  log,
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.on(signal, () => {
    if (!isStopping) stop(signal).catch(fail);
  });
}
// Listen last: once the worker is ready it must also be able to stop.
await ops.listen({ host: config.opsHost, port: config.opsPort });
log.info({ ops: ops.addresses() }, "worker started");
await worker.ended;
if (!isStopping) fail(new Error("the job runner ended unexpectedly"));

async function stop(signal: string): Promise<void> {
  isStopping = true;
  log.info({ signal }, "stopping");
  // Without a database, jobs cannot be released. Their locks expire and another worker takes them.
  setTimeout(() => process.exit(1), 10_000).unref();
  await worker.stop();
  await sender.close();
  await Promise.all([pool.end(), slowPool.end()]);
  await ops.close();
  log.info("stopped");
  log.flush(() => process.exit(0));
}

/** The supervisor restarts the process. Unfinished jobs are in the database. */
function fail(err: unknown): void {
  log.fatal({ err }, "worker failed");
  log.flush(() => process.exit(1));
}

async function sendEmails(limit: number): Promise<number> {
  if (!mailer) return 0;
  const topUpUrl = config.topUpUrl ?? `${config.publicUrl}/problems/insufficient_balance`;
  const onFailure = (failure: object): void => log.warn(failure, "email not sent");
  const signInEmails = await sendSignInEmails(
    { pool, mailer, secret: webhooks.secret, publicUrl: config.publicUrl, onFailure },
    limit,
  );
  return signInEmails + (await sendAlertEmails({ pool, mailer, topUpUrl, onFailure }, limit));
}

async function findDifferences(): Promise<{ count: number; examples: string[] }> {
  const report = await reconcile(slowPool);
  await saveReport(pool, report);
  const { checks } = report;
  const examples = checks.flatMap(({ name, sample }) =>
    sample.map(({ subject, expected, actual }) => `${name}: ${subject}: expected ${expected}, is ${actual}`),
  );
  return { count: checks.reduce((sum, check) => sum + check.differing, 0), examples };
}

function createRetentionTask(): ((signal: AbortSignal) => ReturnType<typeof dropOldDays>) | undefined {
  const { retentionDays: days, archive: folder } = config;
  return days && folder ? (signal) => dropOldDays(slowPool, { days, folder }, signal) : undefined;
}

function createPaymentTasks(): PaymentTasks | undefined {
  const { stripeSecretKey: secretKey, stripeUrl: url } = config;
  if (secretKey === undefined) return undefined;
  const processor = createStripe({ secretKey, webhookSecrets: [], url });
  return {
    comparePayments: () => comparePayments(pool, processor),
    chargeCards: () =>
      chargeCards(pool, processor, (err, { topUpId }) => log.warn({ err, topUpId }, "card not charged, will retry")),
  };
}

function openPool(name: string, statementTimeoutMs: number): Pool {
  return createPool({
    url: config.directDatabaseUrl,
    name,
    connections: 4,
    statementTimeoutMs,
    onIdleError: (err) => log.warn({ err }, "idle database connection failed"),
  });
}

/**
 * Job times are computed from this machine's clock and shared with all workers. A worker whose clock is hours ahead
 * would delay every job by hours, so it must not run.
 */
async function findClockFault(): Promise<string | undefined> {
  const { rows } = await pool.query<{ now: Date }>("select clock_timestamp() as now");
  const aheadSeconds = Math.round((Date.now() - (rows[0]?.now.getTime() ?? 0)) / 1_000);
  if (Math.abs(aheadSeconds) <= 60) return undefined;
  return `This machine's clock is ${Math.abs(aheadSeconds)} s ${aheadSeconds > 0 ? "ahead of" : "behind"} the database's. Correct it.`;
}

function readConfigOrExit(): ReturnType<typeof readConfig<(typeof workerSettings)[number]>> {
  try {
    return readConfig(workerSettings);
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
