import type { Interval } from "./bootstrap.ts";
import type { CredibilityScore, NavigationalScore } from "./evaluate.ts";

/** What one system did, with 20 and with 40 candidates. */
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
    `Authority nDCG@10 over ${ratedCount} rated queries; the gain over the upstream's order with its 95 % interval, and`,
    `on how many queries it won and lost. Official site kept over ${navigationalCount} navigational queries.`,
    "",
    "| System | 20 | gain | won, lost | 40 | gain | won, lost | kept first | in top three |",
    "|---|---|---|---|---|---|---|---|---|",
    ...rows.map(formatRow),
    "",
    "Limits: pages of 2010, English, few queries. Credible is not correct, and relevance is not rated here.",
  ].join("\n");
}

function formatRow({ name, credibility, navigational }: Row): string {
  const cells = credibility.flatMap(({ mean, gain, wins, losses }) => [
    mean.toFixed(3),
    name === "upstream order" ? "" : formatInterval(gain),
    name === "upstream order" ? "" : `${wins}, ${losses}`,
  ]);
  const kept = [navigational?.keepFirst, navigational?.keepTopThree].map((part) =>
    part === undefined ? "" : `${(part * 100).toFixed(0)} %`,
  );
  return `| ${[name, ...cells, ...kept].join(" | ")} |`;
}

function formatInterval({ mean, low, high }: Interval): string {
  return `${signed(mean)} (${signed(low)} to ${signed(high)})`;
}

function signed(value: number): string {
  return `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(3)}`;
}
