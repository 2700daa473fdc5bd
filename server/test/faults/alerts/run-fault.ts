import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Notification } from "../../support/services/monitoring.ts";
import { type Installation, startInstallation } from "./installation.ts";
import { type Answer, search } from "./load.ts";
import { type PlantedFault, plantedFaults } from "./planted-faults.ts";

// One fault in an installation under load: what callers get, which notification arrives, and whether its runbook repairs it.

const runbooks = resolve(import.meta.dirname, "../../../../docs/runbooks");
const maxWaitMs = 20 * 60_000;

export interface FaultResult {
  id: string;
  description: string;
  /** Answers with their numbers, before the fault, during it and after the repair. */
  before: string;
  during: string;
  after: string;
  alert: string;
  receiver: string;
  notifiedAfterSeconds: number;
  /** Other alerts that were notified until the repair. */
  otherAlerts: string[];
  runbook: string;
  step: string;
  /** From the start of the repair until ten searches sent after its end succeeded in a row, and until the alert no longer fired. */
  searchesAfterSeconds: number;
  /** Undefined if it still fired after six minutes. Some rules look back for half an hour. */
  resolvedAfterSeconds: number | undefined;
}

/** Plants the faults at the same time, in one installation. */
export async function runFaults(faults: readonly PlantedFault[]): Promise<FaultResult[]> {
  const [first] = faults;
  assert.ok(first);
  const installation = await startInstallation(first);
  const callers = startCallers(installation);
  try {
    await wait(60_000);
    return await Promise.all(faults.map((fault) => runFault(fault, installation, callers)));
  } finally {
    await callers.stop();
    await installation.close();
  }
}

async function runFault(fault: PlantedFault, installation: Installation, callers: Callers): Promise<FaultResult> {
  const plantedAt = Date.now();
  await fault.plant(installation);
  const notification = await waitForNotification(installation, fault.alert, plantedAt);
  const runbook = checkRunbook(notification, fault.step);
  const otherAlerts = installation.monitoring.notifications
    .map(({ labels }) => labels["alertname"] ?? "")
    .filter((name) => !["Watchdog", ...(fault.isInBackground ? backgroundAlerts : [fault.alert])].includes(name));

  const repairedAt = Date.now();
  await fault.repair(installation);
  const finishedAt = Date.now();
  await poll("searches succeed again", () => callers.successesSince(finishedAt) >= 10);
  const searchesAfterSeconds = Math.round((Date.now() - repairedAt) / 1_000);
  const resolvedAfterSeconds = await poll(
    "the alert no longer fires",
    async () => !(await isFiring(installation, fault.alert)),
    6 * 60_000,
  ).then(
    () => Math.round((Date.now() - repairedAt) / 1_000),
    () => undefined,
  );
  return {
    id: fault.id,
    description: fault.description,
    before: describe(callers.between(0, plantedAt)),
    during: describe(callers.between(plantedAt, repairedAt)),
    after: describe(callers.between(repairedAt, Date.now())),
    alert: `${fault.alert} (${notification.labels["severity"]})`,
    receiver: notification.receiver,
    notifiedAfterSeconds: Math.round((notification.receivedAt - plantedAt) / 1_000),
    otherAlerts: [...new Set(otherAlerts)],
    runbook,
    step: fault.step,
    searchesAfterSeconds,
    resolvedAfterSeconds,
  };
}

const backgroundAlerts = plantedFaults.filter(({ isInBackground }) => isInBackground).map(({ alert }) => alert);

type Callers = ReturnType<typeof startCallers>;

/** Four searches a second, half of them with an Idempotency-Key. None waits longer than 15 seconds. */
function startCallers(installation: Installation) {
  const answers: Answer[] = [];
  const pending = new Set<Promise<void>>();
  let count = 0;
  const send = (): void => {
    count += 1;
    const headers = count % 2 ? { "idempotency-key": randomUUID() } : {};
    const sent = search(installation, { timeoutMs: 15_000, headers }).then((answer) => {
      answers.push(answer);
    });
    pending.add(sent);
    void sent.finally(() => pending.delete(sent)).catch(() => undefined);
  };
  const timer = setInterval(send, 250);
  return {
    /** The answers to searches sent in this time. */
    between: (from: number, to: number): Answer[] => answers.filter(({ at }) => at >= from && at < to),
    /** How many searches sent after this time succeeded, since the last one that did not. */
    successesSince(time: number): number {
      const sent = answers.filter(({ at }) => at >= time);
      return sent.length - 1 - sent.findLastIndex(({ status }) => status !== "200");
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await Promise.all(pending);
    },
  };
}

async function waitForNotification({ monitoring }: Installation, alert: string, since: number): Promise<Notification> {
  const find = (): Notification | undefined =>
    monitoring.notifications.find(
      ({ labels, status, receivedAt }) => labels["alertname"] === alert && status === "firing" && receivedAt >= since,
    );
  await poll(`${alert} is notified`, () => find() !== undefined);
  const found = find();
  assert.ok(found);
  return found;
}

/** The name of the runbook that the notification links, which must contain the step. */
function checkRunbook({ annotations }: Notification, step: string): string {
  const page = basename(annotations["runbook_url"] ?? "");
  const text = readFileSync(resolve(runbooks, `${page}.md`), "utf8").replaceAll(/\s+/g, " ");
  assert.ok(text.includes(step), `${page} does not contain: ${step}`);
  return page;
}

async function isFiring({ monitoring }: Installation, alert: string): Promise<boolean> {
  return (await monitoring.query(`ALERTS{alertname="${alert}",alertstate="firing"}`)).length > 0;
}

function describe(answers: readonly Answer[]): string {
  const counts = Map.groupBy(answers, ({ status }) => status);
  const slowest = Math.max(0, ...answers.map(({ ms }) => ms));
  const lines = [...counts].map(([status, all]) => `${all.length} x ${status}`);
  return `${lines.join(", ")}; slowest ${(slowest / 1_000).toFixed(1)} s`;
}

/** Like `until`, but for minutes. */
async function poll(
  description: string,
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs = maxWaitMs,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(`Not within ${timeoutMs / 60_000} minutes: ${description}.`);
    await wait(1_000);
  }
}
