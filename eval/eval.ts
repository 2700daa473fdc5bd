import { writeFileSync } from "node:fs";
import { compareCandidates } from "./candidates.ts";
import { drawChart } from "./draw-chart.ts";
import { evaluateCredibility, evaluateNavigational } from "./evaluate.ts";
import { type DomainScore, evaluateDomains } from "./evaluate-domains.ts";
import { formatRelevance } from "./format-relevance.ts";
import { formatDomains, formatReport, type Row } from "./format-report.ts";
import { measureRelevance, type RelevanceRow } from "./measure-relevance.ts";
import {
  InvalidDataError,
  type NavigationalQuery,
  type RatedQuery,
  readDomains,
  readNavigational,
  readRated,
} from "./read-data.ts";
import { buildLensesOrThrow, readLensFiles } from "./read-lenses.ts";
import { type EvalOptions, help, OptionError, readOptions } from "./read-options.ts";
import { readRelevance } from "./read-relevance.ts";
import { createSystems, upstreamOrder } from "./systems.ts";

// `npm run eval`. The credibility and domain data are third-party research data, so they are not part of the repository. The
// relevance data are in eval/relevance. docs/ranking.md explains the scores and their limits.

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

function evaluate({ credibilityFile, navigationalFile, domainsFile, ...options }: EvalOptions): void {
  const rated = readRated(credibilityFile);
  const navigational = readNavigational(navigationalFile);
  if (rated === undefined || navigational === undefined) {
    throw new InvalidDataError(`File not found: ${rated === undefined ? credibilityFile : navigationalFile}`);
  }
  const rows = measure(rated, navigational);
  console.log(formatReport({ rows, ratedCount: rated.length, navigationalCount: navigational.length }));
  if (options.chartFile !== undefined) writeFileSync(options.chartFile, drawChart(rows, rated.length));
  const sets = readRelevance(options.relevanceFolder);
  const byHand = options.isHeldBack ? sets.heldBack : sets.handWritten;
  const known = measureRelevance(sets.knownItem);
  const hand = measureRelevance(byHand);
  console.log(formatRelevance({ title: "known-item queries", rows: known, count: sets.knownItem.length }));
  console.log(formatRelevance({ title: "hand-written queries", rows: hand, count: byHand.length }));
  if (options.hasCandidates) {
    const named = [
      { title: "Known-item", queries: sets.knownItem },
      { title: "Hand-written", queries: byHand },
    ];
    console.log(compareCandidates({ rated, navigational, sets: named }));
  }
  const domains = domainsFile === undefined ? undefined : measureDomains(domainsFile);
  if (domains !== undefined) console.log(formatDomains(domains));
  console.log(
    JSON.stringify({
      ...summarize(rows),
      ...summarizeRelevance("known", known),
      ...summarizeRelevance("hand", hand),
      ...(domains === undefined ? {} : summarizeDomains(domains)),
    }),
  );
}

function summarizeRelevance(set: string, rows: readonly RelevanceRow[]): Record<string, number> {
  const mrrOf = (name: string): number => round(rows.find((row) => row.name === name)?.score.mrr.mean);
  return {
    [`${set}_mrr`]: mrrOf("base lens"),
    [`${set}_mrr_programming`]: mrrOf("lens programming"),
    [`${set}_mrr_upstream`]: mrrOf("upstream order"),
  };
}

function measureDomains(file: string): DomainScore {
  const lens = buildLensesOrThrow(readLensFiles()).get("base");
  if (lens === undefined) throw new Error("base lens not found");
  return evaluateDomains(readDomains(file), lens);
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
  return {
    credibility_20: round(categoryLens?.credibility[0].mean),
    credibility_40: round(categoryLens?.credibility[1].mean),
    upstream: round(find("upstream order")?.credibility[0].mean),
    nav_keep1: round(categoryLens?.navigational?.keepFirst),
    nav_keep3: round(categoryLens?.navigational?.keepTopThree),
  };
}

function summarizeDomains({ auc, spearman, worstLow, goodLow, coverage }: DomainScore): Record<string, number> {
  return {
    domain_auc: round(auc),
    domain_spearman: round(spearman),
    domain_worst_low: round(worstLow),
    domain_good_low: round(goodLow),
    domain_coverage: round(coverage),
  };
}

function round(value: number | undefined): number {
  return Number((value ?? 0).toFixed(4));
}
