import { readdirSync, readFileSync } from "node:fs";
import { buildLenses, type Lens } from "../server/src/ranking/lens.ts";
import { rank } from "../server/src/ranking/rank.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatTable } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import { type Candidate, makeSearches } from "./make-candidates.ts";
import { measureLensLoading } from "./measure-lens-loading.ts";
import type { BenchOptions } from "./read-options.ts";
import { summarize } from "./summarize.ts";

interface Variant {
  name: string;
  key: string;
  searches: Candidate[][];
  rankOne: (results: Candidate[]) => unknown;
  rounds: { p50: number; p99: number }[];
}

const query = "harbour safety notice";
const n = 10;

/**
 * Loading the lenses, and ranking one search, including duplicate detection, compared with merging duplicates only. No
 * server, no network.
 */
export async function runRankBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(harness.folder));
  const lens = readLens("research");
  console.log(`Lens      ${lens.name}@${lens.version}, ${lens.ruleCount} rules; ${n} results of each list\n`);
  const loading = measureLensLoading(options.rounds);
  const variants = [20, 40].flatMap((candidates) => createVariants(candidates, lens));
  for (let round = 0; round <= options.rounds; round += 1) {
    for (const variant of variants) {
      const isWarmUp = round === 0;
      const result = measure(variant, isWarmUp ? options.warmUpSeconds : options.seconds);
      if (!isWarmUp) variant.rounds.push(result);
      // Yield to the event loop, so that signals are handled.
      await new Promise(setImmediate);
    }
    if (round > 0) console.error(`round ${round} of ${options.rounds} done`);
  }
  return { ...loading, ...report(variants) };
}

function createVariants(candidates: number, lens: Lens): Variant[] {
  const typical = makeSearches({ searches: 500, candidates, unknownHosts: 2_000 });
  const diverse = makeSearches({ searches: 2_000, candidates, unknownHosts: 1_000_000 });
  const full = (results: Candidate[]): unknown => rank({ results, n, query, lens });
  const merge = (results: Candidate[]): unknown => rank({ results, n });
  return [
    { name: `merge only, ${candidates}`, key: `merge_${candidates}`, searches: typical, rankOne: merge },
    { name: `rank, ${candidates}`, key: `rank_${candidates}`, searches: typical, rankOne: full },
    { name: `rank, ${candidates}, unknown hosts`, key: `rank_unknown_${candidates}`, searches: diverse, rankOne: full },
  ].map((variant) => ({ ...variant, rounds: [] }));
}

function measure({ searches, rankOne }: Variant, seconds: number): { p50: number; p99: number } {
  const endMs = performance.now() + seconds * 1_000;
  const durationsUs: number[] = [];
  while (performance.now() < endMs) {
    for (const results of searches) {
      const startMs = performance.now();
      rankOne(results);
      durationsUs.push((performance.now() - startMs) * 1_000);
    }
  }
  const sorted = Float64Array.from(durationsUs).sort();
  const quantile = (fraction: number): number => sorted[Math.floor((sorted.length - 1) * fraction)] ?? 0;
  return { p50: quantile(0.5), p99: quantile(0.99) };
}

function report(variants: readonly Variant[]): Record<string, number> {
  const figures = variants.map(({ name, key, rounds }) => ({
    name,
    key,
    p50: summarize(rounds.map(({ p50 }) => p50)),
    p99: summarize(rounds.map(({ p99 }) => p99)),
  }));
  const rows = figures.map(({ name, p50, p99 }) => [
    name,
    p50.median.toFixed(1),
    `${p50.min.toFixed(1)}..${p50.max.toFixed(1)}`,
    p99.median.toFixed(1),
    `${p99.min.toFixed(1)}..${p99.max.toFixed(1)}`,
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
  const files = readdirSync(folder).filter((file) => /\.(?:lens|registry)$/.test(file));
  const built = buildLenses(files.map((file) => ({ file, text: readFileSync(new URL(file, folder), "utf8") })));
  const lens = built.ok ? built.lenses.get(name) : undefined;
  if (lens === undefined) throw new Error(`lens ${name} not found or invalid`);
  return lens;
}
