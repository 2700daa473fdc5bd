import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A query with the upstream's results, best first, and the URLs of the pages that answer it. */
export interface RelevanceQuery {
  query: string;
  relevant: readonly string[];
  results: readonly { url: string; title: string; snippet: string }[];
}

export interface RelevanceSets {
  knownItem: RelevanceQuery[];
  handWritten: RelevanceQuery[];
  /** The half of the hand-written queries that was not used to choose the ranking. */
  heldBack: RelevanceQuery[];
}

const ownFolder = join(import.meta.dirname, "relevance");

/** eval/relevance/README.md describes the files. */
export function readRelevance(folder = ownFolder): RelevanceSets {
  const pages = readLines<[url: string, title: string]>(join(folder, "pages.jsonl"));
  const recorded = readLines<{ query: string; results: [page: number, snippet: string][] }>(
    join(folder, "results.jsonl"),
  );
  const resultsOf = new Map(recorded.map(({ query, results }) => [query, results]));

  function withResults<Query extends Pick<RelevanceQuery, "query" | "relevant">>(query: Query): Query & RelevanceQuery {
    const results = resultsOf.get(query.query);
    if (results === undefined) throw new Error(`${folder} has no results of the query: ${query.query}`);
    return { ...query, results: results.map(([page, snippet]) => toResult(pages[page], snippet)) };
  }

  const knownItem = readLines<RelevanceQuery>(join(folder, "known-item.jsonl")).map(withResults);
  const byHand = JSON.parse(readFileSync(join(folder, "hand-written.json"), "utf8")) as HandWrittenQuery[];
  const all = byHand.map(withResults);
  return {
    knownItem,
    handWritten: all.filter(({ isHeldBack }) => !isHeldBack),
    heldBack: all.filter(({ isHeldBack }) => isHeldBack),
  };
}

interface HandWrittenQuery {
  query: string;
  relevant: string[];
  isHeldBack: boolean;
}

function toResult(page: readonly [url: string, title: string] | undefined, snippet: string) {
  if (page === undefined) throw new Error("a result refers to a page that pages.jsonl does not have");
  return { url: page[0], title: page[1], snippet };
}

function readLines<Value>(path: string): Value[] {
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Value);
}
