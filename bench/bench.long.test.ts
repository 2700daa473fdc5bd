import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "../server/test/support/assertions/until.ts";
import { searchRequest } from "./bench-request.ts";
import { insertCapacity } from "./capacity-table.ts";
import { insertOutputs } from "./draw-charts.ts";
import { driveOpenLoop, type Sample } from "./open-loop.ts";
import { readCpuMicroseconds } from "./read-cpu.ts";
import { percentile, summarize, summarizeRatio } from "./summarize.ts";

const root = new URL("..", import.meta.url).pathname;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "pb-bench-test-"));
  // As root, PostgreSQL runs under another account, which needs access.
  await chmod(folder, 0o755);
});

after(() => rm(folder, { recursive: true, force: true }));

function startBench(...args: string[]) {
  const script = new URL("./bench.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, ...args], {
    // The benchmark creates its files below TMPDIR, so the test can check that they were removed.
    env: { PATH: process.env["PATH"], TMPDIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  const ended = once(child, "close").then(([code]: unknown[]) => code);
  return { child, output, ended };
}

test("the ledger benchmark prints JSON results and matching charges and leaves nothing behind", async () => {
  const { output, ended } = startBench("ledger", "--rounds", "1", "--seconds", "0.3", "--loops", "40");
  assert.equal(await ended, 0, output.stderr);
  const { stdout } = output;
  const figures = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  assert.deepEqual(Object.keys(figures), [
    "hold_capture_per_s",
    "over_pgbench",
    "over_naive",
    "over_unnamed",
    "postgres_cpu_us",
  ]);
  for (const [name, value] of Object.entries(figures)) assert.ok(value > 0, `${name} is ${value}`);
  assert.match(stdout, /fsync=on synchronous_commit=on full_page_writes=on/);
  const [, answered, captured] = /(\d+) answered, (\d+) captured; \d+ reconciliation checks clean/.exec(stdout) ?? [];
  assert.ok(Number(answered) > 0);
  assert.equal(answered, captured);
  assert.deepEqual(readdirSync(folder), []);
});

test("the statements benchmark prints the cost of a hold and a capture for each batch size", async () => {
  const { output, ended } = startBench("statements", "--rounds", "1", "--seconds", "0.2");
  assert.equal(await ended, 0, output.stderr);
  const figures = JSON.parse(output.stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  for (const kind of ["hold", "capture"]) {
    const [of1 = 0, of100 = 0] = [figures[`${kind}_us_of_1`], figures[`${kind}_us_of_100`]];
    assert.ok(of1 > 0 && of100 > of1 && of100 < 100 * of1, `${kind}: ${of1} us and ${of100} us`);
  }
  assert.match(output.stdout, /(\d+) answered, \1 captured; \d+ reconciliation checks clean/);
  assert.deepEqual(readdirSync(folder), []);
});

test("comparing a checkout with itself measures both ledgers in every variant and prints the spread", async () => {
  const { output, ended } = startBench("statements", "--before", root, "--rounds", "2", "--seconds", "0.1");
  assert.equal(await ended, 0, output.stderr);
  for (const variant of ["plain", "idempotent", "one_limit", "three_limits", "two_shared", "run", "end_user"])
    assert.match(output.stdout, new RegExp(`^${variant} 100 .* \\d\\.\\d\\d \\(\\d.*\\.\\.\\d.*\\)$`, "m"));
  const charges = [...output.stdout.matchAll(/(\d+) answered, \1 captured; \d+ reconciliation checks clean/g)];
  assert.equal(charges.length, 2);
  assert.deepEqual(readdirSync(folder), []);
});

test("the ledger benchmark compares the lanes of two checkouts", async () => {
  const options = ["--rounds", "1", "--seconds", "0.3", "--loops", "40", "--variant", "plain", "--variant", "run"];
  const { output, ended } = startBench("ledger", "--before", root, ...options);
  assert.equal(await ended, 0, output.stderr);
  const figures = JSON.parse(output.stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  const names = ["plain", "run"].flatMap((variant) => [`rate_over_before_${variant}`, `cpu_over_before_${variant}`]);
  assert.deepEqual(Object.keys(figures), names);
  assert.equal([...output.stdout.matchAll(/(\d+) answered, \1 captured/g)].length, 2);
});

test("the footprint benchmark prints bytes per search, of which a claim has many", async () => {
  const { output, ended } = startBench("footprint", "--quick", "--wallets", "200");
  assert.equal(await ended, 0, output.stderr);
  const figures = JSON.parse(output.stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  const { wal_bytes: plain = 0, wal_bytes_idempotent: idempotent = 0, claim_bytes: claim = 0 } = figures;
  assert.deepEqual(Object.keys(figures), [
    "wal_bytes",
    "wal_bytes_idempotent",
    "table_bytes",
    "index_bytes",
    "claim_bytes",
    "hot_share",
  ]);
  assert.ok(plain > 300 && idempotent > plain + 1_100 && claim > 1_100, output.stdout);
  assert.ok((figures["hot_share"] ?? 0) > 0.5 && (figures["hot_share"] ?? 2) <= 1, output.stdout);
  assert.match(output.stdout, /(\d+) answered, \1 captured; \d+ reconciliation checks clean/);
});

test("the rank benchmark prints results for loading the lenses and for 20 and 40 candidates", async () => {
  const { output, ended } = startBench("rank", "--rounds", "1", "--seconds", "0.05");
  assert.equal(await ended, 0, output.stderr);
  const figures = JSON.parse(output.stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  for (const name of ["merge_20", "rank_20", "rank_unknown_20", "merge_40", "rank_40", "rank_unknown_40"]) {
    const [p50 = 0, p99 = 0] = [figures[`${name}_p50_us`], figures[`${name}_p99_us`]];
    assert.ok(p50 > 0 && p99 >= p50, `${name}: ${p50}, ${p99}`);
  }
  for (const name of ["lenses_load_ms", "lenses_only_load_ms", "lenses_only_heap_mb"])
    assert.ok((figures[name] ?? 0) > 0);
  assert.ok((figures["lenses_heap_mb"] ?? 0) > (figures["lenses_only_heap_mb"] ?? 0), "registries take memory");
  assert.deepEqual(readdirSync(folder), []);
});

test("the in-flight benchmark pays for every search and prints memory and event loop delay", async () => {
  const { output, ended } = startBench("in-flight", "--connections", "40", "--seconds", "8", "--wallets", "4");
  assert.equal(await ended, 0, output.stderr);
  const figures = JSON.parse(output.stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  for (const suffix of ["", "_slow"]) {
    assert.ok((figures[`in_flight_per_s${suffix}`] ?? 0) > 0);
    assert.equal(figures[`in_flight_not_paid${suffix}`], 0);
    assert.ok((figures[`event_loop_p99_ms${suffix}`] ?? -1) >= 0);
  }
  assert.match(output.stdout, /40 searches in flight, 4 wallets/);
  assert.deepEqual(readdirSync(folder), []);
});

test("the growth benchmark prints results, reconciles at each size and writes little WAL per search", async () => {
  const options = ["--quick", "--rounds", "1", "--seconds", "0.5", "--loops", "200", "--requests", "5"];
  const { output, ended } = startBench("growth", ...options);
  assert.equal(await ended, 0, output.stderr);
  const { stdout } = output;
  const figures = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  for (const [name, value] of Object.entries(figures)) assert.ok(value > 0, `${name} is ${value}`);
  assert.deepEqual([figures["wallets"], figures["rows"]], [2_000, 20_000]);
  assert.ok((figures["max_wal_bytes_without_images"] ?? Infinity) <= 1_200, stdout);
  assert.match(stdout, /fsync=on synchronous_commit=on full_page_writes=on/);
  const summaries = [...stdout.matchAll(/(\d+) answered, (\d+) captured.*; \d+ reconciliation checks clean/g)];
  assert.equal(summaries.length, 2);
  for (const [, answered, captured] of summaries) assert.equal(answered, captured);
  assert.deepEqual(readdirSync(folder), []);
});

test("the reconcile benchmark closes every hour, reconciles cleanly and prints results for two sizes", async () => {
  const { output, ended } = startBench("reconcile", "--searches", "5000", "--rounds", "1", "--seconds", "0.3");
  assert.equal(await ended, 0, output.stderr);
  const figures = JSON.parse(output.stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  assert.equal(figures["searches"], 5_000);
  for (const name of ["close_hour_s", "hourly_s", "full_s", "hot_wallet_slowdown"])
    assert.ok((figures[name] ?? 0) > 0, `${name} is ${figures[name]}`);
  assert.deepEqual(readdirSync(folder), []);
});

test("an interrupted benchmark stops its processes and removes its folder", async () => {
  const { child, output, ended } = startBench("ledger", "--seconds", "60");
  await until("PostgreSQL runs", async () => output.stdout.includes("fsync=on") || child.exitCode !== null);
  const [created = ""] = readdirSync(folder);
  child.kill("SIGINT");
  assert.equal(await ended, 130, output.stderr);
  assert.deepEqual(readdirSync(folder), []);
  assert.deepEqual(processesIn(join(folder, created)), []);
});

test("rejects an unknown option before starting anything", async () => {
  const { output, ended } = startBench("--rouns", "1");
  assert.equal(await ended, 2);
  assert.match(output.stderr, /--rouns.*npm run bench -- --help/s);
});

test("the open loop sends requests on schedule and measures latency from the scheduled time", async () => {
  let [received, inFlight, maxInFlight] = [0, 0, 0];
  const samples = await driveServer({ perSecond: 100, seconds: 1 }, (_request, response) => {
    received += 1;
    inFlight += 1;
    maxInFlight = Math.max(maxInFlight, inFlight);
    // Blocks the load generator too, so that the following requests are sent late.
    if (received === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    setTimeout(() => {
      inFlight -= 1;
      response.writeHead(503, { "retry-after": "2", "content-length": 4 }).end("busy");
    }, 300);
  });
  assert.equal(samples.length, 100);
  assert.ok(maxInFlight > 15, `at most ${maxInFlight} in flight`);
  assert.ok(samples.every((sample) => sample.status === 503 && sample.hasRetryAfter && sample.latencyMs >= 295));
  const delayedMs = samples.find((sample) => sample.dueMs === 100)?.latencyMs ?? 0;
  assert.ok(delayedMs >= 495, `the delay before sending is not included in ${delayedMs} ms`);
  assert.ok(Math.max(...samples.map((sample) => sample.dueMs)) < 1_000);
});

test("the open loop sends the first request immediately", async () => {
  const samples = await driveServer({ perSecond: 0.1, seconds: 10 }, (_request, response) => response.end());
  assert.deepEqual(
    samples.map(({ dueMs, latencyMs }) => [dueMs, latencyMs < 9_000]),
    [[0, true]],
  );
});

test("the open loop does not reuse a connection that the server closed while idle", { timeout: 60_000 }, async () => {
  const connections = new Set<Socket>();
  // Simulates an expired keep-alive. The client can detect it only if it reads the end of the connection before the next
  // request is due, so the connection ends long before.
  const samples = await driveServer({ perSecond: 1, seconds: 2 }, ({ socket }, response) => {
    connections.add(socket);
    response.writeHead(200, { "content-length": 2 }).end("ok", () => socket.destroy());
  });
  assert.deepEqual(
    samples.map(({ status }) => status),
    [200, 200],
  );
  assert.equal(connections.size, 2);
});

/** Runs the open loop against a server in this process. */
async function driveServer(
  rate: { perSecond: number; seconds: number },
  onRequest: RequestListener,
): Promise<Sample[]> {
  const server = createServer(onRequest);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const samples: Sample[] = [];
  const { port } = server.address() as AddressInfo;
  const onSample = (sample: Sample): void => void samples.push(sample);
  await driveOpenLoop({ ...rate, port, keys: ["a", "b"], request: searchRequest, onSample });
  server.close();
  return samples;
}

test("docs/performance.md contains the recorded benchmark output", () => {
  const page = readFileSync(new URL("../docs/performance.md", import.meta.url), "utf8");
  const blocks = page.match(/<!-- \w+\.txt -->\n\n```text\n/g) ?? [];
  assert.ok(blocks.length >= 5, `${blocks.length} blocks`);
  assert.equal(insertOutputs(page), page, "npm run bench -- charts");
});

test("docs/runbooks/capacity.md contains the tables calculated from the recorded benchmark output", () => {
  const [page, folder] = ["../docs/runbooks/capacity.md", "../docs/performance/"].map(
    (path) => new URL(path, import.meta.url).pathname,
  ) as [string, string];
  const text = readFileSync(page, "utf8");
  assert.equal(text.match(/<!-- capacity: .* -->\n\n\| /g)?.length, 4);
  assert.equal(insertCapacity(text, folder), text, "npm run bench -- charts");
});

test("a ratio is computed per round, so a slowdown of the whole machine cancels out", () => {
  assert.deepEqual(summarizeRatio({ over: [50, 10, 30], under: [100, 20, 60] }), {
    median: 0.5,
    min: 0.5,
    max: 0.5,
  });
  assert.deepEqual(summarize([4, 1, 3, 2]), { median: 2.5, min: 1, max: 4 });
});

test("a percentile is one of the measured values", () => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  assert.deepEqual(
    [50, 95, 99, 100].map((percent) => percentile(values, percent)),
    [100, 190, 198, 200],
  );
});

test("reads the CPU time of a process in microseconds", () => {
  const { user, system } = process.cpuUsage();
  const measured = readCpuMicroseconds(process.pid);
  assert.ok(Math.abs(measured - user - system) < 200_000, `${measured} instead of ${user + system}`);
});

function processesIn(path: string): string[] {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(path));
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    // The process has exited.
    return "";
  }
}
