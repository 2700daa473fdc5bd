import { canonicalPage } from "../server/src/ranking/canonical-url.ts";
import type { Lens } from "../server/src/ranking/lens.ts";
import { rank } from "../server/src/ranking/rank.ts";
import { tierValues } from "../server/src/ranking/tier.ts";
import { seededRandom } from "./bootstrap.ts";
import { buildLensesOrThrow, type LensFile } from "./read-lenses.ts";

export interface EvalQuery {
  query: string;
  category: string | null;
}

/** Picks the ten best candidates, in order. */
export type System = <Candidate extends { url: string; rating?: number }>(
  query: EvalQuery,
  candidates: readonly Candidate[],
) => Candidate[];

const n = 10;

export const upstreamOrder: System = (_, results) => rank({ results, n });

export interface NamedSystem {
  name: string;
  system: System;
}

/** The product's ranking, baselines and an upper bound. */
export function createSystems(files: readonly LensFile[]): NamedSystem[] {
  const lenses = buildLensesOrThrow(files);
  const suffixes = buildLensesOrThrow(files.filter(({ file }) => file.endsWith(".lens")).map(onlySuffixRules));
  const withLens =
    (choose: (query: EvalQuery, results: readonly { url: string }[]) => Lens): System =>
    (query, results) =>
      rank({ results, n, query: query.query, lens: choose(query, results) });
  return [
    { name: "upstream order", system: upstreamOrder },
    {
      name: "shuffled authority",
      system: withLens((query, results) => shuffleVerdicts(lensFor(lenses, query), results)),
    },
    { name: "suffix rules only", system: withLens((query) => lensFor(suffixes, query)) },
    { name: "base lens", system: withLens(({ query }) => lensFor(lenses, { query, category: null })) },
    { name: "category lens", system: withLens((query) => lensFor(lenses, query)) },
    { name: "authority alone", system: (query, results) => byTier(lensFor(lenses, query), results) },
    {
      name: "oracle",
      system: (_, results) => results.toSorted((a, b) => (b.rating ?? 0) - (a.rating ?? 0)).slice(0, n),
    },
  ];
}

function lensFor(lenses: ReadonlyMap<string, Lens>, { category }: EvalQuery): Lens {
  const lens = lenses.get(category ?? "base") ?? lenses.get("base");
  if (lens === undefined) throw new Error("base lens not found");
  return lens;
}

/** Baseline without rules for specific sites: only registry suffixes for governments and universities. */
function onlySuffixRules({ file, text }: LensFile): LensFile {
  const isSuffixRule = (line: string): boolean => line.startsWith("!") || /^\$.*,suffix=/.test(line);
  return { file, text: text.split("\n").filter(isSuffixRule).join("\n") };
}

/** Baseline that assigns the same verdicts to random pages, to measure the effect of reordering alone. */
function shuffleVerdicts(lens: Lens, results: readonly { url: string }[]): Lens {
  const pages = results.map(({ url }) => canonicalPage(url));
  const random = seededRandom(results.reduce((sum, { url }) => sum + url.length, results.length));
  const shuffled = pages
    .map((page) => ({ verdict: lens.classify(page), at: random() }))
    .toSorted((a, b) => a.at - b.at);
  const verdicts = new Map(pages.map(({ host, path }, index) => [host + path, shuffled[index]?.verdict]));
  return { ...lens, classify: ({ host, path }) => verdicts.get(host + path) ?? { tier: "N", why: "unlisted" } };
}

/** Ignores the upstream order and the guards, to show the possible gain and its cost in official sites. */
function byTier<Candidate extends { url: string }>(lens: Lens, results: readonly Candidate[]): Candidate[] {
  const tierValue = ({ url }: Candidate): number => tierValues[lens.classify(canonicalPage(url)).tier];
  const pages = rank({ results, n: results.length });
  return pages.toSorted((a, b) => tierValue(b) - tierValue(a)).slice(0, n);
}
