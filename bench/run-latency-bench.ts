import { checkCharges } from "./check-charges.ts";
import { driveSearches } from "./drive-searches.ts";
import { checkSameResponse, type Environment, startEnvironment } from "./environment.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import { driveOpenLoop } from "./open-loop.ts";
import type { BenchOptions } from "./read-options.ts";
import { rotate } from "./rotate.ts";
import { startServers, type Target, type TargetName, titles } from "./start-servers.ts";
import { percentile, summarize } from "./summarize.ts";

// Measures the latency added by billing. Each server gets the same open-loop load: 20, 50 and 80% of the billed server's
// capacity.

const loads = [0.2, 0.5, 0.8];

interface Latency {
  p50: number;
  p99: number;
}

export async function runLatencyBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  const env = await startEnvironment(harness, options);
  try {
    // The naive server cannot sustain 50% load.
    const targets = (await startServers(harness, env.serverOptions, options.servers)).filter(
      ({ name }) => name !== "naive",
    );
    await checkSameResponse(env, targets);
    const maxPerSecond = await findMaxRate(env, targets);
    console.log(
      `Load      open loop, ${formatNumber(options.wallets)} wallets; 100% is ${formatNumber(maxPerSecond)}/s`,
    );
    const figures: Record<string, number> = { max_per_s: Math.round(maxPerSecond) };
    for (const load of loads) Object.assign(figures, await measureLoad(env, targets, load, maxPerSecond));
    console.log(`\n${await checkCharges(env.owner, env.answered)}`);
    return figures;
  } finally {
    await env.owner.end();
  }
}

/**
 * Finds the capacity of the billed server. All servers get a long warm-up first: V8 keeps compiling for some ten thousand
 * searches.
 */
async function findMaxRate(env: Environment, targets: readonly Target[]): Promise<number> {
  const { harness, keys, options } = env;
  let maxPerSecond = 0;
  for (const seconds of [options.warmUpSeconds * 10, options.seconds]) {
    for (const target of targets) {
      const drive = { harness, target, keysFile: keys.allFile, seconds, hasIdempotencyKeys: false };
      const result = await driveSearches({ ...drive, connections: options.connections });
      if (target.isBilled) env.answered += result.answers;
      if (target.name === "billed") maxPerSecond = result.perSecond;
    }
  }
  return maxPerSecond;
}

async function measureLoad(
  env: Environment,
  targets: readonly Target[],
  load: number,
  maxPerSecond: number,
): Promise<Record<string, number>> {
  const { rounds, seconds } = env.options;
  const latencies = new Map<TargetName, Latency[]>(targets.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const target of rotate(targets, round))
      latencies.get(target.name)?.push(await drive(env, target, maxPerSecond * load, seconds));
    console.error(`${load * 100}% load, round ${round + 1} of ${rounds}`);
  }
  return report(latencies, load, maxPerSecond);
}

async function drive(env: Environment, target: Target, perSecond: number, seconds: number): Promise<Latency> {
  const latencies: number[] = [];
  await driveOpenLoop({
    port: Number(new URL(target.url).port),
    keys: env.keys.all,
    request: target.request,
    perSecond,
    seconds,
    onSample: ({ status, latencyMs }) => {
      if (status !== 200) throw new Error(`${target.name} answered ${status}. Is the machine too busy?`);
      latencies.push(latencyMs);
    },
  });
  if (target.isBilled) env.answered += latencies.length;
  return { p50: percentile(latencies, 50), p99: percentile(latencies, 99) };
}

function report(latencies: Map<TargetName, Latency[]>, load: number, maxPerSecond: number): Record<string, number> {
  const values = (name: TargetName, figure: keyof Latency): number[] =>
    latencies.get(name)?.map((each) => each[figure]) ?? [];
  /** Compared per round, so that a slowdown of the whole machine cancels out. */
  const added = (name: TargetName, figure: keyof Latency): number => {
    const bare = values("bare", figure);
    return summarize(values(name, figure).map((value, round) => value - (bare[round] ?? 0))).median;
  };
  const rows = [...latencies.keys()].map((name) => {
    const [p50, p99] = [summarize(values(name, "p50")), summarize(values(name, "p99"))];
    return [
      titles[name],
      p50.median.toFixed(2),
      `${p50.min.toFixed(1)}..${p50.max.toFixed(1)}`,
      p99.median.toFixed(2),
      `${p99.min.toFixed(1)}..${p99.max.toFixed(1)}`,
      ...(["p50", "p99"] as const).map((figure) => (name === "bare" ? "" : added(name, figure).toFixed(2))),
    ];
  });
  const head = [
    `${formatNumber(load * 100)}% load, ${formatNumber(maxPerSecond * load)}/s`,
    "p50 ms",
    "min..max",
    "p99 ms",
    "min..max",
    "p50 added",
    "p99 added",
  ];
  console.log(`\n${formatTable(head, rows)}`);
  const name = `at_${load * 100}`;
  return Object.fromEntries(
    (["p50", "p99"] as const).map((figure) => [
      `added_${figure}_ms_${name}`,
      Number(added("billed", figure).toFixed(2)),
    ]),
  );
}
