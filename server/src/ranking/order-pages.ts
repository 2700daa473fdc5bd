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
  /** Does the query name the site, and is it among the upstream's first three? */
  isNavigational: boolean;
  score: number;
  /** Why it stands elsewhere than its score says. */
  move: "copy" | "third-of-site" | "anchor" | undefined;
}

const rankOffset = 20;
const navigationalRanks = 3;
const navigationalValues = { whole: 1, part: 0.9 };
const mostOfOneSite = 2;
const anchorPlace = 2;

/** The first `n` pages, the best first. */
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
  // The upstream's order decides between equal scores, as sorting is stable.
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
  const verdict = lens.judge(page);
  const { site, name, labels } = lens.facts(host);
  const named = upstreamRank <= navigationalRanks ? namesSite(words, { name, labels }) : undefined;
  const authority = Math.max(tierValues[verdict.tier], named === undefined ? 0 : navigationalValues[named]);
  const relevance = (rankOffset + 1) / (rankOffset + upstreamRank);
  const score = (1 - lens.lambda) * relevance + lens.lambda * authority;
  const isNavigational = named !== undefined;
  return { result, key, host, path, upstreamRank, verdict, site, isNavigational, score, move: undefined };
}

/**
 * What shows the same text as a result above it, and all but two results of a site, come after all others. Ends as soon
 * as the first `n` are known and it is known what became of the upstream's first: most texts need not be read.
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
    else if (sameSite >= mostOfOneSite) tail.push({ ...page, move: "third-of-site" });
    else {
      kept.push(page);
      seen.push(fingerprint);
      countOfSite.set(page.site, sameSite + 1);
    }
  }
  return [...kept, ...tail];
}

/** The upstream's first is often exactly what was wanted: it never falls below third, unless we would show it last. */
function anchorFirst<Result>(ordered: RankedPage<Result>[], first: RankedPage<Result>): RankedPage<Result>[] {
  const place = ordered.findIndex(({ key }) => key === first.key);
  const page = ordered[place];
  if (page === undefined || place <= anchorPlace || page.verdict.tier === "E" || page.move === "copy") return ordered;
  return ordered.toSpliced(place, 1).toSpliced(anchorPlace, 0, { ...page, move: "anchor" });
}
