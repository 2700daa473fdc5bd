import { randomUUIDv7 } from "node:crypto";
import Fastify from "fastify";
import { readConfig } from "../server/src/config/config.ts";
import { maxBodyBytes } from "../server/src/http/input/read-body.ts";
import { openLenses } from "../server/src/lenses/lenses.ts";
import { createCaller } from "../server/src/providers/call-provider.ts";
import { adapters } from "../server/src/providers/providers.ts";
import { createRanking } from "../server/src/ranking/ranking.ts";
import { cleanResults } from "../server/src/search/clean-results.ts";
import { parseSearch } from "../server/src/search/parse-search.ts";

// Upper bound for this stack: the same response from the same upstream without keys, limits, ledger, extra headers, logs
// or metrics. Keep the Fastify and caller options in sync with server/src/http/http-server.ts and server/src/app.ts.

const config = readConfig(adapters, ["host", "port", "upstreams", "lenses"]);
const [upstream] = config.upstreams;
if (!upstream) throw new Error("no upstream configured");
const ranking = createRanking(openLenses(config.lenses).current);
const caller = createCaller({ connectMs: 2_000, headersMs: 9_000, bodyMs: 5_000 });
const app = Fastify({
  logger: false,
  genReqId: () => randomUUIDv7(),
  requestIdHeader: false,
  exposeHeadRoutes: false,
  bodyLimit: maxBodyBytes,
  keepAliveTimeout: 75_000,
  requestTimeout: 15_000,
  connectionTimeout: 50_000,
  return503OnClosing: false,
  forceCloseConnections: "idle",
  http: {
    maxHeaderSize: 16_384,
    headersTimeout: 10_000,
    connectionsCheckingInterval: 2_000,
    joinDuplicateHeaders: false,
    requireHostHeader: false,
  },
});

app.removeAllContentTypeParsers();
app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => done(null, body));

app.post("/v1/search", async (request, reply) => {
  const input = parseSearch(request.body as Buffer, []);
  const options = { signal: new AbortController().signal, deadlineMs: 10_000 };
  const answer = await caller.callProvider(upstream.keys[0].provider, input, options);
  if (!answer.ok) throw new Error(answer.reason);
  const ranked = ranking.rank({ ...input, results: cleanResults(answer.hits) });
  const results = ranked.results.map((result) => result.toPlain());
  reply.header("content-type", "application/json; charset=utf-8");
  return Buffer.from(JSON.stringify({ query: input.query, n: results.length, results }));
});

process.on("SIGTERM", () => process.exit(0));
await app.listen({ host: config.host, port: config.port });
