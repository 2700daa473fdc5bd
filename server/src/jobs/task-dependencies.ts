import type { WorkerConfig } from "../config/config.ts";
import { deleteExpiredSignIns } from "../console/console.ts";
import { makePartitions, partitionDaysAhead } from "../db/partitions.ts";
import type { Pool } from "../db/pool.ts";
import { createEmailSender, sendAlertEmails, sendSignInEmails } from "../email/email.ts";
import { signRoots } from "../evidence/sign-roots.ts";
import type { Secrets } from "../lib/secrets.ts";
import { createSigner } from "../lib/sign-jws.ts";
import { chargeCards } from "../payments/charge-cards.ts";
import { comparePayments } from "../payments/compare-payments.ts";
import { createStripe } from "../payments/stripe.ts";
import { countStatus } from "../status/status.ts";
import type { Log } from "../telemetry/log.ts";
import type { WorkerMetrics } from "../telemetry/worker-metrics.ts";
import { dropOldRequests, readUsageLag, recountUsage, rollUpUsage } from "../usage/usage.ts";
import { expireHolds } from "../wallet/statements.ts";
import {
  deleteEndedWindows,
  deleteExpiredAnswers,
  deleteOldEndUsers,
  deleteOldTestSearches,
} from "../wallet/upkeep/prune.ts";
import { reconcileHours } from "../wallet/upkeep/reconcile-hours.ts";
import { dropOldDays } from "../wallet/upkeep/retention.ts";
import { saveReport } from "../wallet/upkeep/save-report.ts";
import { deleteOldEvents, sendWebhooks, type WebhookDependencies } from "../webhooks/webhooks.ts";
import type { PaymentTasks, TaskDependencies } from "./tasks.ts";
import type { WorkerPools } from "./worker-pools.ts";

interface Wiring {
  config: WorkerConfig;
  log: Log;
  metrics: WorkerMetrics;
  pools: WorkerPools;
  secrets: Secrets;
  send: WebhookDependencies["send"];
}

/** The work of each task, from the modules. */
export function createTaskDependencies({ config, log, metrics, pools, secrets, send }: Wiring): TaskDependencies {
  const { pool, slowPool } = pools;
  const email = createEmailTask(config, { pool, secrets, log });
  const webhooks = createWebhookDependencies({ pool, secrets, send, log, hasEmail: email !== undefined });
  return {
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
    sendAlertEmails: email ?? (async () => 0),
    makePartitions: (daysAhead) => makePartitions(pool, daysAhead),
    partitionDaysAhead: () => partitionDaysAhead(pool),
    dropOldRequests: () => dropOldRequests(pool),
    rollUpUsage: (signal) => rollUpUsage(slowPool, signal),
    recountUsage: (signal) => recountUsage(slowPool, signal),
    usageLagSeconds: () => readUsageLag(pool),
    countStatus: () => countStatus(slowPool),
    findDifferences: (signal) => findDifferences(pools, log, signal),
    signRoots: createSigningTask(config, pool, log),
    dropOldDays: createRetentionTask(config, pools),
    payments: createPaymentTasks(config, pools, log),
  };
}

function createWebhookDependencies({
  log,
  ...dependencies
}: Pick<WebhookDependencies, "pool" | "secrets" | "send" | "hasEmail"> & { log: Log }): WebhookDependencies {
  return {
    ...dependencies,
    onAttempt: ({ sent, disabled, ...ids }) => {
      log.info({ ...ids, ...sent }, sent.ok ? "webhook delivered" : "webhook delivery failed");
      if (disabled) log.warn({ ...ids, disabled }, "webhook endpoint disabled");
    },
    onFault: (err, deliveryId) => log.error({ err, deliveryId }, "webhook delivery could not be attempted"),
  };
}

/** Undefined if email is not configured. Fails, and claims no email, while the mail server cannot be used: operators see it. */
function createEmailTask(
  { smtpUrl, mailFrom, topUpUrl, publicUrl }: WorkerConfig,
  { pool, secrets, log }: { pool: Pool; secrets: Secrets; log: Log },
): ((limit: number) => Promise<number>) | undefined {
  if (!smtpUrl || !mailFrom) return undefined;
  const mailer = createEmailSender({ smtpUrl, from: mailFrom });
  const alerts = { pool, mailer, publicUrl, topUpUrl: topUpUrl ?? `${publicUrl}/problems/insufficient_balance` };
  let isMailServerUsable = false;
  return async (limit) => {
    if (!isMailServerUsable) await mailer.verify();
    isMailServerUsable = true;
    // The fault can also be limited to one address. The next call finds out.
    const onFailure = (failure: object): void => {
      log.warn(failure, "email not sent");
      isMailServerUsable = false;
    };
    const signInEmails = await sendSignInEmails({ pool, mailer, secrets, publicUrl, onFailure }, limit);
    return signInEmails + (await sendAlertEmails({ ...alerts, onFailure }, limit));
  };
}

async function findDifferences(
  { pool, slowPool }: WorkerPools,
  log: Log,
  signal: AbortSignal,
): Promise<{ count: number; examples: string[] } | undefined> {
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

function createSigningTask(config: WorkerConfig, pool: Pool, log: Log): TaskDependencies["signRoots"] {
  const { signingSeeds, roots: folder, publicUrl } = config;
  const signer = createSigner(signingSeeds);
  // The signature in the log is a copy outside the database, even without a folder.
  const onSigned = (root: object): void => log.info(root, "signed root");
  return signer && ((signal) => signRoots(pool, { signer, publicUrl, folder, onSigned, signal }));
}

function createRetentionTask(config: WorkerConfig, { openOwner }: WorkerPools): TaskDependencies["dropOldDays"] {
  const { retentionDays: days, archive: folder, retentionDatabaseUrl: url } = config;
  if (!days || !folder || !url) return undefined;
  return async (signal) => {
    const owner = openOwner(url);
    try {
      return await dropOldDays(owner, { days, folder }, signal);
    } finally {
      await owner.end();
    }
  };
}

function createPaymentTasks(
  { stripeSecretKey: secretKey, stripeUrl: url }: WorkerConfig,
  { paymentsPool }: WorkerPools,
  log: Log,
): PaymentTasks | undefined {
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
