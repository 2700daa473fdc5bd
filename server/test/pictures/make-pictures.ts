// `npm run docs:pictures` draws docs/images/dashboard.svg and docs/images/trace.svg from a real run: two servers, a worker,
// PostgreSQL, an upstream that becomes slow and then fails for a while, callers, a Prometheus with our rules, and a
// collector that receives the trace of one search.
//
// Requires the services of the tests, and Prometheus with its exporters (.ci/run unpacks Debian's packages).

import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { panels } from "../../../tools/dashboard-panels.ts";
import { startDelayedUpstream } from "../faults/crashes/delayed-upstream.ts";
import { until } from "../support/assertions/until.ts";
import { createTestDatabase, superuserUrl } from "../support/services/database.ts";
import { startMonitoring } from "../support/services/monitoring.ts";
import { createTestWallet } from "../support/services/server.ts";
import { startServerProcess } from "../support/services/server-process.ts";
import { attributesOf, spansBelow, startTraceReceiver } from "../support/services/trace-receiver.ts";
import { startWorkerProcess } from "../support/services/worker-process.ts";
import { type DrawnPanel, drawDashboard, type Series } from "./draw-panels.ts";
import { drawTrace } from "./draw-trace.ts";

const root = resolve(import.meta.dirname, "../../..");
const images = join(root, "docs/images");
const stepSeconds = 2;
/** The phases of the run. */
const phases = [
  { seconds: 60, maxDelayMs: 40, failureRate: 0, callers: 8 },
  { seconds: 40, maxDelayMs: 400, failureRate: 0, callers: 24 },
  { seconds: 30, maxDelayMs: 40, failureRate: 0.3, callers: 8 },
  { seconds: 50, maxDelayMs: 40, failureRate: 0, callers: 8 },
];

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
const hostOf = ({ opsUrl }: { opsUrl: string }): string => new URL(opsUrl).host;
const monitoring = await startMonitoring({
  servers: servers.map(hostOf),
  workers: [hostOf(worker)],
  databaseUrl: superuserUrl,
  isFast: true,
});
try {
  await db.owner.query("select graphile_worker.add_job('reconcile', '{}'::json)");
  await until("usage is counted", async () => (await worker.metric("pennyblack_usage_lag_seconds")) < 600, 120_000);
  const from = Date.now() / 1_000;
  for (const phase of phases) await runPhase(phase);
  const to = Date.now() / 1_000;
  const drawn: DrawnPanel[] = [];
  for (const panel of panels) {
    const series = await Promise.all(panel.queries.map((each) => queryPrometheus(each, from, to)));
    // Without a replica or backups some panels are empty.
    if (series.flat().length > 0) drawn.push({ panel, series: series.flat() });
  }
  writeFileSync(join(images, "dashboard.svg"), drawDashboard(drawn, { from, to }));
  writeFileSync(join(images, "trace.svg"), await drawOneTrace());
} finally {
  await monitoring.close();
  for (const { process: child } of [...servers, worker]) child.kill("SIGKILL");
  await receiver.close();
  await upstream.close();
  await db.drop();
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
  const address = new URL(`${monitoring.prometheusUrl}/api/v1/query_range`);
  address.search = new URLSearchParams({
    query: query.replaceAll("[5m]", "[20s]").replaceAll(/\$(?:cell|instance)/g, ".*"),
    start: String(from),
    end: String(to),
    step: String(stepSeconds),
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
