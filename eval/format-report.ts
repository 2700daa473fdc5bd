import type { Interval } from "./bootstrap.ts";
import type { CredibilityScore, NavigationalScore } from "./evaluate.ts";
import type { DomainScore } from "./evaluate-domains.ts";

/** The scores of one system, with 20 and with 40 candidates. */
export interface Row {
  name: string;
  credibility: [CredibilityScore, CredibilityScore];
  /** Undefined for the oracle, which needs ratings. */
  navigational: NavigationalScore | undefined;
}

interface Report {
  rows: readonly Row[];
  ratedCount: number;
  navigationalCount: number;
}

/** A table that can be pasted into docs/ranking.md. */
export function formatReport({ rows, ratedCount, navigationalCount }: Report): string {
  return [
    `Authority nDCG@10 over ${ratedCount} rated queries: gain over the upstream order with its 95% interval, and queries`,
    `won and lost. Official site ranked first and in the top three over ${navigationalCount} navigational queries.`,
    "",
    "| System | 20 | gain | won, lost | 40 | gain | won, lost | kept first | in top three |",
    "|---|---|---|---|---|---|---|---|---|",
    ...rows.map(formatRow),
    "",
    "Limitations: English pages from 2010, few queries. Ratings cover credibility, not correctness or relevance.",
  ].join("\n");
}

function formatRow({ name, credibility, navigational }: Row): string {
  const cells = credibility.flatMap(({ mean, gain, wins, losses }) => [
    mean.toFixed(3),
    name === "upstream order" ? "" : formatInterval(gain),
    name === "upstream order" ? "" : `${wins}, ${losses}`,
  ]);
  const kept = [navigational?.keepFirst, navigational?.keepTopThree].map((share) =>
    share === undefined ? "" : `${(share * 100).toFixed(0)}%`,
  );
  return `| ${[name, ...cells, ...kept].join(" | ")} |`;
}

export function formatInterval({ mean, low, high }: Interval): string {
  return `${signed(mean)} (${signed(low)} to ${signed(high)})`;
}

function signed(value: number): string {
  return `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(3)}`;
}

export function formatDomains(score: DomainScore): string {
  return [
    "",
    `Tiers of the base lens against reliability labels of ${score.ratedCount} rated and ${score.labelledCount} labelled domains.`,
    "",
    "| Measure | Value |",
    "|---|---|",
    `| Rated domains that a rule names | ${percent(score.coverage)} |`,
    `| AUC, reliable against unreliable | ${score.auc.toFixed(3)} |`,
    `| Spearman correlation of rating and tier | ${score.spearman.toFixed(3)} |`,
    `| Worst-rated tenth in tier D or E | ${percent(score.worstLow)} |`,
    `| Domains rated 0.75 or better in tier D or E | ${percent(score.goodLow)} |`,
    "",
    "| Tier | Rated domains | Mean rating |",
    "|---|---|---|",
    ...Object.entries(score.tiers).map(([tier, { count, meanScore }]) => {
      return `| ${tier} | ${count} | ${count === 0 ? "" : meanScore.toFixed(2)} |`;
    }),
    "",
  ].join("\n");
}

export function percent(value: number, digits = 1): string {
  return `${(value * 100).toFixed(digits)}%`;
}
