import type { Lens } from "../server/src/ranking/lens.ts";
import { type Tier, tierValues } from "../server/src/ranking/tier.ts";
import type { DomainLabels } from "./read-data.ts";

export interface DomainScore {
  ratedCount: number;
  labelledCount: number;
  /** Share of rated domains that a rule or registry names. */
  coverage: number;
  /** Probability that a reliable domain has a higher tier than an unreliable one. A tie counts half. */
  auc: number;
  /** Rank correlation of rating and tier. */
  spearman: number;
  /** Share of the worst-rated tenth in tier D or E. */
  worstLow: number;
  /** Share of the domains rated 0.75 or better in tier D or E. */
  goodLow: number;
  tiers: Record<Tier, { count: number; meanScore: number }>;
}

const goodScore = 0.75;

/** Compares the tiers of home pages with domain ratings from 0 (unreliable) to 1 (reliable). */
export function evaluateDomains({ rated, labelled }: DomainLabels, lens: Lens): DomainScore {
  const verdictOf = (domain: string) => lens.classify({ host: domain, path: "/" });
  const domains = rated.map(({ domain, score }) => ({ score, ...verdictOf(domain) }));
  const worst = domains.toSorted((a, b) => a.score - b.score).slice(0, Math.ceil(domains.length / 10));
  const valueOf = ({ domain }: { domain: string }): number => tierValues[verdictOf(domain).tier];
  return {
    ratedCount: rated.length,
    labelledCount: labelled.length,
    coverage: share(domains, ({ why }) => why !== "unlisted"),
    auc: areaUnderCurve(
      labelled.filter(({ isReliable }) => isReliable).map(valueOf),
      labelled.filter(({ isReliable }) => !isReliable).map(valueOf),
    ),
    spearman: correlation(
      toRanks(domains.map(({ score }) => score)),
      toRanks(domains.map(({ tier }) => tierValues[tier])),
    ),
    worstLow: share(worst, isLow),
    goodLow: share(
      domains.filter(({ score }) => score >= goodScore),
      isLow,
    ),
    tiers: byTier(domains),
  };
}

function isLow({ tier }: { tier: Tier }): boolean {
  return tier === "D" || tier === "E";
}

function share<Item>(items: readonly Item[], matches: (item: Item) => boolean): number {
  return items.length === 0 ? 0 : items.filter(matches).length / items.length;
}

function areaUnderCurve(positives: readonly number[], negatives: readonly number[]): number {
  const ranks = toRanks([...positives, ...negatives]);
  const sum = ranks.slice(0, positives.length).reduce((total, rank) => total + rank, 0);
  return (sum - (positives.length * (positives.length + 1)) / 2) / (positives.length * negatives.length);
}

/** Ranks counted from 1. Equal values share the mean of their ranks. */
function toRanks(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  const first = new Map<number, number>();
  const counts = new Map<number, number>();
  for (const [index, value] of sorted.entries()) {
    if (!first.has(value)) first.set(value, index + 1);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return values.map((value) => (first.get(value) ?? 0) + ((counts.get(value) ?? 1) - 1) / 2);
}

function correlation(left: readonly number[], right: readonly number[]): number {
  const leftMean = mean(left);
  const rightMean = mean(right);
  let product = 0;
  let leftSquares = 0;
  let rightSquares = 0;
  for (const [index, value] of left.entries()) {
    const leftDelta = value - leftMean;
    const rightDelta = (right[index] ?? 0) - rightMean;
    product += leftDelta * rightDelta;
    leftSquares += leftDelta ** 2;
    rightSquares += rightDelta ** 2;
  }
  return leftSquares * rightSquares === 0 ? 0 : product / Math.sqrt(leftSquares * rightSquares);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);
}

function byTier(domains: readonly { tier: Tier; score: number }[]): DomainScore["tiers"] {
  const summarize = (tier: Tier) => {
    const scores = domains.filter((domain) => domain.tier === tier).map(({ score }) => score);
    return { count: scores.length, meanScore: mean(scores) };
  };
  return {
    A: summarize("A"),
    B: summarize("B"),
    C: summarize("C"),
    N: summarize("N"),
    D: summarize("D"),
    E: summarize("E"),
  };
}
