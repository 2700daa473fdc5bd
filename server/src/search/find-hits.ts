import { didYouMean, fieldFault, invalidInput } from "../http/input/faults.ts";
import { NoResponse } from "../http/no-response.ts";
import type { KeyMode } from "../keys/keys.ts";
import { suggest } from "../lib/suggest.ts";
import { exampleProblem, isProblemCode, Problem, problemCodes } from "../problems/problems.ts";
import type { Hit, QueryUpstream, UpstreamFailure, UpstreamSearch } from "../providers/provider.ts";
import { forwardFailure } from "./forward-failure.ts";
import type { Routed, RouteOptions, Router } from "./routing.ts";

export type FindHits = (mode: KeyMode, input: UpstreamSearch, options: FindOptions) => Promise<Found>;

export interface FindOptions extends RouteOptions {
  /** The seconds in `Prefer: wait`, if the caller set the deadline. */
  waitSeconds?: number | undefined;
}

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
  /** The other words after "test:", to suggest for an unknown one. */
  testQueryWords: readonly string[];
}

/** Queries the upstreams that serve this kind of key, and throws the problem to return if they fail. */
export function createFindHits(upstreams: Upstreams): FindHits {
  return async function findHits(mode, input, options) {
    if (mode === "test") {
      const code = upstreams.requestedProblem(input.query);
      if (code !== undefined && isProblemCode(code)) throw exampleProblem(code, new Date());
      if (code !== undefined) throw unknownTestQuery(code, upstreams.testQueryWords);
      return hitsOrProblem({ answer: await upstreams.test(input, options), queried: 1 }, options.waitSeconds);
    }
    return hitsOrProblem(await upstreams.live(input, options), options.waitSeconds);
  };
}

function hitsOrProblem({ answer, queried }: Routed, waitSeconds: number | undefined): Found {
  if (!answer) throw new Problem("upstream_not_configured");
  if (answer.ok) return { hits: answer.hits, provider: answer.provider, queried };
  if (answer.reason === "aborted") throw new NoResponse("the caller disconnected before the upstream answered");
  const { code, upstreamStatus, ...rest } = forwardFailure(answer);
  const callersSeconds = answer.isDeadline ? waitSeconds : undefined;
  throw new Problem(code, {
    ...rest,
    ...(code === "upstream_error" && { detail: describeFailure("returned an error", rest.retryAfterSeconds) }),
    ...(answer.blockedBy && { detail: describeFailure(blocks[answer.blockedBy], rest.retryAfterSeconds) }),
    // The caller has stopped waiting. Each retry with the same deadline would cause another unpaid upstream call.
    ...(callersSeconds !== undefined && { detail: describeCallersDeadline(callersSeconds), retryable: false }),
    members: {
      ...(upstreamStatus !== undefined && { upstream_status: upstreamStatus }),
      ...(code === "upstream_timeout" && { deadline_set_by: callersSeconds === undefined ? "server" : "caller" }),
    },
    headers: { "proxy-status": proxyStatus(code, upstreamStatus), "search-upstreams": String(queried) },
    cause: new Error(describeCause(answer)),
  });
}

const blocks = {
  circuit: "is failing and was not called",
  cap: "was not called, because this service has reached its own spending limit for it",
};

function describeFailure(failure: string, retryAfterSeconds: number | undefined): string {
  const advice = retryAfterSeconds === undefined ? "Do not retry" : `Retry in ${retryAfterSeconds} s`;
  return `The search provider ${failure}. You were not charged. ${advice}, and do not answer from memory.`;
}

function describeCallersDeadline(seconds: number): string {
  const deadline = `${seconds} second${seconds === 1 ? "" : "s"}`;
  return `The search did not finish within ${deadline}, the deadline you set with \`Prefer: wait=${seconds}\`. You were not charged. Retry with a longer wait or without \`Prefer\`, and do not answer from memory.`;
}

function describeCause({ provider, reason, blockedBy, tookMs }: UpstreamFailure): string {
  if (blockedBy === "cap") return `${provider}: cost cap reached, not called`;
  return `${provider}: ${reason}${blockedBy ? ", circuit open, not called" : ` after ${Math.round(tookMs)} ms`}`;
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

function unknownTestQuery(word: string, words: readonly string[]): Problem {
  const meant = suggest(word, [...words, ...problemCodes]);
  const hint = meant === undefined ? "; the test mode page of the docs lists them" : ` ${didYouMean(`test:${meant}`)}`;
  return invalidInput([fieldFault("query", `is not a known test query${hint}`, "unknown_test_query")]);
}
