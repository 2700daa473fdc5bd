import { ConfigFaults, readConfig, workerSettings } from "../config.ts";
import { findMigrationFault } from "../db/migrate.ts";
import { makePartitions, partitionDaysAhead } from "../db/partitions.ts";
import { createPool, type Pool } from "../db/pool.ts";
import { createOpsServer } from "../http/ops-server.ts";
import { chargeCards } from "../payments/charge-cards.ts";
import { comparePayments } from "../payments/compare-payments.ts";
import { createStripe } from "../payments/stripe.ts";
import { createLog } from "../telemetry/log.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { forgetAnswers, forgetRuns } from "../wallet/forget.ts";
import { reconcile } from "../wallet/reconcile.ts";
import { expireHolds } from "../wallet/statements.ts";
import { startWorker } from "./start-worker.ts";
import { createTasks, crontab, type PaymentTasks } from "./tasks.ts";

// The worker: what nobody asks for and must happen all the same. Any number of them may run beside the servers.

const config = readConfigOrExit();
const log = createLog(config.logLevel);
const metrics = createMetrics();
let isStopping = false;

const pool = openPool("pennyblack worker", 60_000);
// It reads whole tables.
const reconcilePool = openPool("pennyblack reconcile", 3_600_000);
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
const worker = await startWorker({
  databaseUrl: config.directDatabaseUrl,
  tasks: createTasks({
    log,
    metrics,
    expireHolds: (most) => expireHolds(pool, most),
    expireForgottenHolds: (most) => expireHolds(pool, most, true),
    forgetAnswers: (most) => forgetAnswers(pool, most),
    forgetRuns: (most) => forgetRuns(pool, most),
    makePartitions: (daysAhead) => makePartitions(pool, daysAhead),
    partitionDaysAhead: () => partitionDaysAhead(pool),
    findDifferences,
    payments: createPaymentTasks(),
  }),
  crontab,
  first: { sweep: 0, partitions: 0, reconcile: 60_000, compare_payments: 10_000, charge_cards: 0 },
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
  await Promise.all([pool.end(), reconcilePool.end()]);
  await ops.close();
  log.info("stopped");
  log.flush(() => process.exit(0));
}

/** A supervisor starts it anew; what it left undone is in the database. */
function fail(err: unknown): void {
  log.fatal({ err }, "failed");
  log.flush(() => process.exit(1));
}

async function findDifferences(): Promise<{ count: number; examples: string[] }> {
  const { checks } = await reconcile(reconcilePool);
  const examples = checks.flatMap(({ name, sample }) =>
    sample.map(({ subject, expected, actual }) => `${name}: ${subject}: expected ${expected}, is ${actual}`),
  );
  return { count: checks.reduce((sum, check) => sum + check.differing, 0), examples };
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
