import { randomBytes } from "node:crypto";
import { choosePort } from "../server/src/dev/choose-port.ts";
import { checkCharges } from "./check-charges.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import { driveOpenLoop, type Sample } from "./open-loop.ts";
import { readCpuMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { seedWallets } from "./seed-wallets.ts";
import { connectAsOwner, startPostgres } from "./start-postgres.ts";
import { startRedis } from "./start-redis.ts";
import { startTarget, type Target } from "./start-servers.ts";
import { percentile } from "./summarize.ts";

/** Open-loop load: a constant rate, then three times the capacity, then half of it. */
export async function runLoadBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(harness.folder));
  console.log(`Load      open loop, upstream latency ${options.latencyMs} ms, one server, all on this machine`);
  const postgres = await startPostgres(harness);
  const owner = connectAsOwner(postgres.urls);
  try {
    const pepper = { version: 1, bytes: randomBytes(32) };
    const redis = await startRedis(harness);
    const upstreamUrl = await startSlowUpstream(harness, options.latencyMs);
    const serverOptions = { urls: postgres.urls, redisUrl: redis.url, upstreamUrl, pepper };
    const server = await startTarget(harness, "billed", serverOptions);
    const wallets = await seedWallets(owner, pepper, 200);
    const driver = new LoadDriver(
      server,
      wallets.map((wallet) => wallet.key),
    );
    await driver.run("warm-up", 100, 3);
    const figures: Record<string, number> = {};
    if (options.perSecond > 0) Object.assign(figures, await measureConstantRate(driver, options));
    if (options.isOverload) Object.assign(figures, await overload(driver, options));
    // Rejected searches may have released their holds, but no hold may be left.
    console.log(`\n${await checkCharges(owner, driver.paid, ["pending"])}`);
    return figures;
  } finally {
    await owner.end();
  }
}

async function startSlowUpstream(harness: Harness, latencyMs: number): Promise<string> {
  const port = await choosePort({ host: "127.0.0.1" });
  const args = [new URL("./slow-upstream.ts", import.meta.url).pathname, String(port), String(latencyMs)];
  await harness.start({ name: "the upstream", program: process.execPath, args, port });
  return `http://127.0.0.1:${port}`;
}

interface LoadResult {
  offered: number;
  seconds: number;
  samples: Sample[];
  /** Server CPU time per search sent. */
  serverUs: number;
}

class LoadDriver {
  readonly #server: Target;
  readonly #keys: readonly string[];
  /** Searches answered with 200 in all runs. */
  paid = 0;

  constructor(server: Target, keys: readonly string[]) {
    this.#server = server;
    this.#keys = keys;
  }

  async run(name: string, perSecond: number, seconds: number): Promise<LoadResult> {
    const samples: Sample[] = [];
    const cpuBefore = readCpuMicroseconds(this.#server.pid);
    const keys = this.#keys;
    const port = Number(new URL(this.#server.url).port);
    const { request } = this.#server;
    await driveOpenLoop({ port, keys, request, perSecond, seconds, onSample: (sample) => samples.push(sample) });
    this.paid += samples.filter(isPaid).length;
    const serverUs = (readCpuMicroseconds(this.#server.pid) - cpuBefore) / samples.length;
    const result = { offered: perSecond, seconds, samples, serverUs };
    console.error(
      `${name}: ${formatNumber(perSecond)}/s offered, ${formatNumber(paidPerSecond(result))}/s paid; ${describeStatuses(samples)}`,
    );
    return result;
  }
}

async function measureConstantRate(
  driver: LoadDriver,
  { perSecond, seconds }: BenchOptions,
): Promise<Record<string, number>> {
  const result = await driver.run("constant rate", perSecond, seconds);
  console.log(`\n${report([["constant rate", result]])}`);
  const { p99 } = latencies(result.samples);
  return { constant_per_s: paidPerSecond(result), constant_not_paid: countNotPaid(result), constant_p99_ms: p99 };
}

const stepSeconds = 6;

/** The highest rate at which 99% of searches are paid. */
async function findCapacity(driver: LoadDriver): Promise<LoadResult> {
  let best: LoadResult | undefined;
  for (let perSecond = 100; ; perSecond = Math.round(perSecond * 1.25)) {
    const result = await driver.run("finding capacity", perSecond, stepSeconds);
    const isSustained = countNotPaid(result) <= result.samples.length / 100 && latencies(result.samples).p99 < 3_000;
    if (!isSustained && best) return best;
    if (!isSustained) throw new Error("this machine cannot sustain 100 searches per second");
    best = result;
  }
}

async function overload(driver: LoadDriver, { overloadSeconds }: BenchOptions): Promise<Record<string, number>> {
  const capacity = await findCapacity(driver);
  const capacityPerSecond = paidPerSecond(capacity);
  const overloaded = await driver.run("overload", capacityPerSecond * 3, overloadSeconds);
  const after = await driver.run("recovery", capacityPerSecond / 2, 10);
  console.log(
    `\n${report([
      ["capacity", capacity],
      ["3 x capacity", overloaded],
      ["capacity / 2, right after", after],
    ])}`,
  );
  const rejected = overloaded.samples.filter((sample) => !isPaid(sample));
  const shed = rejected.filter((sample) => sample.status === 503 && sample.hasRetryAfter);
  const lastSlow = after.samples.findLast((sample) => !isPaid(sample) || sample.latencyMs > 2_000);
  const figures = {
    capacity_per_second: capacityPerSecond,
    overload_goodput: paidPerSecond(overloaded) / capacityPerSecond,
    overload_rejected: rejected.length,
    overload_rejected_with_retry_after: shed.length,
    recovery_seconds: lastSlow ? (lastSlow.dueMs + lastSlow.latencyMs) / 1_000 : 0,
  };
  console.log(
    `Goodput at three times the capacity: ${Math.round(figures.overload_goodput * 100)}% of capacity. ` +
      `Rejected: ${formatNumber(rejected.length)}, of which 503 with Retry-After: ${formatNumber(shed.length)}. ` +
      `Recovered after ${figures.recovery_seconds.toFixed(1)} s.`,
  );
  return figures;
}

function describeStatuses(samples: readonly Sample[]): string {
  const groups = Object.entries(Object.groupBy(samples, ({ status }) => status));
  return groups.map(([status, group]) => `${status}: ${group?.length ?? 0}`).join(", ");
}

function isPaid({ status }: Sample): boolean {
  return status === 200;
}

function countNotPaid({ samples }: LoadResult): number {
  return samples.filter((sample) => !isPaid(sample)).length;
}

/** Excludes responses that arrived after the end of the run. */
function paidPerSecond({ samples, seconds }: LoadResult): number {
  return (
    samples.filter((sample) => isPaid(sample) && sample.dueMs + sample.latencyMs <= seconds * 1_000).length / seconds
  );
}

function latencies(samples: readonly Sample[]): { p50: number; p99: number } {
  const paid = samples.filter(isPaid).map((sample) => sample.latencyMs);
  return paid.length === 0 ? { p50: 0, p99: 0 } : { p50: percentile(paid, 50), p99: percentile(paid, 99) };
}

function report(rows: [string, LoadResult][]): string {
  return formatTable(
    ["", "offered/s", "paid/s", "not paid", "p50 ms", "p99 ms", "rejection p99 ms", "server us"],
    rows.map(([name, result]) => {
      const { p50, p99 } = latencies(result.samples);
      const rejections = result.samples.filter((sample) => !isPaid(sample)).map((sample) => sample.latencyMs);
      const figures = [result.offered, paidPerSecond(result), countNotPaid(result), p50, p99];
      const rejectionMs = rejections.length === 0 ? "" : formatNumber(percentile(rejections, 99));
      return [name, ...figures.map(formatNumber), rejectionMs, formatNumber(result.serverUs)];
    }),
  );
}
