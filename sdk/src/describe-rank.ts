import type { RankExplanation } from "./parse-explanation.ts";

const tiers: Record<RankExplanation["tier"], string> = {
  A: "a primary source",
  B: "an established source",
  C: "a reputable source",
  N: "a neutral source",
  D: "weak evidence",
  E: "in the lowest tier",
};

/** Sentences that explain the rank of one result. docs/ranking.md defines the terms. */
export interface RankDescription {
  /** Its rank, compared with the rank at the search provider. */
  move: string;
  /** Its tier and the rule or list that assigned it. */
  tier: string;
  /** The reasons its rank or score differs from that of the tier alone. Empty for most results. */
  adjustments: string[];
}

/** Describes the rank of a result. With the `source` of all results in order, the sentences name the site. */
export function describeRank(
  explanation: RankExplanation,
  { sources = [] }: { sources?: readonly string[] } = {},
): RankDescription {
  const { position, upstreamRank, tier, reason, list, guards } = explanation;
  const listed = list === undefined ? "" : ` The list ${list.name} names it: ${list.url}`;
  return {
    move: describeMove(position, upstreamRank),
    tier:
      reason === "unlisted"
        ? `No rule lists this page, so it counts as ${tiers[tier]} (tier ${tier}).`
        : `The page is ${tiers[tier]} (tier ${tier}) because of the rule "${reason.replaceAll("-", " ")}".${listed}`,
    adjustments: guards.map((guard) => describeGuard(guard, position, sources)),
  };
}

function describeMove(position: number, upstreamRank: number): string {
  if (position === upstreamRank) return `Rank ${position}, the same as at the upstream.`;
  return `Rank ${position}, ${position < upstreamRank ? "up" : "down"} from ${upstreamRank} at the upstream.`;
}

const guardSentences: Readonly<Record<string, string>> = {
  "exact-name": "The whole query is the name of this site, so its authority is 1.00.",
  navigational: "The query contains the name of this site, so its authority is at least 0.90.",
  "home-page": "The upstream ranks this home page first, so its authority is at least 0.80.",
  coverage:
    "A result that the upstream ranked higher matches the query better, so the score is limited to that result's score.",
  "main-site":
    "More than half of the upstream's first ten results are from this site, so it is not limited to two pages.",
  copy: "Its text is nearly the same as that of a result with a better score, so it was moved to the end.",
  anchor: "It is the upstream's first result, which never falls below rank 3.",
};

function describeGuard(guard: string, position: number, sources: readonly string[]): string {
  if (guard === "third-of-site") return `${describePage(position, sources)}, moved below other sites.`;
  return guardSentences[guard] ?? `The guard "${guard}" applied.`;
}

const ordinals = ["Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth"];

/** "Third page from postgresql.org", or without a number or name if the sources do not show them. */
function describePage(position: number, sources: readonly string[]): string {
  const source = sources[position - 1];
  if (source === undefined) return "Third or later page of its site";
  const site = guessSite(source);
  const better = sources.slice(0, position - 1).filter((other) => guessSite(other) === site).length;
  return `${ordinals[better - 2] ?? "Third or later"} page from ${site}`;
}

/** The registered domain of most hosts. The server uses the public suffix list; for a sentence, a guess is enough. */
function guessSite(host: string): string {
  const labels = host.split(".");
  const isCountry = labels.at(-1)?.length === 2 && (labels.at(-2)?.length ?? 4) <= 3;
  return labels.slice(isCountry ? -3 : -2).join(".");
}
