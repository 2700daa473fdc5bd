import { NoResponse } from "../http/no-response.ts";
import type { KeyMode } from "../keys/keys.ts";
import { exampleProblem, isProblemCode, Problem } from "../problems/problems.ts";
import type { Hit, QueryUpstream, UpstreamAnswer } from "../providers/provider.ts";
import { forwardFailure } from "./forward-failure.ts";
import type { SearchInput } from "./parse-search.ts";
import type { RouteOptions, Router } from "./routing.ts";

export type FindHits = (mode: KeyMode, input: SearchInput, options: RouteOptions) => Promise<Found>;

export interface Found {
  hits: Hit[];
  /** For the operator's accounting; never sent to the caller. */
  provider: string;
  /** The number of upstreams queried. */
  queried: number;
}

export interface Upstreams {
  live: Router["query"];
  test: QueryUpstream;
  /** The code after "test:" in a query that requests one of our own problems. */
  requestedProblem: (query: string) => string | undefined;
}

/** Queries the upstreams that serve this kind of key, and throws the problem to return if they fail. */
export function createFindHits(upstreams: Upstreams): FindHits {
  return async function findHits(mode, input, options) {
    if (mode === "test") {
      const code = upstreams.requestedProblem(input.query);
      if (code !== undefined) throw isProblemCode(code) ? exampleProblem(code) : unknownTestQuery();
      return hitsOrProblem(await upstreams.test(input, options), 1);
    }
    const { answer, queried } = await upstreams.live(input, options);
    if (!answer) throw new Problem("upstream_not_configured");
    return hitsOrProblem(answer, queried);
  };
}

function hitsOrProblem(answer: UpstreamAnswer, queried: number): Found {
  if (answer.ok) return { hits: answer.hits, provider: answer.provider, queried };
  if (answer.reason === "aborted") throw new NoResponse("the caller disconnected before the upstream answered");
  const { code, upstreamStatus, ...rest } = forwardFailure(answer);
  throw new Problem(code, {
    ...rest,
    ...(code === "upstream_error" && { detail: describeError(rest.retryAfterSeconds) }),
    members: upstreamStatus === undefined ? {} : { upstream_status: upstreamStatus },
    headers: { "proxy-status": proxyStatus(code, upstreamStatus), "search-upstreams": String(queried) },
    cause: new Error(`${answer.provider}: ${answer.reason} after ${Math.round(answer.tookMs)} ms`),
  });
}

function describeError(retryAfterSeconds: number | undefined): string {
  const advice = retryAfterSeconds === undefined ? "A retry will fail too" : `Retry in ${retryAfterSeconds} s`;
  return `The search provider returned an error. You were not charged. ${advice}; do not answer from memory.`;
}

const proxyErrors = {
  upstream_error: undefined,
  upstream_invalid_response: "http_protocol_error",
  upstream_unreachable: "destination_unavailable",
  upstream_timeout: "http_response_timeout",
} as const;

/** RFC 9209, without the provider's name. */
function proxyStatus(code: keyof typeof proxyErrors, upstreamStatus: number | undefined): string {
  const error = proxyErrors[code];
  return ["search", error && `error=${error}`, upstreamStatus && `received-status=${upstreamStatus}`]
    .filter(Boolean)
    .join("; ");
}

function unknownTestQuery(): Problem {
  return new Problem("invalid_request", {
    detail: "This is not a known test query. You were not charged. The test mode page of the docs lists them all.",
    members: { errors: [{ pointer: "#/query", code: "unknown_test_query", detail: "is not a test query" }] },
  });
}
