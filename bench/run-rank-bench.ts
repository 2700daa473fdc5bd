import { readdirSync, readFileSync } from "node:fs";
import { buildLenses, type Lens } from "../server/src/ranking/lens.ts";
import { rank } from "../server/src/ranking/rank.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatTable } from "./format-table.ts";
import { type Candidate, makeSearches } from "./make-candidates.ts";
import type { BenchOptions } from "./read-options.ts";
import { summarize } from "./summarize.ts";
import type { Workshop } from "./workshop.ts";

interface Contender {
  name: string;
  key: string;
  searches: Candidate[][];
  rankOne: (results: Candidate[]) => unknown;
  rounds: { p50: number; p99: number }[];
}

const query = "harbour safety notice";
const n = 10;

/** What ranking one search costs, copies check included, against only merging duplicates. No server, no network. */
export async function runRankBench(workshop: Workshop, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(workshop.folder));
  const lens = readLens("research");
  console.log(`Lens      ${lens.name}@${lens.version}, ${lens.ruleCount} rules; ${n} results of each list\n`);
  const contenders = [20, 40].flatMap((candidates) => makeContenders(candidates, lens));
  for (let round = 0; round <= options.rounds; round += 1) {
    for (const contender of contenders) {
      const isWarmUp = round === 0;
      const took = measure(contender, isWarmUp ? options.warmUpSeconds : options.seconds);
      if (!isWarmUp) contender.rounds.push(took);
      // Lets an interruption through, which waits its turn behind us.
      await new Promise(setImmediate);
    }
    if (round > 0) console.error(`round ${round} of ${options.rounds} done`);
  }
  return report(contenders);
}

function makeContenders(candidates: number, lens: Lens): Contender[] {
  const usual = makeSearches({ searches: 500, candidates, unknownHosts: 2_000 });
  const strange = makeSearches({ searches: 2_000, candidates, unknownHosts: 1_000_000 });
  const ours = (results: Candidate[]): unknown => rank({ results, n, query, lens });
  const merge = (results: Candidate[]): unknown => rank({ results, n });
  return [
    {
      name: `merge only, ${candidates}`,
      key: `merge_${candidates}`,
      searches: usual,
      rankOne: merge,
    },
    { name: `rank, ${candidates}`, key: `rank_${candidates}`, searches: usual, rankOne: ours },
    { name: `rank, ${candidates}, strange hosts`, key: `rank_strange_${candidates}`, searches: strange, rankOne: ours },
  ].map((contender) => ({ ...contender, rounds: [] }));
}

function measure({ searches, rankOne }: Contender, seconds: number): { p50: number; p99: number } {
  const endMs = performance.now() + seconds * 1_000;
  const tookUs: number[] = [];
  while (performance.now() < endMs) {
    for (const results of searches) {
      const beganMs = performance.now();
      rankOne(results);
      tookUs.push((performance.now() - beganMs) * 1_000);
    }
  }
  const sorted = Float64Array.from(tookUs).sort();
  const at = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

function report(contenders: readonly Contender[]): Record<string, number> {
  const figures = contenders.map(({ name, key, rounds }) => ({
    name,
    key,
    p50: summarize(rounds.map(({ p50 }) => p50)),
    p99: summarize(rounds.map(({ p99 }) => p99)),
  }));
  const rows = figures.map(({ name, p50, p99 }) => [
    name,
    p50.median.toFixed(1),
    `${p50.least.toFixed(1)}..${p50.most.toFixed(1)}`,
    p99.median.toFixed(1),
    `${p99.least.toFixed(1)}..${p99.most.toFixed(1)}`,
  ]);
  console.log(formatTable(["candidates", "p50 us", "min..max", "p99 us", "min..max"], rows));
  return Object.fromEntries(
    figures.flatMap(({ key, p50, p99 }) => [
      [`${key}_p50_us`, Number(p50.median.toFixed(1))],
      [`${key}_p99_us`, Number(p99.median.toFixed(1))],
    ]),
  );
}

function readLens(name: string): Lens {
  const folder = new URL("../server/lenses/", import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith(".lens"));
  const built = buildLenses(files.map((file) => ({ file, text: readFileSync(new URL(file, folder), "utf8") })));
  const lens = built.ok ? built.lenses.get(name) : undefined;
  if (lens === undefined) throw new Error(`the lens ${name} cannot be read`);
  return lens;
}
