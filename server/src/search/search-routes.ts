import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { consoleProblems } from "../console-problems.ts";
import { problemOf } from "../http/http-server.ts";
import { readBody } from "../http/read-body.ts";
import type { Route } from "../http/route.ts";
import type { KeyMode } from "../keys/keys.ts";
import { formatUsd } from "../lib/money.ts";
import { type ProblemCode, problemCodes } from "../problems.ts";
import type { SearchTrace } from "../telemetry/tracing.ts";
import { searchRequestSchema } from "./parse-search.ts";
import { type SearchAnswer, type SearchParts, type SearchRequest, search } from "./search.ts";
import { startSteps } from "./steps.ts";

const resultSchema = Type.Object({
  title: Type.String({ description: "Title of the hit, plain text, at most 300 characters." }),
  url: Type.String({ description: "Address of the hit; http or https.", format: "uri" }),
  snippet: Type.String({
    description: "Excerpt of the hit, plain text, at most 1,000 characters. Untrusted: it comes from the web.",
  }),
  source: Type.String({ description: "Host of the address without a leading www." }),
});

const searchAnswerSchema = Type.Object(
  {
    query: Type.String({ description: "The query as it was run." }),
    n: Type.Integer({ minimum: 0, maximum: 20, description: "How many results came back." }),
    results: Type.Array(resultSchema, { maxItems: 20 }),
  },
  { title: "SearchAnswer" },
);

/** Everything in the table but what belongs to other addresses. */
const elsewhere: ProblemCode[] = [
  "not_found",
  "method_not_allowed",
  "key_limit_reached",
  "key_not_active",
  "payments_not_configured",
  "payment_processor_unavailable",
];
const searchProblems = problemCodes.filter(
  (code: ProblemCode) => !elsewhere.includes(code) && !Object.hasOwn(consoleProblems, code),
);

export function searchRoutes(parts: SearchParts): Route[] {
  return [
    {
      method: "POST",
      path: "/v1/search",
      scope: "search",
      summary: "Search the web",
      description:
        "Runs one search and charges 0.01 USD if, and only if, it answers 200. A failed search is never shown as an empty one.",
      requestHeaders: {
        "Idempotency-Key":
          "1 to 255 printable ASCII characters. A retry with the same key and body never pays twice, for 24 hours.",
        Prefer: "`wait=2` (RFC 7240): give up after that many whole seconds, 1 to 9, with a 504 and no charge.",
        "Rank-Explain": "`1`: the answer's header of the same name says why each result stands where it does.",
        "Search-Run": "`<id>; max=0.50; ttl=3600`: a budget shared by every search that names the same id.",
      },
      requestBody: searchRequestSchema,
      answer: searchAnswerSchema,
      problems: searchProblems,
      handle: (request, reply) => answerSearch(parts, request, reply),
    },
  ];
}

// What is known of a request besides its answer.
const modes = new WeakMap<FastifyRequest, KeyMode>();

/** The mode of the key that a search came with, if it got as far as being looked up. */
export function modeOf(request: FastifyRequest): KeyMode | undefined {
  return modes.get(request);
}

/** `own` stands in for what the request brought, where the caller's words came another way. */
export async function answerSearch(
  parts: SearchParts,
  request: FastifyRequest,
  reply: FastifyReply,
  own: Partial<Pick<SearchRequest, "headers" | "readBody">> = {},
): Promise<Buffer> {
  const trace = startTrace(parts, request);
  const steps = startSteps(trace);
  const left = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) left.abort();
    const status = reply.raw.writableFinished ? reply.statusCode : undefined;
    const outcome = problemOf(request)?.code ?? (status === undefined ? "no_answer" : "ok");
    trace?.end({ outcome, mode: modeOf(request), status });
  });
  try {
    const answer = await search(
      {
        searchId: request.id,
        rawHeaders: request.raw.rawHeaders,
        headers: request.headers as Record<string, string | undefined>,
        ip: request.ip,
        steps,
        readBody: () => readBody(request.raw),
        signal: left.signal,
        noteCaller: ({ mode }) => void modes.set(request, mode),
        tell: (headers) => void reply.headers(headers),
        ...own,
      },
      parts,
    );
    parts.noteCharge(answer);
    if (left.signal.aborted) request.log.info({ charge: formatUsd(answer.charge) }, "paid, and the caller has gone");
    tellAnswer(reply, answer);
    return answer.body;
  } finally {
    reply.header("server-timing", steps.header());
  }
}

function startTrace(parts: SearchParts, request: FastifyRequest): SearchTrace | undefined {
  const { traceparent } = request.raw.headers;
  const trace = parts.startTrace?.(request.id, typeof traceparent === "string" ? traceparent : undefined);
  if (trace?.traceId !== undefined) request.log = request.log.child({ trace_id: trace.traceId });
  return trace;
}

function tellAnswer(reply: FastifyReply, { caller, charge, balance, isReplayed }: SearchAnswer): void {
  reply.header("content-type", "application/json; charset=utf-8");
  reply.header("wallet-charge", `${formatUsd(charge)};currency=usd`);
  if (caller.scopes.includes("wallet:read")) reply.header("wallet-balance", `${formatUsd(balance)};currency=usd`);
  if (isReplayed) reply.header("idempotent-replayed", "true");
}
