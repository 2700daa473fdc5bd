import type { Driven } from "./drive-searches.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Scenario } from "./scenarios.ts";
import { type TargetName, titles } from "./start-servers.ts";
import { type Summary, summarize, summarizeRatio } from "./summarize.ts";

export interface Measured extends Driven {
  serverUs: number;
  postgresUs: number;
}

export type Rounds = Map<TargetName, { rounds: Measured[]; allocatedKib: number | undefined }>;

/** Prints the table of a scenario and gives its figures for the last line. */
export function reportScenario({ title, suffix }: Scenario, rounds: Rounds): Record<string, number> {
  const of = (name: TargetName, figure: keyof Measured): number[] =>
    rounds.get(name)?.rounds.map((round) => round[figure]) ?? [];
  const median = (name: TargetName, figure: keyof Measured): number => summarize(of(name, figure)).median;
  const rows = [...rounds].map(([name, { allocatedKib }]) => {
    const rate = summarize(of(name, "perSecond"));
    return [
      titles[name],
      formatNumber(rate.median),
      `${formatNumber(rate.least)}..${formatNumber(rate.most)}`,
      ...(["p50Ms", "p99Ms"] as const).map((figure) => median(name, figure).toFixed(1)),
      ...(["serverUs", "postgresUs"] as const).map((figure) => formatNumber(median(name, figure))),
      allocatedKib === undefined ? "" : formatNumber(allocatedKib),
    ];
  });
  const head = [title, "searches/s", "min..max", "p50 ms", "p99 ms", "server us", "PostgreSQL us", "KiB"];
  console.log(`\n${formatTable(head, rows)}`);
  const over = (under: TargetName): Summary =>
    summarizeRatio({ over: of("billed", "perSecond"), under: of(under, "perSecond") });
  const figures: Record<string, number> = {};
  for (const name of rounds.keys()) {
    if (name === "billed") continue;
    const { median, least, most } = over(name);
    console.log(`billed over ${name} ${median.toFixed(2)} (${least.toFixed(2)}..${most.toFixed(2)})`);
    figures[`billed_over_${name}${suffix}`] = Number(median.toFixed(3));
  }
  for (const name of rounds.keys()) figures[`${name}_per_s${suffix}`] = Math.round(median(name, "perSecond"));
  if (rounds.has("bare")) figures[`bare_cpu_us${suffix}`] = Math.round(median("bare", "serverUs"));
  figures[`billed_cpu_us${suffix}`] = Math.round(median("billed", "serverUs"));
  figures[`postgres_cpu_us${suffix}`] = Math.round(median("billed", "postgresUs"));
  return figures;
}
