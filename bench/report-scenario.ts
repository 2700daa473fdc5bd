import type { LoadResult } from "./drive-searches.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Scenario } from "./scenarios.ts";
import { type TargetName, titles } from "./start-servers.ts";
import { type Summary, summarize, summarizeRatio } from "./summarize.ts";

export interface RoundResult extends LoadResult {
  serverUs: number;
  postgresUs: number;
}

export type Rounds = Map<TargetName, { rounds: RoundResult[]; allocatedKib: number | undefined }>;

const cpuRatios = [
  ["billed", "bare"],
  ["bare", "before"],
  ["billed", "billedBefore"],
] as const;

/** Prints the table of a scenario and returns its results for the last line. */
export function reportScenario({ title, suffix }: Scenario, rounds: Rounds): Record<string, number> {
  const values = (name: TargetName, figure: keyof RoundResult): number[] =>
    rounds.get(name)?.rounds.map((round) => round[figure]) ?? [];
  const median = (name: TargetName, figure: keyof RoundResult): number => summarize(values(name, figure)).median;
  const rows = [...rounds].map(([name, { allocatedKib }]) => {
    const rate = summarize(values(name, "perSecond"));
    return [
      titles[name],
      formatNumber(rate.median),
      `${formatNumber(rate.min)}..${formatNumber(rate.max)}`,
      ...(["p50Ms", "p99Ms"] as const).map((figure) => median(name, figure).toFixed(1)),
      ...(["serverUs", "postgresUs"] as const).map((figure) => formatNumber(median(name, figure))),
      allocatedKib === undefined ? "" : formatNumber(allocatedKib),
    ];
  });
  const head = [title, "searches/s", "min..max", "p50 ms", "p99 ms", "server us", "PostgreSQL us", "KiB"];
  console.log(`\n${formatTable(head, rows)}`);
  const over = (under: TargetName): Summary =>
    summarizeRatio({ over: values("billed", "perSecond"), under: values(under, "perSecond") });
  const figures: Record<string, number> = {};
  for (const name of rounds.keys()) {
    if (name === "billed") continue;
    const { median, min, max } = over(name);
    console.log(`billed / ${name}: ${median.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`);
    figures[`billed_over_${name}${suffix}`] = Number(median.toFixed(3));
  }
  for (const [over, under] of cpuRatios) {
    if (!rounds.has(over) || !rounds.has(under)) continue;
    const ratio = summarizeRatio({ over: values(over, "serverUs"), under: values(under, "serverUs") });
    const spread = `${ratio.min.toFixed(2)}..${ratio.max.toFixed(2)}`;
    console.log(`server CPU, ${over} / ${under}: ${ratio.median.toFixed(2)} (${spread})`);
    figures[`${over}_over_${under}_cpu${suffix}`] = Number(ratio.median.toFixed(3));
  }
  for (const name of rounds.keys()) figures[`${name}_per_s${suffix}`] = Math.round(median(name, "perSecond"));
  if (rounds.has("bare")) figures[`bare_cpu_us${suffix}`] = Math.round(median("bare", "serverUs"));
  figures[`billed_cpu_us${suffix}`] = Math.round(median("billed", "serverUs"));
  figures[`postgres_cpu_us${suffix}`] = Math.round(median("billed", "postgresUs"));
  return figures;
}
