import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Harness } from "./harness.ts";
import { type Candidate, makeSearches } from "./make-candidates.ts";
import { startNginx } from "./start-nginx.ts";

/** An upstream without latency: nginx serving a file in SearXNG's format. */
export async function startUpstream(harness: Harness): Promise<{ url: string }> {
  const file = join(harness.folder, "answer.json");
  writeFileSync(file, JSON.stringify(createResponse()));
  const serveFile = `default_type application/json; alias ${file};`;
  // nginx rejects POST to a static file with 405, so map that to the file.
  return startNginx(
    harness,
    "nginx",
    "",
    `location = /search { ${serveFile} }
     location = /v1/chat/completions { error_page 405 =200 /search; ${serveFile} }`,
  );
}

/** Twenty varied results of the shape and size that SearXNG returns. */
function createResponse(): Record<string, unknown> {
  const [found = []] = makeSearches({ searches: 1, candidates: 20, unknownHosts: 1_000 });
  return {
    query: "postgresql advisory locks in practice",
    number_of_results: 0,
    results: found.map(toSearxngResult),
    answers: [],
    corrections: [],
    infoboxes: [],
    suggestions: ["pg_advisory_lock example", "pg_try_advisory_lock"],
    unresponsive_engines: [["google", "Suspended: CAPTCHA"]],
  };
}

function toSearxngResult({ url, title, snippet }: Candidate, index: number): Record<string, unknown> {
  const { host, pathname, search } = new URL(url);
  return {
    url,
    title: `${title} &amp; more`,
    content: `<b>${snippet}</b>`,
    engine: "duckduckgo",
    template: "default.html",
    parsed_url: ["https", host, pathname, "", search.slice(1), ""],
    engines: ["duckduckgo", "brave"],
    positions: [index + 1, index + 2],
    score: 3 / (index + 1),
    category: "general",
  };
}
