import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { problemOf } from "../http/http-server.ts";
import { readBody } from "../http/read-body.ts";
import type { Route } from "../http/route.ts";
import type { KeyMode } from "../keys/keys.ts";
import { formatUsd } from "../lib/money.ts";
import { type ProblemCode, personProblems, problemCodes } from "../problems/problems.ts";
import type { SearchTrace } from "../telemetry/tracing.ts";
import { searchRequestSchema } from "./parse-search.ts";
import { type SearchAnswer, type SearchDependencies, type SearchRequest, search } from "./search.ts";
import { type Steps, startSteps } from "./steps.ts";

const resultSchema = Type.Object(
  {
    title: Type.String({ description: "Title of the page. Plain text, at most 300 characters." }),
    url: Type.String({
      description: "URL of the page, http or https, at most 2,048 characters. Results with a longer URL are dropped.",
      format: "uri",
      maxLength: 2_048,
    }),
    snippet: Type.String({
      description: "Excerpt of the page. Plain text, at most 1,000 characters. Untrusted: it comes from the web.",
    }),
    source: Type.String({ description: "Hostname of the URL, without a leading `www.`." }),
  },
  { title: "SearchResult" },
);

const searchAnswerSchema = Type.Object(
  {
    query: Type.String({ description: "The query that was run." }),
    n: Type.Integer({ minimum: 0, maximum: 20, description: "Number of results returned." }),
    results: Type.Array(resultSchema, { maxItems: 20 }),
  },
  { title: "SearchResponse" },
);

/** Problems that a search never returns. Those of people are excluded as well. */
const otherProblems: ProblemCode[] = [
  "not_found",
  "method_not_allowed",
  "key_limit_reached",
  "key_not_active",
  "payments_not_configured",
  "payment_processor_unavailable",
  "receipts_not_configured",
];
const searchProblems = problemCodes.filter(
  (code: ProblemCode) => !otherProblems.includes(code) && !Object.hasOwn(personProblems, code),
);

export function searchRoutes(dependencies: SearchDependencies): Route[] {
  return [
    {
      method: "POST",
      path: "/v1/search",
      scope: "search",
      operationId: "createSearch",
      tag: "Search",
      summary: "Search the web",
      description:
        "Runs one search. Costs 0.01 USD if the response is 200, and nothing otherwise. A failed search is never returned as an empty result.",
      requestHeaders: {
        "Idempotency-Key":
          "1 to 255 printable ASCII characters. For 24 hours, a retry with the same key and body is not charged again. Use a random key, such as a UUID.",
        Prefer:
          "`wait=2` (RFC 7240): time out after this many seconds, 1 to 9, with a 504 and no charge. Other preferences and values are ignored, as the RFC requires; `Preference-Applied` in the response confirms yours.",
        "Rank-Explain":
          "`1` or `true` to get the reason for each result's rank in the response header of the same name. Default: `0`.",
        "Rank-Registries":
          "`0` or `false` to rank by the hand-written rules only, without published lists of domains. Default: `1`.",
        "Search-For":
          "1 to 64 letters, digits or any of `_.:@/+=|-`: your own id of the end user that you search for. Groups usage, and is required if the key has an `end_user_limit`. Stored as a hash, unless you choose otherwise. Do not send names or email addresses.",
        "Search-Run":
          "`<id>; max=0.50; ttl=3600`: a budget in USD, at least 0.01, shared by all searches with the same id.",
      },
      requestBody: searchRequestSchema,
      answer: searchAnswerSchema,
      answerHeaders: [
        "Wallet-Balance",
        "Search-Run",
        "Key-Budget",
        "End-User-Budget",
        "Server-Timing",
        "Search-Upstreams",
        "Rank-Lens",
        "Rank-Explain",
        "Preference-Applied",
        "Idempotent-Replayed",
      ],
      problems: searchProblems,
      handle: (request, reply) => handleSearch(dependencies, request, reply),
    },
  ];
}

const modes = new WeakMap<FastifyRequest, KeyMode>();
const stepsOfRequests = new WeakMap<FastifyRequest, Steps>();

/** The mode of the key that a search was sent with. Undefined if the key was not authenticated. */
export function modeOf(request: FastifyRequest): KeyMode | undefined {
  return modes.get(request);
}

/** The time that a search spent waiting for its body and for upstreams. */
export function externalMsOf(request: FastifyRequest): number {
  return stepsOfRequests.get(request)?.externalMs() ?? 0;
}

/** Replaces parts of the HTTP request, for a search from the console or through a compatibility endpoint. */
export interface SearchOverrides {
  headers: SearchRequest["headers"];
  /** Returns the body of a search, with or without the body of the request. */
  readBody(read: () => Promise<Buffer>): Promise<Buffer>;
}

export async function handleSearch(
  dependencies: SearchDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  overrides?: SearchOverrides,
): Promise<Buffer> {
  const trace = startTrace(dependencies, request);
  const steps = startSteps(trace);
  stepsOfRequests.set(request, steps);
  const read = (): Promise<Buffer> => steps.waitExternally(() => readBody(request.raw));
  const disconnected = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) disconnected.abort();
    const status = reply.raw.writableFinished ? reply.statusCode : undefined;
    const outcome = problemOf(request)?.code ?? (status === undefined ? "no_answer" : "ok");
    trace?.end({ outcome, mode: modeOf(request), status });
  });
  try {
    const answer = await search(
      {
        searchId: request.id,
        rawHeaders: request.raw.rawHeaders,
        headers: overrides?.headers ?? (request.headers as Record<string, string | undefined>),
        ip: request.ip,
        steps,
        readBody: overrides ? () => overrides.readBody(read) : read,
        signal: disconnected.signal,
        setCaller: ({ mode }) => void modes.set(request, mode),
        setHeaders: (headers) => void reply.headers(headers),
      },
      dependencies,
    );
    dependencies.recordCharge(answer);
    if (disconnected.signal.aborted)
      request.log.info({ charge: formatUsd(answer.charge) }, "search charged, caller disconnected");
    setResponseHeaders(reply, answer);
    return answer.body;
  } finally {
    reply.header("server-timing", steps.header());
  }
}

/** Undefined if tracing is off. The request's log lines carry the id of a sampled trace. */
export function startTrace(
  dependencies: Pick<SearchDependencies, "startTrace">,
  request: FastifyRequest,
): SearchTrace | undefined {
  const { traceparent } = request.raw.headers;
  const trace = dependencies.startTrace?.(request.id, typeof traceparent === "string" ? traceparent : undefined);
  if (trace?.traceId !== undefined) request.log = request.log.child({ trace_id: trace.traceId });
  return trace;
}

function setResponseHeaders(reply: FastifyReply, { caller, charge, balance, isReplayed }: SearchAnswer): void {
  reply.header("content-type", "application/json; charset=utf-8");
  reply.header("wallet-charge", `${formatUsd(charge)};currency=usd`);
  if (caller.scopes.includes("wallet:read")) reply.header("wallet-balance", `${formatUsd(balance)};currency=usd`);
  if (isReplayed) reply.header("idempotent-replayed", "true");
}
