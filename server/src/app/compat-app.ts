import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { deriveHeaders, type RequestHeaders, readIgnore } from "../dialects/derive-headers.ts";
import type { Answer, Dialect } from "../dialects/dialect.ts";
import { dialects } from "../dialects/dialects.ts";
import { withApiKey } from "../dialects/read-key.ts";
import { toSearch } from "../dialects/to-search.ts";
import { readCredential } from "../http/input/credentials.ts";
import { invalidInput, parameterFault } from "../http/input/faults.ts";
import { parseJson } from "../http/input/read-json.ts";
import type { Route } from "../http/route.ts";
import type { Principal } from "../keys/keys.ts";
import { type MaxOnlyDomains, narrowPolicy } from "../lib/source-policy.ts";
import { Problem } from "../problems/problems.ts";
import type { SearchRunner } from "../search/run-search.ts";
import type { RequestInput, SearchDependencies } from "../search/search.ts";

/** The compatibility endpoints: the search of /v1/search behind the APIs of other vendors. They are not in openapi.json. */
export function compatRoutes(runner: SearchRunner, search: CompatDependencies): Route[] {
  return dialects.map((dialect) => ({
    method: dialect.method,
    isSearch: true,
    path: `/compat/${dialect.name}${dialect.path}`,
    scope: "search",
    operationId: `search_${dialect.name}`,
    tag: "Search",
    summary: `Search with a client of ${dialect.title}`,
    description: `See docs/compat/${dialect.name}.md.`,
    answer: Type.Unknown(),
    problems: [],
    onRejected: runner.recordRejected,
    async handle(request, reply) {
      const rawHeaders = withApiKey(dialect, request.raw.rawHeaders);
      const { body } = await runner.run({
        request,
        reply,
        transport: "compat",
        replace: { authenticate: (sent) => search.authenticate({ ...sent, rawHeaders }) },
        readInput: (readBody, caller) => {
          // The results of test keys are made up.
          const maxOnly = caller.mode === "test" ? undefined : search.maxOnlyDomains();
          return readInput(dialect, { request, reply, rawHeaders, caller, maxOnly }, readBody);
        },
      });
      reply.header("content-type", "application/json; charset=utf-8");
      const about = { requestId: request.id, seconds: Math.round(reply.elapsedTime) / 1_000 };
      return JSON.stringify(dialect.toResponse(JSON.parse(body.toString()) as Answer, about));
    },
  }));
}

type CompatDependencies = Pick<SearchDependencies, "authenticate" | "maxOnlyDomains">;

interface CompatCall {
  request: FastifyRequest;
  reply: FastifyReply;
  /** With the key as an Authorization header. */
  rawHeaders: readonly string[];
  caller: Pick<Principal, "compat" | "sources">;
  maxOnly: MaxOnlyDomains;
}

/** Translates the parameters of the vendor. */
async function readInput(
  dialect: Dialect,
  { request, reply, rawHeaders, caller: { compat, sources: own }, maxOnly }: CompatCall,
  readBody: () => Promise<Buffer>,
): Promise<RequestInput> {
  const headers = request.headers as RequestHeaders;
  const parameters = await readParameters(dialect, request, readBody);
  const key = readCredential(rawHeaders);
  const options = { ignore: readIgnore(headers, compat), key, maxOnly };
  const { search, sources, ignored, capped } = toSearch(dialect, parameters, options);
  if (ignored.length > 0) reply.header("pennyblack-ignored", ignored.join(", "));
  if (capped !== undefined) reply.header("pennyblack-capped", capped);
  const allowed = narrowPolicy(own, sources);
  const derived = deriveHeaders(dialect, { headers, settings: compat, search, sources: allowed, key, now: Date.now() });
  return { body: Buffer.from(JSON.stringify(search)), headers: { ...headers, ...derived }, sources };
}

async function readParameters(
  { method }: Dialect,
  { query, url }: FastifyRequest,
  readBody: () => Promise<Buffer>,
): Promise<unknown> {
  if (method === "GET") {
    // Fastify leaves invalid encodings as they are, and the search would cost a cent.
    assertDecodable(url);
    return query;
  }
  const inUrl = Object.keys(query as object).map((name) => parameterFault(name, "must be in the body, not in the URL"));
  if (inUrl.length > 0) throw invalidInput(inUrl);
  return parseJson(await readBody());
}

function assertDecodable(url: string): void {
  try {
    decodeURIComponent(url);
  } catch (cause) {
    const fault = "The query string of the URL is not encoded as UTF-8.";
    throw new Problem("invalid_request", {
      detail: `${fault} You were not charged. Correct the request and send it again.`,
      members: { errors: [{ pointer: "#", code: "invalid_encoding", detail: fault }] },
      cause,
    });
  }
}
