import type { Lens, Verdict } from "./lens.ts";
import type { Page } from "./merge-duplicates.ts";
import { namesSite, type QueryWords, readQueryWords } from "./names-site.ts";
import { type Fingerprint, isCopyOfAny, type ShownText, takeFingerprint } from "./near-copies.ts";
import { tierValues } from "./tier.ts";

export interface Rankable extends ShownText {
  url: string;
}

export interface RankedPage<Result> extends Page<Result> {
  verdict: Verdict;
  /** The registered domain. */
  site: string;
  /** The query names the site and the upstream ranked it among the first three, or ranked its home page first. */
  isNavigational: boolean;
  score: number;
  /** Why its position differs from its score. */
  move: "copy" | "third-of-site" | "anchor" | undefined;
}

const rankOffset = 20;
const navigationalRanks = 3;
const navigationalValues = { whole: 1, part: 0.9, home: 0.8 };
const maxPerSite = 2;
const anchorIndex = 2;

/** The `n` best pages, best first. */
export function orderPages<Result extends Rankable>({
  pages,
  query,
  lens,
  n,
}: OrderInput<Result>): RankedPage<Result>[] {
  const words = readQueryWords(query);
  const scored = pages.map((page) => scorePage(page, words, lens));
  const [first] = scored;
  if (first === undefined) return [];
  // The sort is stable, so equal scores keep the upstream's order.
  const sorted = scored.toSorted((a, b) => b.score - a.score);
  return anchorFirst(moveToTail(sorted, { n, first }), first).slice(0, n);
}

export interface OrderInput<Result> {
  pages: readonly Page<Result>[];
  query: string;
  lens: Lens;
  n: number;
}

function scorePage<Result>(page: Page<Result>, words: QueryWords, lens: Lens): RankedPage<Result> {
  const { result, key, host, path, upstreamRank } = page;
  const verdict = lens.classify(page);
  const { site, name, labels } = lens.facts(host);
  const isFirst = upstreamRank === 1;
  const named =
    (upstreamRank <= navigationalRanks ? namesSite(words, { name, labels, isFirst }) : undefined) ??
    (isFirst && lens.isGeneral && isHomePage(path, verdict) ? "home" : undefined);
  const authority = Math.max(tierValues[verdict.tier], named === undefined ? 0 : navigationalValues[named]);
  const relevance = (rankOffset + 1) / (rankOffset + upstreamRank);
  const score = (1 - lens.lambda) * relevance + lens.lambda * authority;
  const isNavigational = named !== undefined;
  return { result, key, host, path, upstreamRank, verdict, site, isNavigational, score, move: undefined };
}

/**
 * An upstream that ranks a home page first took the query for the name of a site, also if we do not recognize the name.
 * With a category, the subject is known and authority decides.
 */
function isHomePage(path: string, { tier }: Verdict): boolean {
  return path === "/" && (tier === "N" || tier === "C");
}

/**
 * Moves copies of a better result, and all but two results per site, to the end. Stops once the first `n` are known and
 * the upstream's first result has been placed, so most texts are not hashed.
 */
function moveToTail<Result extends Rankable>(
  sorted: readonly RankedPage<Result>[],
  { n, first }: { n: number; first: RankedPage<Result> },
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
    if (isCopyOfAny(fingerprint, seen)) tail.push({ ...page, move: "copy" });
    else if (sameSite >= maxPerSite) tail.push({ ...page, move: "third-of-site" });
    else {
      kept.push(page);
      seen.push(fingerprint);
      countOfSite.set(page.site, sameSite + 1);
    }
  }
  return [...kept, ...tail];
}

/** The upstream's first result is often the right one, so it stays in the top three unless it is in tier E or a copy. */
function anchorFirst<Result>(ordered: RankedPage<Result>[], first: RankedPage<Result>): RankedPage<Result>[] {
  const index = ordered.findIndex(({ key }) => key === first.key);
  const page = ordered[index];
  if (page === undefined || index <= anchorIndex || page.verdict.tier === "E" || page.move === "copy") return ordered;
  return ordered.toSpliced(index, 1).toSpliced(anchorIndex, 0, { ...page, move: "anchor" });
}
