import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { crontab } from "../../src/jobs/tasks.ts";
import { adapters } from "../../src/providers/providers.ts";
import { exposedName, type MetricName, type MetricRow, metricTable } from "../../src/telemetry/metric-table.ts";
import { reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { saveReport } from "../../src/wallet/wallet.ts";
import { type DelayedUpstream, startDelayedUpstream } from "../faults/crashes/delayed-upstream.ts";
import { until } from "../support/assertions/until.ts";
import { readSamples, type Sample } from "../support/docs/read-samples.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer, type TestServer, type TestWallet } from "../support/services/server.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/services/worker-process.ts";

let db: TestDatabase;
let upstream: DelayedUpstream;
let server: TestServer;
let worker: WorkerProcess;
let wallet: TestWallet;

before(async () => {
  db = await createTestDatabase();
  upstream = await startDelayedUpstream();
  server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });
  worker = await startWorkerProcess(db);
  wallet = await createTestWallet(db, "0.05");
});

after(async () => {
  worker.process.kill("SIGKILL");
  await server.close();
  await upstream.close();
  await db.drop();
});

const readServer = async (): Promise<Sample[]> => readSamples(await server.readMetrics());
const readWorker = async (): Promise<Sample[]> => readSamples(await (await fetch(`${worker.opsUrl}/metrics`)).text());

function valueOf(samples: Sample[], name: string, labels: Record<string, string> = {}): number | undefined {
  return samples.find(
    (sample) => sample.name === name && Object.entries(labels).every(([label, said]) => sample.labels[label] === said),
  )?.value;
}

const bounds: Record<string, readonly string[]> = {
  upstreams: adapters.map(({ name }) => name),
  tasks: crontab.split("\n").map((line) => line.split(" ")[5] ?? ""),
  replicas: [],
};

const suffixes = ["_bucket", "_sum", "_count"];

/** What is wrong with a sample, by the table. */
function faultOf({ name, labels }: Sample, of: MetricRow["of"]): string | undefined {
  const rows = Object.entries(metricTable) as [MetricName, MetricRow][];
  const [, row] =
    rows.find(([known, { kind }]) =>
      kind === "histogram" ? suffixes.some((suffix) => name === known + suffix) : name === exposedName(known),
    ) ?? [];
  if (!row) return `${name} is not in the table`;
  if (row.of !== of) return `${name} belongs to the ${row.of}`;
  for (const [label, said] of Object.entries(labels)) {
    if (label === "le" && row.kind === "histogram") continue;
    const bound = row.labels?.[label];
    if (!bound) return `${name} has a label ${label}`;
    if (!(typeof bound === "string" ? (bounds[bound] ?? []) : bound).includes(said)) return `${name}: ${label}=${said}`;
  }
  return undefined;
}

test("a search is counted by its outcome and its money, and while it is in flight", async () => {
  upstream.keepWaiting("slow");
  const slow = server.search(wallet.live, { query: "slow" });
  await until("the upstream is asked", () => upstream.isWaiting("slow"));
  assert.equal(valueOf(await readServer(), "pennyblack_searches_in_flight"), 1);
  upstream.answer("slow");
  assert.equal((await slow).status, 200);

  upstream.keepWaiting("fails");
  const fails = server.search(wallet.live, { query: "fails" });
  await until("the upstream is asked", () => upstream.isWaiting("fails"));
  upstream.answer("fails", 500);
  assert.equal((await fails).body.code, "upstream_error");
  await server.search(wallet.test, { query: "test:upstream_timeout" });

  upstream.keepWaiting("left");
  const leaving = new AbortController();
  const left = fetch(`${server.url}/v1/search`, {
    method: "POST",
    headers: { "x-api-key": wallet.live, "content-type": "application/json" },
    body: JSON.stringify({ query: "left" }),
    signal: leaving.signal,
  }).catch(() => undefined);
  await until("the upstream is asked", () => upstream.isWaiting("left"));
  leaving.abort();
  await left;
  await until("it is counted", async () => {
    return valueOf(await readServer(), "pennyblack_searches_total", { outcome: "caller_left" }) === 1;
  });

  const samples = await readServer();
  const searches = (outcome: string) => valueOf(samples, "pennyblack_searches_total", { outcome, mode: "live" });
  // What a test key asks for is not counted with the failures that wake somebody.
  assert.deepEqual(["ok", "upstream_error", "upstream_timeout"].map(searches), [1, 1, 0]);
  assert.equal(valueOf(samples, "pennyblack_searches_total", { outcome: "upstream_timeout", mode: "test" }), 1);
  assert.equal(valueOf(samples, "pennyblack_captured_micro_usd_total"), 10_000);
  // Two were released that held a cent; that of the test key held nothing.
  assert.equal(valueOf(samples, "pennyblack_released_micro_usd_total"), 20_000);
  assert.equal(valueOf(samples, "pennyblack_searches_in_flight"), 0);
  assert.equal(valueOf(samples, "pennyblack_ledger_duration_seconds_count", { kind: "hold" }), 4);
});

test("what must never happen is counted from zero, so that the first time is seen to be a change", async () => {
  const samples = await readServer();
  for (const reason of ["expired", "unknown"]) {
    assert.equal(valueOf(samples, "pennyblack_lost_captures_total", { reason }), 0);
  }
  for (const reason of ["credential", "account_empty", "request"]) {
    assert.equal(valueOf(samples, "pennyblack_upstream_alerts_total", { upstream: "searxng", reason }), 0);
  }
  assert.equal(valueOf(samples, "pennyblack_searches_total", { outcome: "ledger_unavailable" }), 0);
  assert.equal(valueOf(await readWorker(), "pennyblack_task_failures_total", { task: "reconcile" }), 0);
});

test("a worker says how the database does, whichever worker did the work", async () => {
  await saveReport(db.owner, await reconcile(db.owner));
  const samples = await readWorker();
  const age = Date.now() / 1_000 - (valueOf(samples, "pennyblack_reconciliation_timestamp_seconds") ?? 0);
  assert.ok(age >= -5 && age < 600, `${age} s`);
  assert.equal(valueOf(samples, "pennyblack_reconciliation_differences"), 0);
  assert.equal(valueOf(samples, "pennyblack_replicas"), 0);
  await until("the sweep is seen", async () => {
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
  assert.ok((await lag()) < 600, "a receiver that fails is late by its own fault");
});

test("every series is in the table, with its labels and their values, and the table has no other", async () => {
  const [ofServer, ofWorker] = [await readServer(), await readWorker()];
  const faults = [
    ...ofServer.map((sample) => faultOf(sample, "server")),
    ...ofWorker.map((sample) => faultOf(sample, "worker")),
  ];
  assert.deepEqual(
    faults.filter((fault) => fault !== undefined),
    [],
  );
  const seen = new Set([...ofServer, ...ofWorker].map(({ name }) => name.replace(/_(?:bucket|sum|count)$/, "")));
  const unseen = (Object.keys(metricTable) as MetricName[]).filter((name) => !seen.has(exposedName(name)));
  // There is no replica here. server/src/db/replicas.test.ts has one.
  assert.deepEqual(unseen, ["pennyblack_replica_lag_bytes"]);
});
