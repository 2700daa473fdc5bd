import assert from "node:assert/strict";
import { test } from "node:test";
import { crontab } from "../../src/jobs/tasks.ts";
import { version } from "../../src/lib/version.ts";
import { adapters } from "../../src/providers/providers.ts";
import type { MetricRow } from "../../src/telemetry/metric-row.ts";
import { exposedName, type MetricName, metricTable } from "../../src/telemetry/metric-table.ts";
import { reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { saveReport } from "../../src/wallet/wallet.ts";
import { startDelayedUpstream } from "../faults/crashes/delayed-upstream.ts";
import { createFixture } from "../fixture.ts";
import { findMetric } from "../support/assertions/metric-faults.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { readSamples, type Sample } from "../support/docs/read-samples.ts";
import { superuserUrl } from "../support/services/database.ts";
import { startWorkerProcess } from "../support/services/worker-process.ts";

const upstream = closeAfter(await startDelayedUpstream());
const { db, server, createWallet } = await createFixture({
  PENNYBLACK_SEARXNG_URL: upstream.url,
  PENNYBLACK_UPSTREAMS: "searxng,brave",
  PENNYBLACK_BRAVE_KEY: "key",
  PENNYBLACK_BRAVE_CAP: "1.00/day",
});
const worker = await startWorkerProcess(db);
const wallet = await createWallet("0.05");

const readServer = async (): Promise<Sample[]> => readSamples(await server.readMetrics());
const readWorker = async (): Promise<Sample[]> => readSamples(await (await fetch(`${worker.opsUrl}/metrics`)).text());

function valueOf(samples: Sample[], name: string, labels: Record<string, string> = {}): number | undefined {
  return samples.find(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )?.value;
}

const bounds: Record<string, readonly string[]> = {
  upstreams: adapters.map(({ name }) => name),
  tasks: crontab.split("\n").map((line) => line.split(" ")[5] ?? ""),
  replicas: [],
  hosts: [new URL(superuserUrl).host],
  versions: [version, process.versions.node],
};

/** The reason a sample does not match the table of metrics. */
function faultOf({ name, labels }: Sample, of: MetricRow["of"]): string | undefined {
  const row = findMetric(name);
  if (!row) return `${name} is not in the table`;
  if (row.of !== of && row.of !== "process") return `${name} belongs to the ${row.of}`;
  for (const [label, value] of Object.entries(labels)) {
    if (label === "le" && row.kind === "histogram") continue;
    const bound = row.labels?.[label];
    if (!bound) return `${name} has a label ${label}`;
    if (bound === "runtime") continue;
    if (!(typeof bound === "string" ? (bounds[bound] ?? []) : bound).includes(value))
      return `${name}: ${label}=${value}`;
  }
  return undefined;
}

test("searches are counted by outcome, by amount and while in flight", async () => {
  upstream.keepWaiting("slow");
  const slow = server.search(wallet.live, { query: "slow" });
  await until("the upstream is called", () => upstream.isWaiting("slow"));
  const calledMs = performance.now();
  assert.equal(valueOf(await readServer(), "pennyblack_searches_in_flight"), 1);
  const waitedSeconds = (performance.now() - calledMs) / 1_000;
  upstream.answer("slow");
  assert.equal((await slow).status, 200);
  await until(
    "the search is counted",
    async () => valueOf(await readServer(), "pennyblack_search_duration_seconds_count") === 1,
  );
  const counted = await readServer();
  const [total = 0, own = 0] = ["search", "search_own"].map((name) =>
    valueOf(counted, `pennyblack_${name}_duration_seconds_sum`),
  );
  assert.ok(own > 0 && own <= total - waitedSeconds, `${own} of ${total} s, ${waitedSeconds} s for the upstream`);

  upstream.keepWaiting("fails");
  const fails = server.search(wallet.live, { query: "fails" });
  await until("the upstream is called", () => upstream.isWaiting("fails"));
  upstream.answer("fails", 500);
  assert.equal((await fails).body.code, "upstream_error");
  await server.search(wallet.test, { query: "test:upstream_timeout" });

  upstream.keepWaiting("left");
  const leaving = new AbortController();
  const left = server.search(wallet.live, { query: "left" }, {}, leaving.signal).catch(() => undefined);
  await until("the upstream is called", () => upstream.isWaiting("left"));
  leaving.abort();
  await left;
  await until("the search is counted", async () => {
    return valueOf(await readServer(), "pennyblack_search_requests_total", { outcome: "caller_left" }) === 1;
  });

  const samples = await readServer();
  const searches = (outcome: string) => valueOf(samples, "pennyblack_search_requests_total", { outcome, mode: "live" });
  // Failures in test mode are counted separately, because alerts use the live ones.
  assert.deepEqual(["ok", "upstream_error", "upstream_timeout"].map(searches), [1, 1, 0]);
  assert.equal(valueOf(samples, "pennyblack_search_requests_total", { outcome: "upstream_timeout", mode: "test" }), 1);
  assert.equal(valueOf(samples, "pennyblack_captured_micro_usd_total"), 10_000);
  // Two released searches had a hold of one cent; the test key had none.
  assert.equal(valueOf(samples, "pennyblack_released_micro_usd_total"), 20_000);
  assert.equal(valueOf(samples, "pennyblack_searches_in_flight"), 0);
  assert.equal(valueOf(samples, "pennyblack_ledger_duration_seconds_count", { kind: "hold" }), 4);
});

test("counters of critical failures start at zero, so that the first failure is visible as an increase", async () => {
  const samples = await readServer();
  for (const reason of ["expired", "unknown"]) {
    assert.equal(valueOf(samples, "pennyblack_lost_captures_total", { reason }), 0);
  }
  for (const reason of ["credential", "account_empty", "request"]) {
    assert.equal(valueOf(samples, "pennyblack_upstream_alerts_total", { upstream: "searxng", reason }), 0);
  }
  assert.equal(valueOf(samples, "pennyblack_search_requests_total", { outcome: "ledger_unavailable" }), 0);
  assert.equal(valueOf(await readWorker(), "pennyblack_task_failures_total", { task: "reconcile" }), 0);
});

test("a worker reports the state of the database, even if another worker did the work", async () => {
  await saveReport(db.owner, await reconcile(db.owner));
  const samples = await readWorker();
  const age = Date.now() / 1_000 - (valueOf(samples, "pennyblack_reconciliation_timestamp_seconds") ?? 0);
  assert.ok(age >= -5 && age < 600, `${age} s`);
  assert.equal(valueOf(samples, "pennyblack_reconciliation_differences"), 0);
  assert.equal(valueOf(samples, "pennyblack_replicas"), 0);
  assert.equal(valueOf(samples, "pennyblack_database_primaries"), 1);
  await until("the sweep is reported", async () => {
    const at = valueOf(await readWorker(), "pennyblack_task_success_timestamp_seconds", { task: "sweep" }) ?? 0;
    return at > Date.now() / 1_000 - 60;
  });

  const { rows } = await db.owner.query<{ id: string }>(
    `insert into pb.events (id, wallet_id, type, data, created_at, due_at, dispatched_at)
     select pb.new_uuid(), $1, 'key.created', '{}', now(), now(), now() returning id`,
    [wallet.walletId],
  );
  const late = await db.owner.query<{ id: string }>(
    `with e as (
       insert into pb.webhook_endpoints (id, wallet_id, url, description, events, secret)
       values (gen_random_uuid(), $1, 'http://127.0.0.1:9/', '', array['key.created'], 'x') returning id
     )
     insert into pb.webhook_deliveries (id, wallet_id, endpoint_id, event_id, due_at, created_at, claimed_until)
     select gen_random_uuid(), $1, e.id, $2, now() - interval '10 minutes', now(), now() + interval '1 hour' from e
     returning endpoint_id as id`,
    [wallet.walletId, rows[0]?.id],
  );
  const lag = async () => valueOf(await readWorker(), "pennyblack_webhook_lag_seconds") ?? 0;
  assert.ok((await lag()) >= 600);
  await db.owner.query("update pb.webhook_endpoints set failing_since = now() where id = $1", [late.rows[0]?.id]);
  assert.ok((await lag()) < 600, "deliveries to a failing receiver do not count");
});

test("every series matches the table of metrics, and every metric of the table is exposed", async () => {
  const [ofServer, ofWorker] = [await readServer(), await readWorker()];
  const faults = [
    ...ofServer.map((sample) => faultOf(sample, "server")),
    ...ofWorker.map((sample) => faultOf(sample, "worker")),
  ];
  assert.deepEqual(
    faults.filter((fault) => fault !== undefined),
    [],
  );
  const namesOf = (samples: Sample[]) =>
    new Set(samples.flatMap(({ name }) => [name, name.replace(/_(?:bucket|sum|count)$/, "")]));
  const [serverNames, workerNames] = [namesOf(ofServer), namesOf(ofWorker)];
  const unseen = (Object.keys(metricTable) as MetricName[]).filter((name) => {
    const { of } = metricTable[name];
    if (of === "drill") return false;
    const [isOfServer, isOfWorker] = [serverNames, workerNames].map((names) => names.has(exposedName(name)));
    return !((isOfServer || of === "worker") && (isOfWorker || of === "server"));
  });
  // These need a service, a replica or an archive; see watch.test.ts, server/src/db/replicas.test.ts and
  // server/test/processes/backup.long.test.ts.
  assert.deepEqual(unseen, [
    "pennyblack_dependency_up",
    "pennyblack_replica_lag_bytes",
    "pennyblack_wal_archived_timestamp_seconds",
    "pennyblack_wal_archive_failed_timestamp_seconds",
    "pennyblack_wal_archive_failures",
  ]);
});
