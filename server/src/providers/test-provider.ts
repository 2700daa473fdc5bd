// The upstream of `pb_test_` keys. It makes no network calls, and the same search always returns the same results, so that
// callers can test against it. Queries that start with `test:` simulate failures and unusual results.

import { setTimeout as wait } from "node:timers/promises";
import type { FailureReason, QueryOptions, UpstreamAnswer, UpstreamFailure, UpstreamSearch } from "./provider.ts";
import { reasonForStatus } from "./reason-for-status.ts";
import { generateHits, type TestResults, testTexts } from "./test-results.ts";

const name = "test";

export async function queryTestUpstream(search: UpstreamSearch, options: QueryOptions): Promise<UpstreamAnswer> {
  if (options.signal.aborted) return failure("aborted", 0);

  const testQuery = parseTestQuery(search.query);
  switch (testQuery.kind) {
    case "hits":
      return { ok: true, provider: name, hits: generateHits(search, testQuery.results), tookMs: 0 };
    case "slow":
      return answerSlowly(search, testQuery.ms, options);
    case "upstream":
      return { ...failure(testQuery.reason, 0), upstreamStatus: testQuery.upstreamStatus };
    // The search flow answers these itself. Returning results here would hide a bug in it.
    case "problem":
      return failure("invalid_response", 0);
  }
}

export type TestQuery =
  | { kind: "hits"; results?: TestResults }
  | { kind: "slow"; ms: number }
  | { kind: "upstream"; reason: FailureReason; upstreamStatus?: number }
  /** A problem code for the search flow to answer with, or an unknown word. */
  | { kind: "problem"; code: string };

/** Only a single word that starts with `test:` is a test query; `test: a title` is an ordinary search. */
export function parseTestQuery(query: string): TestQuery {
  const word = /^test:(\S+)$/.exec(query)?.[1];
  if (word === undefined) return { kind: "hits" };
  if (word === "empty") return { kind: "hits", results: { count: 0 } };
  const text = testTexts.find((each) => each === word);
  if (text !== undefined) return { kind: "hits", results: { text } };
  const count = /^results=(\d{1,2})$/.exec(word)?.[1];
  if (count !== undefined && Number(count) <= maxResults) return { kind: "hits", results: { count: Number(count) } };

  const ms = /^slow=(\d{1,5})$/.exec(word)?.[1];
  if (ms !== undefined && Number(ms) <= maxDelayMs) return { kind: "slow", ms: Number(ms) };

  const status = /^upstream_([45]\d\d)$/.exec(word)?.[1];
  if (status !== undefined) {
    return { kind: "upstream", reason: reasonForStatus(Number(status)), upstreamStatus: Number(status) };
  }

  const reason = failuresWithoutStatus.get(word);
  return reason === undefined ? { kind: "problem", code: word } : { kind: "upstream", reason };
}

/** Suggested for an unknown one. */
export const testQueryWords = ["empty", "results=5", "slow=4000", ...testTexts];

const maxResults = 20;
const maxDelayMs = 10_000;

const failuresWithoutStatus = new Map<string, FailureReason>([
  ["upstream_timeout", "timeout"],
  ["upstream_unreachable", "unreachable"],
  ["upstream_invalid_response", "invalid_response"],
]);

async function answerSlowly(
  search: UpstreamSearch,
  ms: number,
  { signal, deadlineMs }: QueryOptions,
): Promise<UpstreamAnswer> {
  const tookMs = Math.min(ms, deadlineMs);
  const hasWaited = await wait(tookMs, true, { signal }).catch(() => false);
  if (!hasWaited) return failure("aborted", tookMs);
  return ms > deadlineMs
    ? { ...failure("timeout", tookMs), isDeadline: true }
    : { ok: true, provider: name, hits: generateHits(search), tookMs };
}

function failure(reason: FailureReason, tookMs: number): UpstreamFailure {
  return { ok: false, provider: name, reason, tookMs };
}
