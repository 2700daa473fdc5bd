import { NoAnswer } from "../http/no-answer.ts";
import type { KeyMode } from "../keys/keys.ts";
import { isProblemCode, Problem, problemRow } from "../problems.ts";
import type { AskOptions, AskUpstream, Hit, UpstreamAnswer } from "../providers/provider.ts";
import { forwardFailure } from "./forward-failure.ts";
import type { SearchInput } from "./parse-search.ts";
import type { Router } from "./routing.ts";

export type FindHits = (mode: KeyMode, input: SearchInput, options: AskOptions) => Promise<Found>;

export interface Found {
  hits: Hit[];
  /** Who answered: for the operator's books, never for the caller. */
  provider: string;
  /** How many upstreams were asked. */
  asked: number;
}

export interface Upstreams {
  live: Router["ask"];
  test: AskUpstream;
  /** The word after "test:" in a query that asks for one of our own failures. */
  askedProblem: (query: string) => string | undefined;
}

/** Asks the upstreams that serve this kind of key, and turns their failure into what the caller is told. */
export function createFindHits(upstreams: Upstreams): FindHits {
  return async function findHits(mode, input, options) {
    if (mode === "test") {
      const wish = upstreams.askedProblem(input.query);
      if (wish !== undefined) throw exampleProblem(wish);
      return hitsOrProblem(await upstreams.test(input, options), 1);
    }
    const { answer, asked } = await upstreams.live(input, options);
    if (!answer) throw new Problem("upstream_not_configured");
    return hitsOrProblem(answer, asked);
  };
}

function hitsOrProblem(answer: UpstreamAnswer, asked: number): Found {
  if (answer.ok) return { hits: answer.hits, provider: answer.provider, asked };
  if (answer.reason === "aborted") throw new NoAnswer("the caller left before the upstream answered");
  const { code, upstreamStatus, ...rest } = forwardFailure(answer);
  throw new Problem(code, {
    ...rest,
    ...(code === "upstream_error" && { detail: explain(rest.retryAfterSeconds) }),
    members: upstreamStatus === undefined ? {} : { upstream_status: upstreamStatus },
    headers: { "proxy-status": proxyStatus(code, upstreamStatus), "search-upstreams": String(asked) },
    cause: new Error(`${answer.provider}: ${answer.reason} after ${Math.round(answer.tookMs)} ms`),
  });
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
