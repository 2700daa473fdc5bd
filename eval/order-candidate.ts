import type { Lens } from "../server/src/ranking/lens.ts";
import { matchQuery, readTerms } from "../server/src/ranking/match-query.ts";
import { mergeDuplicates, type Page } from "../server/src/ranking/merge-duplicates.ts";
import { namesSite, readQueryWords, splitWords } from "../server/src/ranking/names-site.ts";
import { type Fingerprint, isCopyOfAny, type ShownText, takeFingerprint } from "../server/src/ranking/near-copies.ts";
import { tierValues } from "../server/src/ranking/tier.ts";

/** The guards that were considered, each on its own switch. docs/decisions/0031-relevance-guard.md compares them. */
export interface CandidateGuards {
  /** Lambda of the base lens. */
  baseLambda: number;
  /** Whether a page may not overtake one on a better level (`matchQuery`). */
  coverage: boolean;
  /** The maximum number of ranks that a page rises, with the base lens and with the others. */
  maxRise: { base: number; category: number };
  /** The sites that may have more than two pages. */
  unlimitedSites: "none" | "main" | "named" | "all";
}

/** The rules before any guard for relevance. */
export const noGuards: CandidateGuards = {
  baseLambda: 0.33,
  coverage: false,
  maxRise: { base: Number.POSITIVE_INFINITY, category: Number.POSITIVE_INFINITY },
  unlimitedSites: "none",
};

export const chosenGuards: CandidateGuards = {
  ...noGuards,
  baseLambda: 0.25,
  coverage: true,
  unlimitedSites: "main",
};

interface Input<Result> {
  results: readonly Result[];
  query: string;
  /** The terms that texts are compared with, if they are not those of the query. */
  terms?: readonly string[] | undefined;
  lens: Lens;
}

interface Scored<Result> extends Page<Result> {
  site: string;
  isNamed: boolean;
  isExactName: boolean;
  isLowest: boolean;
  score: number;
  level: number;
}

/**
 * Ranks like the server, but with any combination of guards, and without its speed. candidates.test.ts compares the two
 * for the chosen guards.
 */
export function orderCandidate<Result extends ShownText & { url: string }>(
  input: Input<Result>,
  guards: CandidateGuards,
): Result[] {
  const scored = scorePages(input, guards);
  const [first] = scored;
  if (first === undefined) return [];
  const limit = guards.maxRise[input.lens.isGeneral ? "base" : "category"];
  const sorted: Scored<Result>[] = [];
  for (const page of scored) {
    if (guards.coverage && !page.isExactName) {
      const better = sorted.filter(({ level }) => level > page.level);
      page.score = Math.min(page.score, ...better.map(({ score }) => score));
    }
    const lowest = sorted.findIndex(({ score }) => score < page.score);
    const index = lowest < 0 ? sorted.length : Math.max(lowest, sorted.length - limit);
    sorted.splice(index, 0, page);
  }
  const { kept, copies, others } = splitTail(sorted, guards);
  const ordered = [...kept, ...[...copies, ...others].toSorted((a, b) => sorted.indexOf(a) - sorted.indexOf(b))];
  const index = ordered.indexOf(first);
  const isAnchored = index > 2 && !first.isLowest && !copies.includes(first);
  return (isAnchored ? ordered.toSpliced(index, 1).toSpliced(2, 0, first) : ordered).map(({ result }) => result);
}

const raised = { "exact-name": 1, navigational: 0.9, "home-page": 0.8 };

function scorePages<Result extends ShownText & { url: string }>(
  { results, query, lens, terms }: Input<Result>,
  { baseLambda }: CandidateGuards,
): Scored<Result>[] {
  const words = splitWords(query);
  const [names, compared] = [readQueryWords(words), terms ?? readTerms(words)];
  const lambda = lens.isGeneral ? baseLambda : lens.lambda;
  return mergeDuplicates(results).map((page) => {
    const { tier } = lens.classify(page);
    const { site, name, labels } = lens.facts(page.host);
    const isFirst = page.upstreamRank === 1;
    const named = namesSite(names, { name, labels, isFirst });
    const isHome = isFirst && lens.isGeneral && page.path === "/" && (tier === "N" || tier === "C");
    const guard = (page.upstreamRank <= 3 ? named : undefined) ?? (isHome ? "home-page" : undefined);
    const authority = Math.max(tierValues[tier], guard === undefined ? 0 : raised[guard]);
    return {
      ...page,
      site,
      isNamed: named !== undefined,
      isExactName: guard === "exact-name",
      isLowest: tier === "E",
      score: ((1 - lambda) * 21) / (20 + page.upstreamRank) + lambda * authority,
      level: matchQuery(page.result, compared),
    };
  });
}

function splitTail<Result extends ShownText>(sorted: readonly Scored<Result>[], { unlimitedSites }: CandidateGuards) {
  const firstTen = sorted.toSorted((a, b) => a.upstreamRank - b.upstreamRank).slice(0, 10);
  const isMain = (site: string): boolean => firstTen.filter((page) => page.site === site).length * 2 > firstTen.length;
  const isNamed = (site: string): boolean => sorted.some((page) => page.site === site && page.isNamed);
  const isUnlimited = { none: () => false, main: isMain, named: isNamed, all: () => true }[unlimitedSites];
  const [kept, copies, others]: [Scored<Result>[], Scored<Result>[], Scored<Result>[]] = [[], [], []];
  const seen: Fingerprint[] = [];
  for (const page of sorted) {
    const fingerprint = takeFingerprint(page.result);
    if (isCopyOfAny(fingerprint, seen)) copies.push(page);
    else if (kept.filter(({ site }) => site === page.site).length >= 2 && !isUnlimited(page.site)) others.push(page);
    else {
      kept.push(page);
      seen.push(fingerprint);
    }
  }
  return { kept, copies, others };
}
