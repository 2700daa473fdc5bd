import { existsSync, readFileSync } from "node:fs";

/** Human ratings from 1 (not credible) to 5 (very credible). */
export interface RatedQuery {
  query: string;
  topic: string;
  category: string | null;
  results: { rank: number; url: string; rating: number }[];
}

/** A query for a specific site, which is the upstream's first result. */
export interface NavigationalQuery {
  query: string;
  results: { rank: number; url: string }[];
}

/** Reliability of domains: a score from 0 to 1, and a separate set with a yes or no. */
export interface DomainLabels {
  rated: { domain: string; score: number }[];
  labelled: { domain: string; isReliable: boolean }[];
}

export class InvalidDataError extends Error {}

/** Returns undefined if the file does not exist: the development data is not part of the repository. */
export function readRated(path: string): RatedQuery[] | undefined {
  return readQueries(path, (query) => {
    const { topic, category } = query;
    const isValid =
      typeof topic === "string" &&
      (category === null || typeof category === "string") &&
      resultsOf(query).every(({ rating }) => typeof rating === "number" && rating >= 1 && rating <= 5);
    return isValid ? (query as unknown as RatedQuery) : undefined;
  });
}

export function readNavigational(path: string): NavigationalQuery[] | undefined {
  return readQueries(path, (query) => query as unknown as NavigationalQuery);
}

export function readDomains(path: string): DomainLabels {
  if (!existsSync(path)) throw new InvalidDataError(`File not found: ${path}`);
  const { rated, labelled } = JSON.parse(readFileSync(path, "utf8")) as Partial<DomainLabels>;
  const isValid =
    Array.isArray(rated) &&
    Array.isArray(labelled) &&
    rated.every(({ domain, score }) => typeof domain === "string" && score >= 0 && score <= 1) &&
    labelled.every(({ domain, isReliable }) => typeof domain === "string" && typeof isReliable === "boolean");
  if (!isValid) throw new InvalidDataError(`${path}: not an object with rated and labelled domains`);
  return { rated, labelled };
}

type Json = Record<string, unknown>;

function readQueries<Query>(path: string, read: (query: Json) => Query | undefined): Query[] | undefined {
  if (!existsSync(path)) return undefined;
  const list: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (!Array.isArray(list) || list.length === 0) throw new InvalidDataError(`${path}: not a list of queries`);
  return list.map((item: unknown, index) => {
    const query = item as Json;
    const isValid =
      typeof query["query"] === "string" &&
      resultsOf(query).length > 0 &&
      resultsOf(query).every(({ rank, url }) => typeof rank === "number" && URL.canParse(String(url)));
    const parsed = isValid ? read({ ...query, results: resultsOf(query).toSorted(byRank) }) : undefined;
    if (parsed === undefined) throw new InvalidDataError(`${path}: query ${index + 1} is invalid`);
    return parsed;
  });
}

function resultsOf({ results }: Json): Json[] {
  return Array.isArray(results) ? (results as Json[]) : [];
}

function byRank(a: Json, b: Json): number {
  return Number(a["rank"]) - Number(b["rank"]);
}
