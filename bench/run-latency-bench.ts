import { checkBill } from "./check-bill.ts";
import { driveSearches } from "./drive-searches.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import { inTurn } from "./in-turn.ts";
import { driveOpenLoop } from "./open-loop.ts";
import type { BenchOptions } from "./read-options.ts";
import { checkSameAnswer, openStage, type Stage } from "./stage.ts";
import { startServers, type Target, type TargetName, titles } from "./start-servers.ts";
import { summarize } from "./summarize.ts";
import { percentile } from "./time-requests.ts";
import type { Workshop } from "./workshop.ts";

// How much later an answer comes because it is paid for. Searches are sent when they are due, to each server the same
// number, a fifth, a half and four fifths of what the billed one can do at most.

const loads = [0.2, 0.5, 0.8];

interface Times {
  p50: number;
  p99: number;
}

export async function runLatencyBench(workshop: Workshop, options: BenchOptions): Promise<Record<string, number>> {
  const stage = await openStage(workshop, options);
  try {
    // One transaction per step cannot keep up at a half of it.
    const targets = (await startServers(workshop, stage.wish, options.servers)).filter(({ name }) => name !== "naive");
    await checkSameAnswer(stage, targets);
    const most = await findMost(stage, targets);
    console.log(`Load      open loop, ${formatNumber(options.wallets)} wallets; 100 % is ${formatNumber(most)}/s`);
    const figures: Record<string, number> = { most_per_s: Math.round(most) };
    for (const load of loads) Object.assign(figures, await measureLoad(stage, targets, load, most));
    console.log(`\n${await checkBill(stage.owner, stage.answered)}`);
    return figures;
  } finally {
    await stage.owner.end();
  }
}

/**
 * What the billed one can do. All are driven first, for long: V8 goes on compiling during some ten thousand searches, on a core
 * that a server at work has to itself.
 */
async function findMost(stage: Stage, targets: readonly Target[]): Promise<number> {
  const { workshop, wrk, keys, options } = stage;
  let most = 0;
  for (const seconds of [options.warmUpSeconds * 10, options.seconds]) {
    for (const target of targets) {
      const drive = { workshop, wrk, target, keysFile: keys.manyFile, seconds, hasIdempotencyKeys: false };
      const driven = await driveSearches({ ...drive, connections: options.connections });
      if (target.isPaid) stage.answered += driven.answers;
      if (target.name === "billed") most = driven.perSecond;
    }
  }
  return most;
}

async function measureLoad(
  stage: Stage,
  targets: readonly Target[],
  load: number,
  most: number,
): Promise<Record<string, number>> {
  const { rounds, seconds } = stage.options;
  const times = new Map<TargetName, Times[]>(targets.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const target of inTurn(targets, round))
      times.get(target.name)?.push(await drive(stage, target, most * load, seconds));
    console.error(`${load * 100} %, round ${round + 1} of ${rounds}`);
  }
  return report(times, load, most);
}

async function drive(stage: Stage, target: Target, perSecond: number, seconds: number): Promise<Times> {
  const took: number[] = [];
  await driveOpenLoop({
    port: Number(new URL(target.url).port),
    keys: stage.keys.many,
    question: target.question,
    perSecond,
    seconds,
    onShot: ({ status, tookMs }) => {
      if (status !== 200) throw new Error(`${target.name} answered ${status}. Is the machine too busy?`);
      took.push(tookMs);
    },
  });
  if (target.isPaid) stage.answered += took.length;
  return { p50: percentile(took, 50), p99: percentile(took, 99) };
}

function report(times: Map<TargetName, Times[]>, load: number, most: number): Record<string, number> {
  const of = (name: TargetName, figure: keyof Times): number[] => times.get(name)?.map((each) => each[figure]) ?? [];
  /** Round against round: a machine that is slow for both adds nothing. */
  const added = (name: TargetName, figure: keyof Times): number => {
    const bare = of("bare", figure);
    return summarize(of(name, figure).map((value, round) => value - (bare[round] ?? 0))).median;
  };
  const rows = [...times.keys()].map((name) => {
    const [p50, p99] = [summarize(of(name, "p50")), summarize(of(name, "p99"))];
    return [
      titles[name],
      p50.median.toFixed(2),
      `${p50.least.toFixed(1)}..${p50.most.toFixed(1)}`,
      p99.median.toFixed(2),
      `${p99.least.toFixed(1)}..${p99.most.toFixed(1)}`,
      ...(["p50", "p99"] as const).map((figure) => (name === "bare" ? "" : added(name, figure).toFixed(2))),
    ];
  });
  const head = [
    `${formatNumber(load * 100)} % load, ${formatNumber(most * load)}/s`,
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
