import { canonicalPage } from "../server/src/ranking/canonical-url.ts";
import type { Lens } from "../server/src/ranking/lens.ts";
import { rank } from "../server/src/ranking/rank.ts";
import { tierValues } from "../server/src/ranking/tier.ts";
import { seededNumbers } from "./bootstrap.ts";
import { type LensFile, mustBuild } from "./read-lenses.ts";

export interface Question {
  query: string;
  category: string | null;
}

/** Picks ten of the candidates, the best first. */
export type System = <Candidate extends { url: string; rating?: number }>(
  question: Question,
  candidates: readonly Candidate[],
) => Candidate[];

const n = 10;

export const upstreamOrder: System = (_, results) => rank({ results, n });

/** The product, and what it has to be better than, or cannot be better than. */
export function systemsOver(files: readonly LensFile[]): { name: string; system: System }[] {
  const lenses = mustBuild(files);
  const suffixes = mustBuild(files.map(onlySuffixRules));
  const withLens =
    (choose: (question: Question, results: readonly { url: string }[]) => Lens): System =>
    (question, results) =>
      rank({ results, n, query: question.query, lens: choose(question, results) });
  return [
    { name: "upstream order", system: upstreamOrder },
    {
      name: "shuffled authority",
      system: withLens((question, results) => shuffled(lensFor(lenses, question), results)),
    },
    { name: "suffix rules only", system: withLens((question) => lensFor(suffixes, question)) },
    { name: "base lens", system: withLens(({ query }) => lensFor(lenses, { query, category: null })) },
    { name: "category lens", system: withLens((question) => lensFor(lenses, question)) },
    { name: "authority alone", system: (question, results) => byTier(lensFor(lenses, question), results) },
    {
      name: "oracle",
      system: (_, results) => results.toSorted((a, b) => (b.rating ?? 0) - (a.rating ?? 0)).slice(0, n),
    },
  ];
}

function lensFor(lenses: ReadonlyMap<string, Lens>, { category }: Question): Lens {
  const lens = lenses.get(category ?? "base") ?? lenses.get("base");
  if (lens === undefined) throw new Error("there is no base lens");
  return lens;
}

/** What is known without knowing any site: the suffixes that registries keep for governments and universities. */
function onlySuffixRules({ file, text }: LensFile): LensFile {
  const isKept = (line: string): boolean => line.startsWith("!") || /^\$.*,suffix=/.test(line);
  return { file, text: text.split("\n").filter(isKept).join("\n") };
}

/** The same verdicts, dealt out to the wrong pages: what mere stirring does. */
function shuffled(lens: Lens, results: readonly { url: string }[]): Lens {
  const pages = results.map(({ url }) => canonicalPage(url));
  const next = seededNumbers(results.reduce((sum, { url }) => sum + url.length, results.length));
  const dealt = pages.map((page) => ({ verdict: lens.judge(page), at: next() })).toSorted((a, b) => a.at - b.at);
  const verdicts = new Map(pages.map(({ host, path }, index) => [host + path, dealt[index]?.verdict]));
  return { ...lens, judge: ({ host, path }) => verdicts.get(host + path) ?? { tier: "N", why: "unlisted" } };
}

/** No share for the upstream's order and no guards: what more could be gained, and the official sites it would cost. */
function byTier<Candidate extends { url: string }>(lens: Lens, results: readonly Candidate[]): Candidate[] {
  const worth = ({ url }: Candidate): number => tierValues[lens.judge(canonicalPage(url)).tier];
  const pages = rank({ results, n: results.length });
  return pages.toSorted((a, b) => worth(b) - worth(a)).slice(0, n);
}
