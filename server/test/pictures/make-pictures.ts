// `npm run docs:pictures` draws docs/images/dashboard.svg and docs/images/trace.svg from a real run: two servers, a worker,
// PostgreSQL, an upstream that becomes slow and then fails for a while, callers, a Prometheus with our rules, and a
// collector that receives the trace of one search.
//
// Requires the services of the tests, and prometheus (.ci/run unpacks the Debian package).

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { panels } from "../../../tools/dashboard.ts";
import { choosePort } from "../../src/dev/choose-port.ts";
import { startDelayedUpstream } from "../faults/crashes/delayed-upstream.ts";
import { until } from "../support/assertions/until.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { findPrometheus } from "../support/services/promtool.ts";
import { createTestWallet } from "../support/services/server.ts";
import { startServerProcess } from "../support/services/server-process.ts";
import { attributesOf, spansBelow, startTraceReceiver } from "../support/services/trace-receiver.ts";
import { startWorkerProcess } from "../support/services/worker-process.ts";
import { type DrawnPanel, drawDashboard, type Series } from "./draw-panels.ts";
import { drawTrace } from "./draw-trace.ts";

const root = resolve(import.meta.dirname, "../../..");
const images = join(root, "docs/images");
const scrapeSeconds = 2;
/** The phases of the run. */
const phases = [
  { seconds: 60, maxDelayMs: 40, failureRate: 0, callers: 8 },
  { seconds: 40, maxDelayMs: 400, failureRate: 0, callers: 24 },
  { seconds: 30, maxDelayMs: 40, failureRate: 0.3, callers: 8 },
  { seconds: 50, maxDelayMs: 40, failureRate: 0, callers: 8 },
];

const program = findPrometheus("prometheus");
if (!program) throw new Error("prometheus is missing; .ci/run unpacks the Debian package");
const folder = mkdtempSync(join(tmpdir(), "pennyblack-pictures-"));
const db = await createTestDatabase();
const upstream = await startDelayedUpstream();
const receiver = await startTraceReceiver();
const settings = {
  PENNYBLACK_SEARXNG_URL: upstream.url,
  PENNYBLACK_LOG_LEVEL: "error",
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
};
const servers = [await startServerProcess(db, settings), await startServerProcess(db, settings)];
const worker = await startWorkerProcess(db, { PENNYBLACK_LOG_LEVEL: "error" });
const prometheus = await startPrometheus(program);
try {
  await db.owner.query("select graphile_worker.add_job('reconcile', '{}'::json)");
  // Usage of a new database lags by a day until the first roll-up.
  await until("usage is counted", async () => (await worker.metric("pennyblack_usage_lag_seconds")) < 600, 120_000);
  const from = Date.now() / 1_000;
  for (const phase of phases) await runPhase(phase);
  const to = Date.now() / 1_000;
  const drawn: DrawnPanel[] = [];
  for (const panel of panels) {
    const series = await Promise.all(panel.queries.map((each) => queryPrometheus(each, from, to)));
    drawn.push({ panel, series: series.flat() });
  }
  writeFileSync(join(images, "dashboard.svg"), drawDashboard(drawn, { from, to }));
  writeFileSync(join(images, "trace.svg"), await drawOneTrace());
} finally {
  prometheus.stop();
  for (const { process: child } of [...servers, worker]) child.kill("SIGKILL");
  await receiver.close();
  await upstream.close();
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
}

async function runPhase({ seconds, maxDelayMs, failureRate, callers }: (typeof phases)[number]): Promise<void> {
  const wallet = await createTestWallet(db, "1000.00");
  upstream.maxDelayMs = maxDelayMs;
  upstream.failureRate = failureRate;
  const end = performance.now() + seconds * 1_000;
  const call = async (number: number): Promise<void> => {
    while (performance.now() < end) {
      await search(servers[number % servers.length]?.url ?? "", wallet.live);
      await wait(20);
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, number) => call(number)));
  upstream.failureRate = 0;
}

async function search(url: string, key: string): Promise<string> {
  const response = await fetch(`${url}/v1/search`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ query: randomUUID() }),
  });
  await response.text();
  return response.headers.get("request-id") ?? "";
}

/** A search that shares its statements with concurrent ones. */
async function drawOneTrace(): Promise<string> {
  const wallet = await createTestWallet(db, "10.00");
  upstream.maxDelayMs = 30;
  const url = servers[0]?.url ?? "";
  const others = Array.from({ length: 12 }, () => search(url, wallet.live));
  const requestId = await search(url, wallet.live);
  await Promise.all(others);
  const searchSpan = await receiver.untilReceived(
    "the search is traced",
    (span) => attributesOf(span)["pennyblack.request_id"] === requestId,
  );
  const isLinked = (span: (typeof receiver.spans)[number]) =>
    span.links?.some(({ spanId }) => spanId === searchSpan.spanId);
  await until("its batches are traced", () => receiver.spans.filter(isLinked).length >= 2);
  return drawTrace(searchSpan, spansBelow(searchSpan, receiver.spans), receiver.spans.filter(isLinked));
}

/** Rates use a shorter window than the dashboard, because the run is short. */
async function queryPrometheus(
  { query, legend }: (typeof panels)[number]["queries"][number],
  from: number,
  to: number,
): Promise<Series[]> {
  const address = new URL(`${prometheus.url}/api/v1/query_range`);
  address.search = new URLSearchParams({
    query: query.replaceAll("[5m]", "[20s]"),
    start: String(from),
    end: String(to),
    step: String(scrapeSeconds),
  }).toString();
  const { data } = (await (await fetch(address)).json()) as {
    data: { result: { metric: Record<string, string>; values: [number, string][] }[] };
  };
  return data.result.map(({ metric, values }) => ({
    legend: legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ""),
    points: values
      .map(([at, value]) => [at, Number(value)] as [number, number])
      .filter(([, value]) => Number.isFinite(value)),
  }));
}

async function startPrometheus(path: string): Promise<{ url: string; stop: () => void }> {
  const port = await choosePort({ host: "127.0.0.1" });
  const targets = [...servers, worker].map(({ opsUrl }) => new URL(opsUrl).host);
  writeFileSync(
    join(folder, "prometheus.yml"),
    JSON.stringify({
      global: { scrape_interval: `${scrapeSeconds}s`, evaluation_interval: `${scrapeSeconds}s` },
      rule_files: [join(root, "deploy/prometheus/rules/pennyblack.yml")],
      scrape_configs: [{ job_name: "pennyblack", static_configs: [{ targets }] }],
    }),
  );
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    path,
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: "ignore" },
  );
  await until("Prometheus is ready", async () => {
    return (await fetch(`${url}/-/ready`).catch(() => undefined))?.status === 200;
  });
  return { url, stop: () => child.kill("SIGKILL") };
}
