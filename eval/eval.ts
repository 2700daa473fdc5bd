import { writeFileSync } from "node:fs";
import { drawChart } from "./draw-chart.ts";
import { evaluateCredibility, evaluateNavigational } from "./evaluate.ts";
import { formatReport, type Row } from "./format-report.ts";
import { InvalidDataError, type NavigationalQuery, type RatedQuery, readNavigational, readRated } from "./read-data.ts";
import { readLensFiles } from "./read-lenses.ts";
import { type EvalOptions, help, OptionError, readOptions } from "./read-options.ts";
import { createSystems, upstreamOrder } from "./systems.ts";

// `npm run eval`. Both datasets are third-party research data, so they are not part of the repository. docs/ranking.md
// explains the scores and their limits.

process.exitCode = main(process.argv.slice(2));

function main(args: string[]): number {
  try {
    const options = readOptions(args);
    if (options === "help") console.log(help);
    else evaluate(options);
    return 0;
  } catch (error) {
    if (!(error instanceof OptionError || error instanceof InvalidDataError)) throw error;
    console.error(`${error.message}. See: npm run eval -- --help`);
    return 2;
  }
}

function evaluate({ credibilityFile, navigationalFile, chartFile }: EvalOptions): void {
  const rated = readRated(credibilityFile);
  const navigational = readNavigational(navigationalFile);
  if (rated === undefined || navigational === undefined) {
    throw new InvalidDataError(`File not found: ${rated === undefined ? credibilityFile : navigationalFile}`);
  }
  const rows = measure(rated, navigational);
  console.log(formatReport({ rows, ratedCount: rated.length, navigationalCount: navigational.length }));
  if (chartFile !== undefined) writeFileSync(chartFile, drawChart(rows, rated.length));
  console.log(JSON.stringify(summarize(rows)));
}

function measure(rated: RatedQuery[], navigational: NavigationalQuery[]): Row[] {
  return createSystems(readLensFiles()).map(({ name, system }) => ({
    name,
    credibility: [
      evaluateCredibility(rated, { system, upstream: upstreamOrder, candidates: 20 }),
      evaluateCredibility(rated, { system, upstream: upstreamOrder, candidates: 40 }),
    ],
    navigational: name === "oracle" ? undefined : evaluateNavigational(navigational, system),
  }));
}

function summarize(rows: readonly Row[]): Record<string, number> {
  const find = (name: string): Row | undefined => rows.find((row) => row.name === name);
  const categoryLens = find("category lens");
  const round = (value: number | undefined): number => Number((value ?? 0).toFixed(4));
  return {
    credibility_20: round(categoryLens?.credibility[0].mean),
    credibility_40: round(categoryLens?.credibility[1].mean),
    upstream: round(find("upstream order")?.credibility[0].mean),
    nav_keep1: round(categoryLens?.navigational?.keepFirst),
    nav_keep3: round(categoryLens?.navigational?.keepTopThree),
  };
}
