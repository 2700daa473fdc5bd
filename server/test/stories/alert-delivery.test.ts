import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { panels } from "../../../tools/dashboard-panels.ts";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { readRules } from "../support/docs/read-rules.ts";
import { superuserUrl } from "../support/services/database.ts";
import { type Monitoring, type Notification, startMonitoring } from "../support/services/monitoring.ts";
import { findPrometheus } from "../support/services/prometheus-programs.ts";
import { startWorkerProcess } from "../support/services/worker-process.ts";

// From a fault to the notification that an operator gets, through Debian's Prometheus, Alertmanager and exporters with our
// files. Their intervals are a second here; server/test/faults/alerts measures the shipped ones.

const skip =
  process.env["CI"] === undefined &&
  findPrometheus("prometheus-alertmanager") === undefined &&
  "Alertmanager is missing; .ci/run unpacks Debian's";

const root = resolve(import.meta.dirname, "../../..");
const { db, server } = await createFixture();
const worker = await startWorkerProcess(db);
after(() => worker.stop());
const hostOf = (url: string): string => new URL(url).host;

let monitoring: Monitoring;
before(async () => {
  if (skip) return;
  const targets = { servers: [hostOf(server.opsUrl)], workers: [hostOf(worker.opsUrl)] };
  const options = { ...targets, databaseUrl: superuserUrl, isFast: true };
  monitoring = closeAfter(await startMonitoring(options));
  await until("every target is scraped", async () => {
    const up = await monitoring.query("up");
    return up.length === 6 && up.every(({ value }) => value === 1);
  });
});

// metrics.test.ts checks ours. A SQL function has no unit at the end of its name.
test("every metric of the exporters that the rules, the dashboard and the docs name exists", { skip }, async () => {
  const pages = ["docs/*.md", "docs/runbooks/*.md"].flatMap((pattern) => globSync(pattern, { cwd: root }));
  const text = [
    readRules(join(root, "deploy/prometheus/rules")),
    ...panels.flatMap(({ queries }) => queries.map(({ query }) => query)),
    ...pages.map((page) => readFileSync(join(root, page), "utf8")),
  ].join("\n");
  const named = new Set(
    [
      /\b(?:node|pg|pgbackrest|prometheus|alertmanager)_\w+(?=[{[])/g,
      /\b(?:node|pg|pgbackrest|prometheus|alertmanager)_(?:\w+_)?(?:bytes|connections|count|duration|seconds|total|up)\b/g,
    ].flatMap((pattern) => [...text.matchAll(pattern)].map(([name]) => name)),
  );
  assert.ok(named.has("pg_stat_activity_count") && named.has("node_filesystem_avail_bytes"));
  const known = await monitoring.names();
  assert.deepEqual(
    [...named].filter((name) => !known.includes(name)),
    // deploy/pgbackrest/backup-metrics writes it; see server/test/processes/backup.long.test.ts.
    ["pgbackrest_last_backup_timestamp_seconds"],
  );
});

test("the notification of a fault arrives, without what follows from it, and another one after the repair", {
  skip,
}, async (t) => {
  const find = (alertname: string, status: Notification["status"]): Notification | undefined =>
    monitoring.notifications.find((each) => each.labels["alertname"] === alertname && each.status === status);
  await until("the watchdog is notified repeatedly", () => {
    const received = monitoring.notifications.filter(({ receiver }) => receiver === "watchdog");
    return received.length > 1 && received.every(({ labels }) => labels["alertname"] === "Watchdog");
  });

  worker.process.kill("SIGKILL");
  await until("the page arrives", () => find("WorkerNotSeen", "firing") !== undefined);
  const { receiver, labels, annotations } = find("WorkerNotSeen", "firing") ?? assert.fail();
  assert.deepEqual([receiver, labels["severity"]], ["pager", "page"]);
  assert.match(annotations["runbook_url"] ?? "", /\/docs\/runbooks\/worker-not-seen$/);
  await until("the ticket is suppressed", async () => {
    const response = await fetch(`${monitoring.alertmanagerUrl}/api/v2/alerts?filter=alertname=TargetDown`);
    const alerts = (await response.json()) as { status: { state: string } }[];
    return alerts.length === 1 && alerts[0]?.status.state === "suppressed";
  });

  const next = await startWorkerProcess(db, { PENNYBLACK_OPS_PORT: new URL(worker.opsUrl).port });
  t.after(() => next.stop());
  await until("the page is resolved", () => find("WorkerNotSeen", "resolved") !== undefined);
});
