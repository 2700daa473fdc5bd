import { canonicalUrl } from "../server/src/ranking/canonical-url.ts";
import type { Lens } from "../server/src/ranking/lens.ts";
import { rank } from "../server/src/ranking/rank.ts";
import { authorityNdcg } from "./authority-ndcg.ts";
import { bootstrapMean, type Interval, seededRandom } from "./bootstrap.ts";
import type { RatedQuery } from "./read-data.ts";
import { type EvalQuery, lensFor } from "./systems.ts";

type RatedPage = RatedQuery["results"][number];

/** The results of two upstreams for one query. */
export interface RecordedPair extends EvalQuery {
  first: readonly RatedPage[];
  second: readonly RatedPage[];
}

export interface FusionRow {
  name: "first" | "second" | "fusion";
  /** Authority nDCG@10 in the order of the upstreams, and with the category lens. */
  upstream: number;
  lens: number;
  /** Paired difference of `lens` to the first upstream, which would answer without fusion. */
  gain: Interval;
  /** The share of the pages rated 4 or 5 that are among the candidates. */
  coverage: number;
}

export interface FusionScore {
  rows: FusionRow[];
  /** The share of an upstream's candidates that the other lists as well. */
  overlap: number;
}

const candidates = 20;
const n = 10;
const credibleRating = 4;

export function evaluateFusion(pairs: readonly RecordedPair[], lenses: ReadonlyMap<string, Lens>): FusionScore {
  const scored = pairs.map((pair) => ({ ...scorePair(pair, lensFor(lenses, pair)), query: pair.query }));
  // The splits of one query are not independent, so the interval is over queries.
  const queries = [...Map.groupBy(scored, ({ query }) => query).values()];
  const row = (name: FusionRow["name"]): FusionRow => ({
    name,
    upstream: average(scored.map((scores) => scores[name].upstream)),
    lens: average(scored.map((scores) => scores[name].lens)),
    gain: bootstrapMean(queries.map((own) => average(own.map((scores) => scores[name].lens - scores.first.lens)))),
    coverage: average(scored.map((scores) => scores[name].coverage)),
  });
  return { rows: [row("first"), row("second"), row("fusion")], overlap: average(scored.map(({ overlap }) => overlap)) };
}

function scorePair({ query, first, second }: RecordedPair, lens: Lens) {
  const all = distinct([...first, ...second]);
  const score = (results: readonly RatedPage[], fusedWith?: readonly RatedPage[]) => {
    const shown = (use?: Lens) => rank({ results, fusedWith, n, query, lens: use }).map(({ rating }) => rating);
    const ratings = all.map(({ rating }) => rating);
    const pages = distinct([...results, ...(fusedWith ?? [])]);
    return {
      upstream: authorityNdcg({ shown: shown(), all: ratings }),
      lens: authorityNdcg({ shown: shown(lens), all: ratings }),
      coverage: ratio(pages.filter(isCredible).length, all.filter(isCredible).length),
    };
  };
  const [a, b] = [first.slice(0, candidates), second.slice(0, candidates)];
  const common = distinct(a).length + distinct(b).length - distinct([...a, ...b]).length;
  return { first: score(a), second: score(b), fusion: score(a, b), overlap: ratio(common, a.length) };
}

/** The queries that both upstreams were recorded for. */
export function pairRecordings(first: readonly RatedQuery[], second: readonly RatedQuery[]): RecordedPair[] {
  return first.flatMap(({ query, category, results }) => {
    const other = second.find((each) => each.query === query);
    return other === undefined ? [] : [{ query, category, first: results, second: other.results }];
  });
}

const splits = 50;
const listedShare = 0.6;

/**
 * Two upstreams made from one recording: each lists a random 60 % of the recorded pages in the recorded order. Real upstreams
 * also differ in their order, and agree on good pages more often than on bad ones, which this cannot show.
 */
export function splitRecording(queries: readonly RatedQuery[]): RecordedPair[] {
  const random = seededRandom(20_261_116);
  const draw = (results: readonly RatedPage[]) => results.filter(() => random() < listedShare);
  return queries.flatMap(({ query, category, results }) =>
    Array.from({ length: splits }, () => ({ query, category, first: draw(results), second: draw(results) })),
  );
}

function distinct(pages: readonly RatedPage[]): RatedPage[] {
  return [...new Map(pages.toReversed().map((page) => [canonicalUrl(page.url), page])).values()];
}

function isCredible({ rating }: RatedPage): boolean {
  return rating >= credibleRating;
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
