import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { choosePort } from "../server/src/dev/choose-port.ts";
import { checkCharges } from "./check-charges.ts";
import { Connection, encodeRequest } from "./connection.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import { readCpuMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { seedWallets } from "./seed-wallets.ts";
import { connectAsOwner, startPostgres } from "./start-postgres.ts";
import { startRedis } from "./start-redis.ts";
import { type ServersOptions, startTarget, type Target } from "./start-servers.ts";
import { percentile } from "./summarize.ts";

// Many searches in flight on one server, with upstreams of log-normal latency: a closed loop that starts a search whenever
// one has ended. The first upstream is realistic. With it, thousands in flight mean more searches per second than one server
// can serve. The second one is slower, so that the same number in flight is below the capacity.

const upstreams = [
  { medianMs: 400, p99Ms: 2_500 },
  { medianMs: 4_000, p99Ms: 8_000 },
];
const maxRampUpSeconds = 5;

interface Figures {
  perSecond: number;
  failed: number;
  p50Ms: number;
  p99Ms: number;
  loopP50Ms: number;
  loopP99Ms: number;
  idleKib: number;
  peakKib: number;
  serverUs: number;
}

export async function runInFlightBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(harness.folder));
  const { inFlight, owners, seconds } = options;
  console.log(`Load      closed loop, ${inFlight} searches in flight, ${owners} wallets, ${seconds} s, one server`);
  const postgres = await startPostgres(harness);
  const owner = connectAsOwner(postgres.urls);
  try {
    const pepper = { version: 1, bytes: randomBytes(32) };
    const redis = await startRedis(harness);
    const keys = (await seedWallets(owner, pepper, owners)).map(({ key }) => key);
    const preload = new URL("./measure-event-loop.ts", import.meta.url);
    const rows: [string, Figures][] = [];
    let paid = 0;
    for (const { medianMs, p99Ms } of upstreams) {
      const upstreamUrl = await startSlowUpstream(harness, medianMs, p99Ms);
      const serverOptions: ServersOptions = { urls: postgres.urls, redisUrl: redis.url, upstreamUrl, pepper, preload };
      const server = await startTarget(harness, "billed", serverOptions);
      const measured = await measure(harness, server, keys, options);
      paid += measured.paid;
      rows.push([`${formatNumber(medianMs)} / ${formatNumber(p99Ms)} ms`, measured.figures]);
      process.kill(server.pid, "SIGTERM");
    }
    console.log(`\n${report(rows, inFlight)}`);
    console.log(`\n${await checkCharges(owner, paid, ["pending"])}`);
    return toJson(rows, inFlight);
  } finally {
    await owner.end();
  }
}

async function startSlowUpstream(harness: Harness, medianMs: number, p99Ms: number): Promise<string> {
  const port = await choosePort({ host: "127.0.0.1" });
  const args = [new URL("./slow-upstream.ts", import.meta.url).pathname, ...[port, medianMs, p99Ms].map(String)];
  await harness.start({ name: `the upstream ${port}`, program: process.execPath, args, port });
  return `http://127.0.0.1:${port}`;
}

async function measure(
  harness: Harness,
  server: Target,
  keys: readonly string[],
  { inFlight, seconds }: BenchOptions,
): Promise<{ paid: number; figures: Figures }> {
  const load = new ClosedLoop(server, keys);
  await load.run({ inFlight: Math.min(inFlight, 100), rampUpMs: 0, runMs: 3_000 });
  const idleKib = readResidentKib(server.pid);
  const warmUpPaid = load.paid;
  load.reset();

  const rampUpSeconds = Math.min(maxRampUpSeconds, seconds);
  const running = load.run({ inFlight, rampUpMs: rampUpSeconds * 1_000, runMs: (rampUpSeconds + seconds) * 1_000 });
  await wait(rampUpSeconds * 1_000);
  const rampUpPaid = load.paid;
  load.reset();
  const cpuBefore = readCpuMicroseconds(server.pid);
  process.kill(server.pid, "SIGUSR2");
  let peakKib = idleKib;
  for (let sample = 0; sample < seconds * 4; sample += 1) {
    await wait(250);
    peakKib = Math.max(peakKib, readResidentKib(server.pid));
  }
  process.kill(server.pid, "SIGUSR2");
  const { paid, failed, latenciesMs } = load.snapshot();
  const serverUs = (readCpuMicroseconds(server.pid) - cpuBefore) / (paid + failed);
  await running;

  const delaysMs = await readDelays(harness, server.pid);
  console.error(`${formatNumber(paid / seconds)}/s paid, ${failed} failed`);
  return {
    paid: warmUpPaid + rampUpPaid + load.paid,
    figures: {
      perSecond: paid / seconds,
      // Including those at the end of the run.
      failed: load.failed,
      p50Ms: percentile(latenciesMs, 50),
      p99Ms: percentile(latenciesMs, 99),
      loopP50Ms: percentile(delaysMs, 50),
      loopP99Ms: percentile(delaysMs, 99),
      idleKib,
      peakKib,
      serverUs,
    },
  };
}

/** Keeps a number of searches in flight, each on its own connection. */
class ClosedLoop {
  readonly #port: number;
  readonly #requests: readonly string[];
  #latenciesMs: number[] = [];
  paid = 0;
  failed = 0;

  constructor({ url, request }: Target, keys: readonly string[]) {
    this.#port = Number(new URL(url).port);
    this.#requests = keys.map((key) => encodeRequest(key, request));
  }

  reset(): void {
    this.#latenciesMs = [];
    this.paid = 0;
    this.failed = 0;
  }

  snapshot(): { paid: number; failed: number; latenciesMs: readonly number[] } {
    return { paid: this.paid, failed: this.failed, latenciesMs: [...this.#latenciesMs] };
  }

  /** Resolves when all searches have been answered. Connections are opened evenly over `rampUpMs`. */
  async run({ inFlight, rampUpMs, runMs }: { inFlight: number; rampUpMs: number; runMs: number }): Promise<void> {
    const endMs = performance.now() + runMs;
    const loops = Array.from({ length: inFlight }, async (_, index) => {
      await wait((index / inFlight) * rampUpMs);
      let connection = new Connection(this.#port);
      while (performance.now() < endMs) {
        if (!connection.isOpen()) connection = new Connection(this.#port);
        await this.#search(connection, this.#requests[index % this.#requests.length] ?? "");
      }
      connection.close();
    });
    await Promise.all(loops);
  }

  async #search(connection: Connection, request: string): Promise<void> {
    const startMs = performance.now();
    const { promise, resolve } = Promise.withResolvers<number>();
    connection.send(request, resolve);
    const status = await promise;
    if (status === 200) this.paid += 1;
    else this.failed += 1;
    this.#latenciesMs.push(performance.now() - startMs);
    // A rejected search must not be repeated immediately, or the rejections would use up the CPU.
    if (status !== 200) await wait(500);
  }
}

function readResidentKib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
}

/** Written by measure-event-loop.ts. */
async function readDelays(harness: Harness, pid: number): Promise<number[]> {
  const file = join(harness.folder, `event-loop-${pid}`);
  for (let attempt = 0; attempt < 200 && !existsSync(file); attempt += 1) await wait(20);
  return JSON.parse(readFileSync(file, "utf8")) as number[];
}

function kibPerSearch({ idleKib, peakKib }: Figures, inFlight: number): number {
  return (peakKib - idleKib) / inFlight;
}

function report(rows: readonly [string, Figures][], inFlight: number): string {
  const head = ["upstream p50 / p99", "searches/s", "not paid", "p50 ms", "p99 ms", "loop p50 ms", "loop p99 ms"];
  return formatTable(
    [...head, "idle MiB", "peak MiB", "KiB/search", "server us"],
    rows.map(([name, figures]) => [
      name,
      ...[figures.perSecond, figures.failed, figures.p50Ms, figures.p99Ms].map(formatNumber),
      figures.loopP50Ms.toFixed(1),
      figures.loopP99Ms.toFixed(1),
      ...[figures.idleKib / 1_024, figures.peakKib / 1_024].map(formatNumber),
      ...[kibPerSearch(figures, inFlight), figures.serverUs].map(formatNumber),
    ]),
  );
}

function toJson(rows: readonly [string, Figures][], inFlight: number): Record<string, number> {
  return Object.fromEntries(
    rows.flatMap(([, figures], index) => {
      const suffix = index === 0 ? "" : "_slow";
      return [
        [`in_flight_per_s${suffix}`, Math.round(figures.perSecond)],
        [`in_flight_not_paid${suffix}`, figures.failed],
        [`event_loop_p99_ms${suffix}`, Number(figures.loopP99Ms.toFixed(1))],
        [`kib_per_search${suffix}`, Math.round(kibPerSearch(figures, inFlight))],
      ];
    }),
  );
}
