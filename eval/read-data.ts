import { existsSync, readFileSync } from "node:fs";

/** People rated each result from 1 (not credible) to 5 (very credible). */
export interface RatedQuery {
  query: string;
  topic: string;
  category: string | null;
  results: { rank: number; url: string; rating: number }[];
}

/** Someone looked for a certain site, and the upstream's first result is it. */
export interface NavigationalQuery {
  query: string;
  results: { rank: number; url: string }[];
}

export class UnusableData extends Error {}

/** Undefined if there is no such file: the development data is not part of the repository. */
export function readRated(path: string): RatedQuery[] | undefined {
  return readQueries(path, (query) => {
    const { topic, category } = query;
    const isWhole =
      typeof topic === "string" &&
      (category === null || typeof category === "string") &&
      resultsOf(query).every(({ rating }) => typeof rating === "number" && rating >= 1 && rating <= 5);
    return isWhole ? (query as unknown as RatedQuery) : undefined;
  });
}

export function readNavigational(path: string): NavigationalQuery[] | undefined {
  return readQueries(path, (query) => query as unknown as NavigationalQuery);
}

type Json = Record<string, unknown>;

function readQueries<Query>(path: string, read: (query: Json) => Query | undefined): Query[] | undefined {
  if (!existsSync(path)) return undefined;
  const list: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (!Array.isArray(list) || list.length === 0) throw new UnusableData(`${path}: is not a list of queries`);
  return list.map((item: unknown, index) => {
    const query = item as Json;
    const isOne =
      typeof query["query"] === "string" &&
      resultsOf(query).length > 0 &&
      resultsOf(query).every(({ rank, url }) => typeof rank === "number" && URL.canParse(String(url)));
    const whole = isOne ? read({ ...query, results: resultsOf(query).toSorted(byRank) }) : undefined;
    if (whole === undefined) throw new UnusableData(`${path}: query ${index + 1} lacks something`);
    return whole;
  });
}

function resultsOf({ results }: Json): Json[] {
  return Array.isArray(results) ? (results as Json[]) : [];
}

function byRank(one: Json, other: Json): number {
  return Number(one["rank"]) - Number(other["rank"]);
}
