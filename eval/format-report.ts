import type { Interval } from "./bootstrap.ts";
import type { CredibilityScore, NavigationalScore } from "./evaluate.ts";

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
    share === undefined ? "" : `${(share * 100).toFixed(0)} %`,
  );
  return `| ${[name, ...cells, ...kept].join(" | ")} |`;
}

function formatInterval({ mean, low, high }: Interval): string {
  return `${signed(mean)} (${signed(low)} to ${signed(high)})`;
}

function signed(value: number): string {
  return `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(3)}`;
}
