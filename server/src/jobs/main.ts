import { randomUUIDv7 } from "node:crypto";
import { ConfigFaults, readConfig, workerSettings } from "../config/config.ts";
import { deleteExpiredSignIns } from "../console/console.ts";
import { readArchiver } from "../db/archiver.ts";
import { createFence } from "../db/fence.ts";
import { readHosts } from "../db/find-primary.ts";
import { describeDatabaseFailure, findSchemaFault } from "../db/migrate.ts";
import { makePartitions, partitionDaysAhead } from "../db/partitions.ts";
import { createPool, type Pool, waitForConnection } from "../db/pool.ts";
import { readReplicas } from "../db/replicas.ts";
import { startSecretReports } from "../db/report-secrets.ts";
import { startWorkerReports } from "../db/report-worker.ts";
import { findRoleFault } from "../db/roles.ts";
import { startClockWatch } from "../db/watch-clock.ts";
import { createEmailSender, sendAlertEmails, sendSignInEmails } from "../email/email.ts";
import { type Listener, listen } from "../http/listen.ts";
import { createOpsServer } from "../http/ops-server.ts";
import { createReadiness } from "../http/readiness.ts";
import { createSecrets } from "../lib/secrets.ts";
import { createSigner } from "../lib/sign-jws.ts";
import { chargeCards } from "../payments/charge-cards.ts";
import { comparePayments } from "../payments/compare-payments.ts";
import { createStripe } from "../payments/stripe.ts";
import { createLog } from "../telemetry/log.ts";
import { createWorkerMetrics } from "../telemetry/worker-metrics.ts";
import { readUsageLag, recountUsage, rollUpUsage } from "../usage/usage.ts";
import { signRoots } from "../wallet/evidence/sign-roots.ts";
import { expireHolds } from "../wallet/statements.ts";
import {
  deleteEndedWindows,
  deleteExpiredAnswers,
  deleteOldEndUsers,
  deleteOldTestSearches,
} from "../wallet/upkeep/prune.ts";
import { reconcileHours } from "../wallet/upkeep/reconcile-hours.ts";
import { dropOldDays } from "../wallet/upkeep/retention.ts";
import { readLastReport, saveReport } from "../wallet/upkeep/save-report.ts";
import { createSender } from "../webhooks/deliver.ts";
import { deleteOldEvents, readWebhookLag, sendWebhooks, type WebhookDependencies } from "../webhooks/webhooks.ts";
import { startWorker } from "./start-worker.ts";
import { createTasks, crontab, type PaymentTasks, taskSchedules } from "./tasks.ts";

// Worker process: runs scheduled background jobs. Any number of workers can run in parallel.

const config = readConfigOrExit();
const log = createLog(config.logLevel);
const metrics = createWorkerMetrics();
let hasStarted = false;
let isStopping = false;
process.on("uncaughtException", fail);

const fence = createFence();
const pool = openPool(config.workerDatabaseUrl, "pennyblack worker", 60_000);
// For statements that read whole tables.
const slowPool = openPool(config.workerDatabaseUrl, "pennyblack reconcile", 3_600_000);
const { paymentsDatabaseUrl } = config;
const paymentsPool =
  paymentsDatabaseUrl === undefined ? undefined : openPool(paymentsDatabaseUrl, "pennyblack payments", 60_000);
const secrets = createSecrets(config.secrets);
const processId = randomUUIDv7();
const secretReports = startSecretReports({ db: pool, secrets, processId });
// Job times are computed from this machine's clock and shared with all workers. A worker whose clock is hours ahead would
// delay every job by hours, so it must not run.
const clock = startClockWatch({ db: pool });
const findFault = createReadiness(
  async () => (await findSchemaFault(pool, "running")) ?? clock.lastFault() ?? secretReports.lastFault(),
);
const ops = createOpsServer({ log, renderMetrics: metrics.render, whyNotReady });
// Listen before the first task: a worker that cannot listen must not look like one that works.
const refusal = (await findStartFault()) ?? (await listen(ops, listener()));
if (refusal) {
  process.stderr.write(`${refusal}\n`);
  process.exit(1);
}

const sender = createSender({ allowPrivate: config.webhooksAllowPrivate });
const { smtpUrl, mailFrom } = config;
let isMailServerUsable = false;
const mailer = smtpUrl && mailFrom ? createEmailSender({ smtpUrl, from: mailFrom }) : undefined;
const webhooks: WebhookDependencies = {
  pool,
  secrets,
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
  archiver: await readArchiver(pool),
}));
metrics.watchHosts(() => readHosts(config.workerDatabaseUrl));
const tasks = createTasks({
  log,
  metrics,
  expireHolds: (limit) => expireHolds(pool, limit),
  expireMissedHolds: (limit) => expireHolds(pool, limit, true),
  deleteExpiredAnswers: (limit) => deleteExpiredAnswers(pool, limit),
  deleteEndedWindows: (limit) => deleteEndedWindows(pool, limit),
  deleteOldEndUsers: (limit) => deleteOldEndUsers(pool, limit),
  deleteOldEvents: (limit) => deleteOldEvents(pool, limit),
  deleteOldTestSearches: (signal) => deleteOldTestSearches(pool, config.retentionTestDays, signal),
  deleteExpiredSignIns: (limit) => deleteExpiredSignIns(pool, limit),
  sendWebhooks: (signal) => sendWebhooks(webhooks, signal),
  sendAlertEmails: sendEmails,
  makePartitions: (daysAhead) => makePartitions(pool, daysAhead),
  partitionDaysAhead: () => partitionDaysAhead(pool),
  rollUpUsage: (signal) => rollUpUsage(slowPool, signal),
  recountUsage: (signal) => recountUsage(slowPool, signal),
  usageLagSeconds: () => readUsageLag(pool),
  findDifferences,
  signRoots: createSigningTask(),
  dropOldDays: createRetentionTask(),
  payments: createPaymentTasks(),
});
metrics.watchTasks(Object.keys(tasks));
const maxAges = Object.fromEntries(
  Object.entries(taskSchedules).map(([task, { maxAgeSeconds }]) => [task, maxAgeSeconds]),
);
const reports = startWorkerReports({ db: pool, processId, maxAges });
const worker = await startWorker({
  databaseUrl: config.workerDatabaseUrl,
  tasks,
  onTask(task, isOk) {
    metrics.recordTask(task, isOk);
    if (isOk) reports.recordSuccess(task);
  },
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
hasStarted = true;
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
  clock.close();
  await reports.close();
  await secretReports.close();
  await Promise.all([pool.end(), slowPool.end(), paymentsPool?.end()]);
  await ops.close();
  log.info("stopped");
  log.flush(() => process.exit(0));
}

/** The supervisor restarts the process. Unfinished jobs are in the database. */
function fail(err: unknown): void {
  log.fatal({ err }, "worker failed");
  log.flush(() => process.exit(1));
}

/** Fails, and claims no email, while the mail server cannot be used. Operators see that the task fails. */
async function sendEmails(limit: number): Promise<number> {
  if (!mailer) return 0;
  if (!isMailServerUsable) await mailer.verify();
  isMailServerUsable = true;
  const topUpUrl = config.topUpUrl ?? `${config.publicUrl}/problems/insufficient_balance`;
  // The fault can also be one address. The next call checks which.
  const onFailure = (failure: object): void => {
    log.warn(failure, "email not sent");
    isMailServerUsable = false;
  };
  const signInEmails = await sendSignInEmails({ pool, mailer, secrets, publicUrl: config.publicUrl, onFailure }, limit);
  return signInEmails + (await sendAlertEmails({ pool, mailer, topUpUrl, onFailure }, limit));
}

async function findDifferences(signal: AbortSignal): Promise<{ count: number; examples: string[] } | undefined> {
  let closed = 0;
  const report = await reconcileHours(slowPool, {
    signal,
    onClosed: (hour) => {
      // One line per run, or per day if many hours are due.
      if (closed % 24 === 0) log.info(hour, "closed hour of the ledger");
      closed += 1;
    },
  });
  if (!report) return undefined;
  await saveReport(pool, report);
  const { checks } = report;
  const examples = checks.flatMap(({ name, sample }) =>
    sample.map(({ subject, expected, actual }) => `${name}: ${subject}: expected ${expected}, is ${actual}`),
  );
  return { count: checks.reduce((sum, check) => sum + check.differing, 0), examples };
}

function createSigningTask(): ((signal: AbortSignal) => Promise<number>) | undefined {
  const { signingSeeds, roots: folder, publicUrl } = config;
  const signer = createSigner(signingSeeds);
  // The signature in the log is a copy outside the database, also without a folder.
  const onSigned = (root: object): void => log.info(root, "signed root");
  return signer && ((signal) => signRoots(pool, { signer, publicUrl, folder, onSigned, signal }));
}

function createRetentionTask(): ((signal: AbortSignal) => ReturnType<typeof dropOldDays>) | undefined {
  const { retentionDays: days, archive: folder, retentionDatabaseUrl: url } = config;
  if (!days || !folder || !url) return undefined;
  return async (signal) => {
    // Only the owner can drop partitions, so it is connected only for the time of this task.
    const owner = openPool(url, "pennyblack retention", 3_600_000);
    try {
      return await dropOldDays(owner, { days, folder }, signal);
    } finally {
      await owner.end();
    }
  };
}

function createPaymentTasks(): PaymentTasks | undefined {
  const { stripeSecretKey: secretKey, stripeUrl: url } = config;
  if (secretKey === undefined || !paymentsPool) return undefined;
  const processor = createStripe({ secretKey, webhookSecrets: [], url });
  return {
    comparePayments: () => comparePayments(paymentsPool, processor),
    chargeCards: () =>
      chargeCards(paymentsPool, processor, (err, { topUpId }) =>
        log.warn({ err, topUpId }, "card not charged, will retry"),
      ),
  };
}

function openPool(url: string, name: string, statementTimeoutMs: number): Pool {
  return createPool({
    fence,
    url,
    name,
    connections: 4,
    statementTimeoutMs,
    onIdleError: (err) => log.warn({ err }, "idle database connection failed"),
  });
}

async function whyNotReady(): Promise<string | undefined> {
  if (isStopping) return "stopping";
  return hasStarted ? await findFault() : "starting";
}

function listener(): Listener {
  return { host: config.opsHost, port: config.workerOpsPort, variable: "PENNYBLACK_OPS_PORT" };
}

/** The primary can be lost between any two of these statements. */
async function findStartFault(): Promise<string | undefined> {
  try {
    await waitForConnection(pool);
    return (
      (await findSchemaFault(pool, "starting")) ??
      (await findConnectionFault()) ??
      (await clock.measure()) ??
      (await secretReports.report())
    );
  } catch (error) {
    return describeDatabaseFailure("PENNYBLACK_WORKER_DATABASE_URL", error);
  }
}

/** The worker must not be able to change the ledger other than through its functions. */
async function findConnectionFault(): Promise<string | undefined> {
  const fault = await findRoleFault(pool);
  if (fault) return `PENNYBLACK_WORKER_DATABASE_URL must not connect as this role: ${fault}.`;
  return await findPaymentsFault();
}

async function findPaymentsFault(): Promise<string | undefined> {
  const variable = "PENNYBLACK_PAYMENTS_DATABASE_URL";
  try {
    const fault = paymentsPool && (await findRoleFault(paymentsPool));
    return fault && `${variable} must not connect as this role: ${fault}.`;
  } catch (error) {
    return describeDatabaseFailure(variable, error);
  }
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
