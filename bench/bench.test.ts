import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "../server/test/until.ts";
import { fillPage } from "./draw-charts.ts";
import { driveOpenLoop, type Shot } from "./open-loop.ts";
import { ourQuestion } from "./question.ts";
import { readCpuMicroseconds } from "./read-cpu.ts";
import { summarize, summarizeRatio } from "./summarize.ts";
import { percentile } from "./time-requests.ts";

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "pb-bench-test-"));
  // As root, PostgreSQL runs under another account, which must get in.
  await chmod(folder, 0o755);
});

after(() => rm(folder, { recursive: true, force: true }));

function startBench(...args: string[]) {
  const script = new URL("./bench.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, ...args], {
    // What it makes, it makes below this folder, where we see whether it is gone.
    env: { PATH: process.env["PATH"], TMPDIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.stderr += chunk.toString()));
  const ended = once(child, "close").then(([code]: unknown[]) => code);
  return { child, said, ended };
}

test("the ledger's bench ends with its figures as one line of JSON, a bill that adds up, and nothing left behind", async () => {
  const { said, ended } = startBench("ledger", "--rounds", "1", "--seconds", "0.3", "--loops", "40");
  assert.equal(await ended, 0, said.stderr);
  const { stdout } = said;
  const figures = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  assert.deepEqual(Object.keys(figures), ["hold_capture_per_s", "over_pgbench", "over_naive", "postgres_cpu_us"]);
  for (const [name, value] of Object.entries(figures)) assert.ok(value > 0, `${name} is ${value}`);
  assert.match(stdout, /fsync=on synchronous_commit=on full_page_writes=on/);
  const [, answered, captured] = /(\d+) answered, (\d+) captured; \d+ reconciliation checks clean/.exec(stdout) ?? [];
  assert.ok(Number(answered) > 0);
  assert.equal(answered, captured);
  assert.deepEqual(readdirSync(folder), []);
});

test("the bench of the ranking ends with its figures, for 20 and for 40 candidates", async () => {
  const { said, ended } = startBench("rank", "--rounds", "1", "--seconds", "0.05");
  assert.equal(await ended, 0, said.stderr);
  const figures = JSON.parse(said.stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  for (const name of ["merge_20", "rank_20", "rank_strange_20", "merge_40", "rank_40", "rank_strange_40"]) {
    const [p50 = 0, p99 = 0] = [figures[`${name}_p50_us`], figures[`${name}_p99_us`]];
    assert.ok(p50 > 0 && p99 >= p50, `${name}: ${p50}, ${p99}`);
  }
  assert.deepEqual(readdirSync(folder), []);
});

test("the bench of growth ends with its figures, books that reconcile at each size, and little log for a search", async () => {
  const pace = ["--quick", "--rounds", "1", "--seconds", "0.5", "--loops", "200", "--requests", "5"];
  const { said, ended } = startBench("growth", ...pace);
  assert.equal(await ended, 0, said.stderr);
  const { stdout } = said;
  const figures = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  for (const [name, value] of Object.entries(figures)) assert.ok(value > 0, `${name} is ${value}`);
  assert.deepEqual([figures["wallets"], figures["rows"]], [10_000, 100_000]);
  assert.ok((figures["most_wal_bytes_without_images"] ?? Infinity) <= 1_200, stdout);
  assert.match(stdout, /fsync=on synchronous_commit=on full_page_writes=on/);
  const bills = [...stdout.matchAll(/(\d+) answered, (\d+) captured.*; \d+ reconciliation checks clean/g)];
  assert.equal(bills.length, 2);
  for (const [, answered, captured] of bills) assert.equal(answered, captured);
  assert.deepEqual(readdirSync(folder), []);
});

test("a bench that is interrupted stops what it started and removes its folder", async () => {
  const { child, said, ended } = startBench("ledger", "--seconds", "60");
  await until("PostgreSQL runs", async () => said.stdout.includes("fsync=on") || child.exitCode !== null, 15_000);
  const [made = ""] = readdirSync(folder);
  child.kill("SIGINT");
  assert.equal(await ended, 130, said.stderr);
  assert.deepEqual(readdirSync(folder), []);
  assert.deepEqual(processesIn(join(folder, made)), []);
});

test("an option that does not exist is refused before anything starts", async () => {
  const { said, ended } = startBench("--rouns", "1");
  assert.equal(await ended, 2);
  assert.match(said.stderr, /--rouns.*npm run bench -- --help/s);
});

test("an open loop sends what is due whether or not anything was answered, and counts from when it was due", async () => {
  let [now, most] = [0, 0];
  const server = createServer((_request, response) => {
    now += 1;
    most = Math.max(most, now);
    setTimeout(() => {
      now -= 1;
      response.writeHead(503, { "retry-after": "2", "content-length": 4 }).end("busy");
    }, 300);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const shots: Shot[] = [];
  const { port } = server.address() as AddressInfo;
  const onShot = (shot: Shot): void => void shots.push(shot);
  await driveOpenLoop({ port, keys: ["a", "b"], question: ourQuestion, perSecond: 100, seconds: 1, onShot });
  server.close();
  assert.equal(shots.length, 100);
  assert.ok(most > 15, `${most} were out at once`);
  assert.ok(shots.every((shot) => shot.status === 503 && shot.hasRetryAfter && shot.tookMs >= 295));
  const soonest = Math.min(...shots.map((shot) => shot.tookMs));
  assert.ok(soonest < 309, `sent when due, not an interval later: ${soonest} ms`);
  assert.ok(Math.max(...shots.map((shot) => shot.dueMs)) < 1_000);
});

test("a connection that the server closed while nobody used it is not used again", async () => {
  const server = createServer(({ socket }, response) => {
    response.writeHead(200, { "content-length": 2 }).end("ok");
    // As after a keep-alive that is over.
    setTimeout(() => socket.destroy(), 20);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const shots: Shot[] = [];
  const { port } = server.address() as AddressInfo;
  const onShot = (shot: Shot): void => void shots.push(shot);
  await driveOpenLoop({ port, keys: ["a"], question: ourQuestion, perSecond: 5, seconds: 1, onShot });
  server.close();
  assert.deepEqual(
    shots.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
});

test("the page on performance says what the benches printed, and nothing else", () => {
  const page = readFileSync(new URL("../docs/performance.md", import.meta.url), "utf8");
  const blocks = page.match(/<!-- \w+\.txt -->\n\n```text\n/g) ?? [];
  assert.ok(blocks.length >= 5, `${blocks.length} prints`);
  assert.equal(fillPage(page), page, "npm run bench -- charts");
});

test("a ratio compares neighbours: a machine that slows down for both changes nothing", () => {
  assert.deepEqual(summarizeRatio({ over: [50, 10, 30], under: [100, 20, 60] }), {
    median: 0.5,
    least: 0.5,
    most: 0.5,
  });
  assert.deepEqual(summarize([4, 1, 3, 2]), { median: 2.5, least: 1, most: 4 });
});

test("a percentile is a value that was measured", () => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  assert.deepEqual(
    [50, 95, 99, 100].map((hundredths) => percentile(values, hundredths)),
    [100, 190, 198, 200],
  );
});

test("the CPU time of a process is read in microseconds", () => {
  const { user, system } = process.cpuUsage();
  const ours = readCpuMicroseconds(process.pid);
  assert.ok(Math.abs(ours - user - system) < 200_000, `${ours} against ${user + system}`);
});

function processesIn(path: string): string[] {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(path));
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    // It ended while we looked.
    return "";
  }
}
