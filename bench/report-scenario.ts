import type { Driven } from "./drive-searches.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Scenario } from "./scenarios.ts";
import { type TargetName, targetNames } from "./start-servers.ts";
import { type Summary, summarize, summarizeRatio } from "./summarize.ts";

export interface Measured extends Driven {
  serverUs: number;
  postgresUs: number;
}

/** Prints the table of a scenario and gives its figures for the last line. */
export function reportScenario(
  { title, suffix }: Scenario,
  rounds: Record<TargetName, Measured[]>,
): Record<string, number> {
  const of = (name: TargetName, figure: keyof Measured): number[] => rounds[name].map((round) => round[figure]);
  const rows = targetNames.map((name) => {
    const rate = summarize(of(name, "perSecond"));
    return [
      name,
      formatNumber(rate.median),
      `${formatNumber(rate.least)}..${formatNumber(rate.most)}`,
      ...(["p50Ms", "p99Ms"] as const).map((figure) => summarize(of(name, figure)).median.toFixed(1)),
      ...(["serverUs", "postgresUs"] as const).map((figure) => formatNumber(summarize(of(name, figure)).median)),
    ];
  });
  const over = (under: TargetName): Summary =>
    summarizeRatio({ over: of("billed", "perSecond"), under: of(under, "perSecond") });
  const bare = over("bare");
  const naive = over("naive");
  const head = [title, "searches/s", "min..max", "p50 ms", "p99 ms", "server us", "PostgreSQL us"];
  console.log(`\n${formatTable(head, rows)}`);
  console.log(`billed over bare ${format(bare)}, billed over naive ${format(naive)}`);
  return {
    [`billed_over_bare${suffix}`]: rounded(bare.median),
    [`billed_over_naive${suffix}`]: rounded(naive.median),
    [`server_cpu_us${suffix}`]: Math.round(summarize(of("billed", "serverUs")).median),
    [`postgres_cpu_us${suffix}`]: Math.round(summarize(of("billed", "postgresUs")).median),
  };
}

function format({ median, least, most }: Summary): string {
  return `${median.toFixed(2)} (${least.toFixed(2)}..${most.toFixed(2)})`;
}

function rounded(value: number): number {
  return Number(value.toFixed(3));
}
