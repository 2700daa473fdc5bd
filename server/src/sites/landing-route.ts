import { Type } from "typebox";
import { escapeHtml, plainPage, plainPagePolicy } from "../http/plain-page.ts";
import { publicProblems, type Route } from "../http/route.ts";
import { Problem } from "../problems/problems.ts";

export interface LandingOptions {
  publicUrl: string;
  version: string;
  hasConsole: boolean;
  whyNotReady: () => Promise<string | undefined>;
}

/** The page is public and a check queries the database, so all requests within this time share one check. */
const statusMaxAgeMs = 5_000;

/** `/`: a page with links for browsers, and the same links as JSON for other clients. */
export function landingRoute({ publicUrl, version, hasConsole, whyNotReady }: LandingOptions): Route {
  let checkedMs = -Infinity;
  let reason: Promise<string | undefined> = Promise.resolve(undefined);
  const readStatus = async (): Promise<string> => {
    if (performance.now() - checkedMs > statusMaxAgeMs) {
      checkedMs = performance.now();
      reason = whyNotReady();
    }
    return (await reason) === undefined ? "operational" : "unavailable";
  };
  return {
    method: "GET",
    path: "/",
    operationId: "getLinks",
    tag: "Documents",
    summary: "Get links and the status",
    description: "Returns links to the docs, the console and the OpenAPI document, and the status of the server.",
    answer: Type.Object({}, { additionalProperties: true }),
    problems: ["not_found", ...publicProblems],
    handle: async (request, reply) => {
      // Fastify routes the request target "*" to "/".
      if (request.url === "*") throw new Problem("not_found");
      const status = await readStatus();
      reply.headers({ vary: "accept", "cache-control": "no-cache" });
      if (request.headers.accept?.includes("text/html")) {
        reply.headers({ "content-type": "text/html; charset=utf-8", "content-security-policy": plainPagePolicy });
        return landingPage({ publicUrl, version, hasConsole, status });
      }
      return {
        name: "Pennyblack",
        version,
        status,
        docs: `${publicUrl}/docs/`,
        openapi: `${publicUrl}/openapi.json`,
        status_page: `${publicUrl}/status`,
        ...(hasConsole && { console: `${publicUrl}/console` }),
        llms: `${publicUrl}/llms.txt`,
      };
    },
  };
}

const stamp = `<svg viewBox="0 0 24 28" width="36" height="42" aria-hidden="true"><rect width="24" height="28" rx="2"/>
<rect x="3.6" y="3.6" width="16.8" height="16.8"/><text x="12" y="16.5" text-anchor="middle">1d</text></svg>`;

function landingPage({
  publicUrl,
  version,
  hasConsole,
  status,
}: Omit<LandingOptions, "whyNotReady"> & { status: string }): string {
  const consoleLink = `
<dt><a href="/console">Console</a></dt><dd>Balance, API keys, budgets, usage and a playground</dd>`;
  return plainPage(
    "Pennyblack",
    `<header>${stamp}<p>Pennyblack</p></header>
<h1>Prepaid web search</h1>
<p class="lead">One endpoint, 0.01 USD per search, charged only when it succeeds.</p>
<pre>curl ${escapeHtml(publicUrl)}/v1/search \\
  -H "Authorization: Bearer $PENNYBLACK_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"query": "postgresql advisory locks"}'</pre>
<ul><li>A 200 is charged once. Every other status is free.</li>
<li>A retry with an <code>Idempotency-Key</code> never pays twice.</li>
<li>A budget per key, per end user and per task cannot be exceeded.</li>
<li>Test keys are free.</li></ul>
<dl><dt><a href="/docs/quickstart">Quickstart</a></dt><dd>Make your first search</dd>
<dt><a href="/docs/">Docs</a></dt><dd>Guides and API reference</dd>${hasConsole ? consoleLink : ""}
<dt><a href="/openapi.json">OpenAPI</a></dt><dd>Description of the API for tools</dd>
<dt><a href="/llms.txt">llms.txt</a></dt><dd>Summary of the API for language models</dd></dl>
<footer>This server is <a href="/status">${status}</a> and runs version ${version}.</footer>`,
  );
}
