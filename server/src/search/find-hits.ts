import { NoAnswer } from "../http/no-answer.ts";
import type { KeyMode } from "../keys/keys.ts";
import { isProblemCode, Problem, problemRow } from "../problems.ts";
import type { AskUpstream, Hit } from "../providers/provider.ts";
import { forwardFailure } from "./forward-failure.ts";
import type { SearchInput } from "./parse-search.ts";

export type FindHits = (mode: KeyMode, input: SearchInput, signal: AbortSignal) => Promise<Hit[]>;

export interface Upstreams {
  /** None until the operator configures one. */
  live: AskUpstream | undefined;
  test: AskUpstream;
  /** The word after "test:" in a query that asks for one of our own failures. */
  askedProblem: (query: string) => string | undefined;
}

const deadlineMs = 10_000;

/** Asks the upstream that serves this kind of key, and turns its failure into what the caller is told. */
export function createFindHits(upstreams: Upstreams): FindHits {
  return async function findHits(mode, input, signal) {
    const isTest = mode === "test";
    const asked = isTest ? upstreams.askedProblem(input.query) : undefined;
    if (asked !== undefined) throw exampleProblem(asked);
    const ask = isTest ? upstreams.test : upstreams.live;
    if (!ask) throw new Problem("upstream_not_configured");
    const answer = await ask(input, { signal, deadlineMs });
    if (answer.ok) return answer.hits;
    if (answer.reason === "aborted") throw new NoAnswer("the caller left before the upstream answered");
    const { code, upstreamStatus, ...rest } = forwardFailure(answer);
    throw new Problem(code, {
      ...rest,
      ...(code === "upstream_error" && { detail: explain(rest.retryAfterSeconds) }),
      members: upstreamStatus === undefined ? {} : { upstream_status: upstreamStatus },
      headers: { "proxy-status": proxyStatus(code, upstreamStatus) },
      cause: new Error(`${answer.provider}: ${answer.reason} after ${Math.round(answer.tookMs)} ms`),
    });
  };
}

function explain(retryAfterSeconds: number | undefined): string {
  const advice =
    retryAfterSeconds === undefined ? "The same search will fail again" : `Retry in ${retryAfterSeconds} s`;
  return `The search failed upstream. Nothing was charged. ${advice}; do not answer from memory.`;
}

const proxyErrors = {
  upstream_error: undefined,
  upstream_invalid_response: "http_protocol_error",
  upstream_unreachable: "destination_unavailable",
  upstream_timeout: "http_response_timeout",
} as const;

/** RFC 9209. The provider's name stays ours. */
function proxyStatus(code: keyof typeof proxyErrors, upstreamStatus: number | undefined): string {
  const error = proxyErrors[code];
  return ["search", error && `error=${error}`, upstreamStatus && `received-status=${upstreamStatus}`]
    .filter(Boolean)
    .join("; ");
}

/** The failure a test query asked for, carrying the example values of its row. */
function exampleProblem(word: string): Problem {
  if (!isProblemCode(word)) {
    return new Problem("invalid_request", {
      detail: "This `test:` query asks for nothing we know. The page on test mode lists those that exist.",
      members: { errors: [{ pointer: "#/query", code: "unknown_test_query", detail: "is not a test query" }] },
    });
  }
  const { members = {}, occurrenceHeaders = {} } = problemRow(word);
  return new Problem(word, { members, headers: occurrenceHeaders });
}
