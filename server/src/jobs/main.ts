import { createSecretKey } from "node:crypto";
import { ConfigFaults, readConfig, workerSettings } from "../config.ts";
import { forgetSignIns, sendLetters } from "../console/console.ts";
import { findMigrationFault } from "../db/migrate.ts";
import { makePartitions, partitionDaysAhead } from "../db/partitions.ts";
import { createPool, type Pool } from "../db/pool.ts";
import { readReplicas } from "../db/replicas.ts";
import { createOpsServer } from "../http/ops-server.ts";
import { chargeCards } from "../payments/charge-cards.ts";
import { comparePayments } from "../payments/compare-payments.ts";
import { createStripe } from "../payments/stripe.ts";
import { createLog } from "../telemetry/log.ts";
import { createWorkerMetrics } from "../telemetry/worker-metrics.ts";
import { readUsageLag, recountUsage, rollUpUsage } from "../usage/usage.ts";
import { forgetAnswers, forgetRuns } from "../wallet/forget.ts";
import { keepReport, readLastReport } from "../wallet/keep-report.ts";
import { reconcile } from "../wallet/reconcile.ts";
import { dropOldDays } from "../wallet/retain.ts";
import { expireHolds } from "../wallet/statements.ts";
import { createSender } from "../webhooks/deliver.ts";
import { createMailer, sendMail } from "../webhooks/mail.ts";
import { forgetEvents, readWebhookLag, sendWebhooks, type WebhookParts } from "../webhooks/webhooks.ts";
import { startWorker } from "./start-worker.ts";
import { createTasks, crontab, type PaymentTasks } from "./tasks.ts";

// The worker: what nobody asks for and must happen all the same. Any number of them may run beside the servers.

const config = readConfigOrExit();
const log = createLog(config.logLevel);
const metrics = createWorkerMetrics();
let isStopping = false;

const pool = openPool("pennyblack worker", 60_000);
// For what reads whole tables, or an hour of the busiest of them.
const patientPool = openPool("pennyblack reconcile", 3_600_000);
const refusal = (await findMigrationFault(pool, "starting")) ?? (await findClockFault());
if (refusal) {
  process.stderr.write(`${refusal}\n`);
  process.exit(1);
}

const ops = createOpsServer({
  log,
  renderMetrics: metrics.render,
  whyNotReady: async () =>
    isStopping ? "stopping" : ((await findMigrationFault(pool, "running")) ?? (await findClockFault())),
});
const sender = createSender({ allowPrivate: config.webhooksAllowPrivate });
const { smtpUrl, mailFrom } = config;
const mailer = smtpUrl && mailFrom ? createMailer({ smtpUrl, from: mailFrom }) : undefined;
const webhooks: WebhookParts = {
  pool,
  secret: createSecretKey(config.secret),
  send: sender.send,
  hasMail: mailer !== undefined,
  onAttempt: ({ sent, disabled, ...ids }) => {
    log.info({ ...ids, ...sent }, sent.ok ? "delivered a webhook" : "a webhook was not delivered");
    if (disabled) log.warn({ ...ids, disabled }, "disabled a webhook endpoint");
  },
  onFault: (err, deliveryId) => log.error({ err, deliveryId }, "a webhook could not be tried"),
};
if (config.webhooksAllowPrivate) {
  log.warn("PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE is on: webhooks may reach private addresses. Never in production");
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
  expireHolds: (most) => expireHolds(pool, most),
  expireForgottenHolds: (most) => expireHolds(pool, most, true),
  forgetAnswers: (most) => forgetAnswers(pool, most),
  forgetRuns: (most) => forgetRuns(pool, most),
  forgetEvents: (most) => forgetEvents(pool, most),
  forgetSignIns: (most) => forgetSignIns(pool, most),
  sendWebhooks: (signal) => sendWebhooks(webhooks, signal),
  sendMail: trySendMail,
  makePartitions: (daysAhead) => makePartitions(pool, daysAhead),
  partitionDaysAhead: () => partitionDaysAhead(pool),
  rollUpUsage: (signal) => rollUpUsage(patientPool, signal),
  recountUsage: (signal) => recountUsage(patientPool, signal),
  findDifferences,
  dropOldDays: dropOldDaysWhereWanted(),
  payments: createPaymentTasks(),
});
metrics.watchTasks(Object.keys(tasks));
const worker = await startWorker({
  databaseUrl: config.directDatabaseUrl,
  tasks,
  onTask: metrics.noteTask,
  crontab,
  first: {
    sweep: 0,
    partitions: 0,
    webhooks: 0,
    mail: 0,
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
// Only now: who is told that it is ready may also tell it to stop.
await ops.listen({ host: config.opsHost, port: config.opsPort });
log.info({ ops: ops.addresses() }, "working");
await worker.ended;
if (!isStopping) fail(new Error("the worker ended by itself"));

async function stop(signal: string): Promise<void> {
  isStopping = true;
  log.info({ signal }, "stopping");
  // Without a database a job cannot be given back. Its lock runs out, and the next worker takes it.
  setTimeout(() => process.exit(1), 10_000).unref();
  await worker.stop();
  await sender.close();
  await Promise.all([pool.end(), patientPool.end()]);
  await ops.close();
  log.info("stopped");
  log.flush(() => process.exit(0));
}

/** A supervisor starts it anew; what it left undone is in the database. */
function fail(err: unknown): void {
  log.fatal({ err }, "failed");
  log.flush(() => process.exit(1));
}

async function trySendMail(most: number): Promise<number> {
  if (!mailer) return 0;
  const topUpUrl = config.topUpUrl ?? `${config.publicUrl}/problems/insufficient_balance`;
  const onFailure = (failure: object): void => log.warn(failure, "mail could not be sent");
  const letters = await sendLetters(
    { pool, mailer, secret: webhooks.secret, publicUrl: config.publicUrl, onFailure },
    most,
  );
  return letters + (await sendMail({ pool, mailer, topUpUrl, onFailure }, most));
}

async function findDifferences(): Promise<{ count: number; examples: string[] }> {
  const report = await reconcile(patientPool);
  await keepReport(pool, report);
  const { checks } = report;
  const examples = checks.flatMap(({ name, sample }) =>
    sample.map(({ subject, expected, actual }) => `${name}: ${subject}: expected ${expected}, is ${actual}`),
  );
  return { count: checks.reduce((sum, check) => sum + check.differing, 0), examples };
}

function dropOldDaysWhereWanted(): ((signal: AbortSignal) => ReturnType<typeof dropOldDays>) | undefined {
  const { retentionDays: days, archive: folder } = config;
  return days && folder ? (signal) => dropOldDays(patientPool, { days, folder }, signal) : undefined;
}

function createPaymentTasks(): PaymentTasks | undefined {
  const { stripeSecretKey: secretKey, stripeUrl: url } = config;
  if (secretKey === undefined) return undefined;
  const processor = createStripe({ secretKey, webhookSecrets: [], url });
  return {
    comparePayments: () => comparePayments(pool, processor),
    chargeCards: () =>
      chargeCards(pool, processor, (err, { topUpId }) => log.warn({ err, topUpId }, "a card was not charged yet")),
  };
}

function openPool(name: string, statementTimeoutMs: number): Pool {
  return createPool({
    url: config.directDatabaseUrl,
    name,
    connections: 4,
    statementTimeoutMs,
    onIdleError: (err) => log.warn({ err }, "an idle database connection failed"),
  });
}

/**
 * The timetable is kept by this machine's clock and shared with all workers. One whose clock is hours ahead would put
 * every job off by hours, for the others too: it does better not to work.
 */
async function findClockFault(): Promise<string | undefined> {
  const { rows } = await pool.query<{ now: Date }>("select clock_timestamp() as now");
  const aheadSeconds = Math.round((Date.now() - (rows[0]?.now.getTime() ?? 0)) / 1_000);
  if (Math.abs(aheadSeconds) <= 60) return undefined;
  return `The clock of this machine is ${Math.abs(aheadSeconds)} s ${aheadSeconds > 0 ? "ahead of" : "behind"} the database's. Set it right.`;
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
