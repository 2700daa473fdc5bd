import { readTerms } from "../server/src/ranking/match-query.ts";
import { splitWords } from "../server/src/ranking/names-site.ts";
import { average } from "./bootstrap.ts";
import { evaluateCredibility, evaluateNavigational } from "./evaluate.ts";
import { evaluateRelevance } from "./evaluate-relevance.ts";
import { formatInterval, percent } from "./format-report.ts";
import { type CandidateGuards, chosenGuards, noGuards, orderCandidate } from "./order-candidate.ts";
import type { NavigationalQuery, RatedQuery } from "./read-data.ts";
import { buildLensesOrThrow, readLensFiles } from "./read-lenses.ts";
import type { RelevanceQuery } from "./read-relevance.ts";
import { type System, upstreamOrder } from "./systems.ts";

// `npm run eval -- --candidates`: each guard alone and in combination.

const maxRise = { base: 3, category: Number.POSITIVE_INFINITY };

const candidates: readonly (readonly [name: string, guards: CandidateGuards])[] = [
  ["no guard", noGuards],
  ["coverage", { ...noGuards, coverage: true }],
  ["base lambda 0.25", { ...noGuards, baseLambda: chosenGuards.baseLambda }],
  ["base rises 3 ranks", { ...noGuards, maxRise }],
  ["all rise 3 ranks", { ...noGuards, maxRise: { base: 3, category: 3 } }],
  ["main site unlimited", { ...noGuards, unlimitedSites: "main" }],
  ["named site unlimited", { ...noGuards, unlimitedSites: "named" }],
  ["all sites unlimited", { ...noGuards, unlimitedSites: "all" }],
  ["chosen", chosenGuards],
  ["chosen without coverage", { ...chosenGuards, coverage: false }],
  ["chosen with lambda 0.33", { ...chosenGuards, baseLambda: noGuards.baseLambda }],
  ["chosen with two per site", { ...chosenGuards, unlimitedSites: "none" }],
  ["chosen, base rises 3 ranks", { ...chosenGuards, maxRise }],
];

const lenses = buildLensesOrThrow(readLensFiles());
const shownCount = 10;

export function systemOf(guards: CandidateGuards, terms?: readonly string[]): System {
  return ({ query, category }, results) => {
    const lens = lenses.get(category ?? "base") ?? lenses.get("base");
    if (lens === undefined) throw new Error("base lens not found");
    return orderCandidate({ results, query, terms, lens }, guards).slice(0, shownCount);
  };
}

interface Data {
  rated: readonly RatedQuery[];
  navigational: readonly NavigationalQuery[];
  sets: readonly { title: string; queries: readonly RelevanceQuery[] }[];
}

/** Tables that can be pasted into docs/decisions. */
export function compareCandidates({ rated, navigational, sets }: Data): string {
  const texts = sets.at(-1)?.queries ?? [];
  return [
    "",
    "| Guards | credibility 20 | gain | 40 | 20 with borrowed texts | kept first |",
    "|---|---|---|---|---|---|",
    ...candidates.map(([name, guards]) => formatCredibility(name, guards, { rated, navigational, texts })),
    ...sets.flatMap(({ title, queries }) =>
      [null, "programming"].flatMap((category) => [
        "",
        `| ${title}, lens ${category ?? "base"} | MRR | change | at 3 | change | order changes |`,
        "|---|---|---|---|---|---|",
        ...candidates.map(([name, guards]) => formatRelevance(name, systemOf(guards), { queries, category })),
      ]),
    ),
  ].join("\n");
}

function formatCredibility(
  name: string,
  guards: CandidateGuards,
  { rated, navigational, texts }: Omit<Data, "sets"> & { texts: readonly RelevanceQuery[] },
): string {
  const system = systemOf(guards);
  const [twenty, forty] = [20, 40].map((count) =>
    evaluateCredibility(rated, { system, upstream: upstreamOrder, candidates: count }),
  );
  if (twenty === undefined || forty === undefined) return "";
  const borrowed = average(texts.map((source) => credibilityWithTextsOf(source, rated, guards)));
  const kept = percent(evaluateNavigational(navigational, system).keepFirst, 0);
  const cells = [twenty.mean.toFixed(3), formatInterval(twenty.gain), forty.mean.toFixed(3), borrowed.toFixed(3), kept];
  return `| ${[name, ...cells].join(" | ")} |`;
}

/**
 * The rated results have no titles and snippets, so `coverage` cannot apply to them. Here, each of them has the texts of
 * the result with the same rank of another query, and is compared with that query. Texts and credibility are then
 * independent, which they are not on the web.
 */
function credibilityWithTextsOf(
  { query, results: texts }: RelevanceQuery,
  rated: readonly RatedQuery[],
  guards: CandidateGuards,
): number {
  const system = systemOf(guards, readTerms(splitWords(query)));
  const borrowed = rated.map((ratedQuery) => ({
    ...ratedQuery,
    results: ratedQuery.results.map((result, index) => ({ ...result, ...pickTexts(texts[index % texts.length]) })),
  }));
  return evaluateCredibility(borrowed, { system, upstream: upstreamOrder, candidates: 20 }).mean;
}

function pickTexts(result: { title: string; snippet: string } | undefined) {
  return { title: result?.title ?? "", snippet: result?.snippet ?? "" };
}

function formatRelevance(
  name: string,
  system: System,
  { queries, category }: { queries: readonly RelevanceQuery[]; category: string | null },
): string {
  const { mrr, success3, changedOrder } = evaluateRelevance(queries, { system, upstream: upstreamOrder, category });
  const cells = [mrr, success3].flatMap(({ mean, change }) => [mean.toFixed(3), formatInterval(change)]);
  return `| ${[name, ...cells, percent(changedOrder, 0)].join(" | ")} |`;
}
