import type { Lens, Verdict } from "./lens.ts";
import { matchQuery, readTerms } from "./match-query.ts";
import type { Page } from "./merge-duplicates.ts";
import { namesSite, type QueryWords, readQueryWords, splitWords } from "./names-site.ts";
import { type Fingerprint, isCopyOfAny, type ShownText, takeFingerprint } from "./near-copies.ts";
import { tierValues } from "./tier.ts";

export interface Rankable extends ShownText {
  url: string;
}

/** A rule that changed the score or the position of a page. docs/ranking.md describes each. */
export type Guard = keyof typeof raisedAuthority | "coverage" | "main-site" | "copy" | "third-of-site" | "anchor";

export interface RankedPage<Result> extends Page<Result> {
  verdict: Verdict;
  /** The registered domain. */
  site: string;
  score: number;
  /** In the order in which they applied. */
  guards: readonly Guard[];
}

const rankOffset = 20;
const navigationalRanks = 3;
/** Minimum authority of a page that the query or the upstream identifies as the site the caller is looking for. */
const raisedAuthority = { "exact-name": 1, navigational: 0.9, "home-page": 0.8 };
const maxPerSite = 2;
const mainSiteRanks = 10;
const anchorIndex = 2;

/** The `n` best pages, best first. */
export function orderPages<Result extends Rankable>({
  pages,
  query,
  lens,
  n,
}: OrderInput<Result>): RankedPage<Result>[] {
  const words = splitWords(query);
  const names = readQueryWords(words);
  const scored = limitToMatches(
    pages.map((page) => scorePage(page, names, lens)),
    readTerms(words),
  );
  const [first] = scored;
  if (first === undefined) return [];
  const mainSite = findMainSite(scored);
  // The sort is stable, so equal scores keep the upstream's order.
  const sorted = scored.toSorted((a, b) => b.score - a.score);
  return anchorFirst(moveToTail(sorted, { n, first, mainSite }), first).slice(0, n);
}

export interface OrderInput<Result> {
  pages: readonly Page<Result>[];
  query: string;
  lens: Lens;
  n: number;
}

function scorePage<Result>(page: Page<Result>, names: QueryWords, lens: Lens): RankedPage<Result> {
  const { result, key, host, path, upstreamRank } = page;
  const verdict = lens.classify(page);
  const { site, name, labels } = lens.facts(host);
  const isFirst = upstreamRank === 1;
  const guard =
    (upstreamRank <= navigationalRanks ? namesSite(names, { name, labels, isFirst }) : undefined) ??
    (isFirst && lens.isGeneral && isHomePage(path, verdict) ? "home-page" : undefined);
  const ofTier = tierValues[verdict.tier];
  const isRaised = guard !== undefined && raisedAuthority[guard] >= ofTier;
  const authority = isRaised ? raisedAuthority[guard] : ofTier;
  const relevance = (rankOffset + 1) / (rankOffset + upstreamRank);
  const score = (1 - lens.lambda) * relevance + lens.lambda * authority;
  return { result, key, host, path, upstreamRank, verdict, site, score, guards: isRaised ? [guard] : noGuards };
}

const noGuards: readonly Guard[] = [];

/**
 * An upstream that ranks a home page first interpreted the query as the name of a site, even if we do not recognize the name.
 * With a category, the subject is known and authority decides.
 */
function isHomePage(path: string, { tier }: Verdict): boolean {
  return path === "/" && (tier === "N" || tier === "C");
}

/**
 * Authority decides between pages that match the query equally. The score of a page is limited to that of each page that
 * the upstream ranked higher and that matches better, so it never overtakes one. Only the site that the query names
 * exactly is not limited.
 */
function limitToMatches<Result extends Rankable>(
  pages: readonly RankedPage<Result>[],
  terms: readonly string[],
): RankedPage<Result>[] {
  // The lowest score of the earlier pages that match better than a page of level 0 and 1.
  const limits: [number, number, number] = [1, 1, 1];
  const bestLater = findBestLater(pages);
  return pages.map((page, index) => {
    // Reading texts is most of the cost, so only those of pages that overtake another or may be overtaken are read.
    const isOvertaken = (bestLater[index] ?? 0) > page.score;
    if (!isOvertaken && page.score <= limits[0]) return page;
    const level = matchQuery(page.result, terms);
    const limit = page.guards[0] === "exact-name" ? 1 : limits[level];
    const score = Math.min(page.score, limit);
    if (level > 0) limits[0] = Math.min(limits[0], score);
    if (level > 1) limits[1] = Math.min(limits[1], score);
    return score < page.score ? { ...page, score, guards: [...page.guards, "coverage"] } : page;
  });
}

/** For each page, the best score of those after it. */
function findBestLater(pages: readonly RankedPage<unknown>[]): Float64Array {
  const best = new Float64Array(pages.length);
  for (let index = pages.length - 2; index >= 0; index -= 1)
    best[index] = Math.max(best[index + 1] ?? 0, pages[index + 1]?.score ?? 0);
  return best;
}

/** The site of more than half of the upstream's first ten pages, which the limit per site does not apply to. */
function findMainSite(pages: readonly RankedPage<unknown>[]): string | undefined {
  const first = pages.slice(0, mainSiteRanks);
  let [site, lead] = ["", 0];
  // Majority vote (Boyer and Moore): a site with more than half of the pages is in the lead at the end.
  for (const page of first) {
    if (lead === 0) site = page.site;
    lead += page.site === site ? 1 : -1;
  }
  return first.filter((page) => page.site === site).length * 2 > first.length ? site : undefined;
}

/**
 * Moves copies of a better result, and all but two results of each site, to the end. Stops once the first `n` are known and
 * the upstream's first result has been placed, so most texts are not hashed.
 */
function moveToTail<Result extends Rankable>(
  sorted: readonly RankedPage<Result>[],
  { n, first, mainSite }: { n: number; first: RankedPage<Result>; mainSite: string | undefined },
): RankedPage<Result>[] {
  const kept: RankedPage<Result>[] = [];
  const tail: RankedPage<Result>[] = [];
  const seen: Fingerprint[] = [];
  const countOfSite = new Map<string, number>();
  let isFirstSeen = false;
  for (const page of sorted) {
    if (kept.length >= n && isFirstSeen) break;
    isFirstSeen ||= page === first;
    const fingerprint = takeFingerprint(page.result);
    const sameSite = countOfSite.get(page.site) ?? 0;
    if (isCopyOfAny(fingerprint, seen)) tail.push(withGuard(page, "copy"));
    else if (sameSite >= maxPerSite && page.site !== mainSite) tail.push(withGuard(page, "third-of-site"));
    else {
      kept.push(sameSite >= maxPerSite ? withGuard(page, "main-site") : page);
      seen.push(fingerprint);
      countOfSite.set(page.site, sameSite + 1);
    }
  }
  return [...kept, ...tail];
}

function withGuard<Result>(page: RankedPage<Result>, guard: Guard): RankedPage<Result> {
  return { ...page, guards: [...page.guards, guard] };
}

/**
 * The upstream's first result is often the right one, so it stays in the top three unless it is in tier E or a copy. Its
 * score is raised to that of the page that it displaces.
 */
function anchorFirst<Result>(ordered: RankedPage<Result>[], first: RankedPage<Result>): RankedPage<Result>[] {
  const index = ordered.findIndex(({ upstreamRank }) => upstreamRank === first.upstreamRank);
  const [page, displaced] = [ordered[index], ordered[anchorIndex]];
  if (page === undefined || displaced === undefined || index <= anchorIndex) return ordered;
  if (page.verdict.tier === "E" || page.guards.includes("copy")) return ordered;
  const anchored = { ...withGuard(page, "anchor"), score: Math.max(page.score, displaced.score) };
  return ordered.toSpliced(index, 1).toSpliced(anchorIndex, 0, anchored);
}
