import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { deriveHeaders, type RequestHeaders, readIgnore } from "../dialects/derive-headers.ts";
import type { Answer, Dialect } from "../dialects/dialect.ts";
import { dialects } from "../dialects/dialects.ts";
import { withApiKey } from "../dialects/read-key.ts";
import { toSearch } from "../dialects/to-search.ts";
import { readCredential } from "../http/credentials.ts";
import { invalidInput, parameterFault } from "../http/faults.ts";
import { parseJson } from "../http/read-json.ts";
import type { Route } from "../http/route.ts";
import type { Compat, Principal } from "../keys/keys.ts";
import { Problem } from "../problems/problems.ts";
import type { SearchDependencies } from "../search/search.ts";
import { handleSearch } from "../search/search-routes.ts";
import type { ProcessFigures } from "../telemetry/process-figures.ts";

/** The compatibility endpoints: the search of /v1/search behind the APIs of other vendors. They are not in openapi.json. */
export function compatRoutes(
  search: SearchDependencies,
  { duringSearch }: Pick<ProcessFigures, "duringSearch">,
): Route[] {
  return dialects.map((dialect) => ({
    method: dialect.method,
    path: `/compat/${dialect.name}${dialect.path}`,
    scope: "search",
    operationId: `search_${dialect.name}`,
    tag: "Search",
    summary: `Search with a client of ${dialect.title}`,
    description: `See docs/compat/${dialect.name}.md.`,
    answer: Type.Unknown(),
    problems: [],
    handle: (request, reply) => duringSearch(() => handleCompat(dialect, search, request, reply)),
  }));
}

/** `search()` authenticates before it reads the body, which is therefore translated while it is read. */
async function handleCompat(
  dialect: Dialect,
  dependencies: SearchDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string> {
  const rawHeaders = withApiKey(dialect, request.raw.rawHeaders);
  const headers: RequestHeaders = { ...(request.headers as RequestHeaders) };
  let settings: Compat | undefined;

  async function authenticate({ ip }: { ip: string }): Promise<Principal> {
    const caller = await dependencies.authenticate({
      rawHeaders,
      headers,
      ip,
    });
    settings = caller.compat;
    return caller;
  }

  async function readSearch(readBody: () => Promise<Buffer>): Promise<Buffer> {
    const parameters = await readParameters(dialect, request, readBody);
    const key = readCredential(rawHeaders);
    const { search, ignored, capped } = toSearch(dialect, parameters, { ignore: readIgnore(headers, settings), key });
    if (ignored.length > 0) reply.header("pennyblack-ignored", ignored.join(", "));
    if (capped !== undefined) reply.header("pennyblack-capped", capped);
    // `search()` reads its headers after the body.
    Object.assign(headers, deriveHeaders(dialect, { headers, settings, search, key, now: Date.now() }));
    return Buffer.from(JSON.stringify(search));
  }

  const overrides = { headers, readBody: readSearch };
  const body = await handleSearch({ ...dependencies, authenticate }, request, reply, overrides);
  const about = { requestId: request.id, seconds: Math.round(reply.elapsedTime) / 1_000 };
  return JSON.stringify(dialect.toResponse(JSON.parse(body.toString()) as Answer, about));
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
