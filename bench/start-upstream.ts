import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Candidate, makeSearches } from "./make-candidates.ts";
import { startNginx } from "./start-nginx.ts";
import type { Workshop } from "./workshop.ts";

/** An upstream that answers at once, so that what is measured is ours: nginx, with SearXNG's words from a file. */
export async function startUpstream(workshop: Workshop): Promise<{ url: string }> {
  const file = join(workshop.folder, "answer.json");
  writeFileSync(file, JSON.stringify(answer()));
  const serveFile = `default_type application/json; alias ${file};`;
  // A file answers no POST; sent on to the other address it does, without its body.
  return startNginx(
    workshop,
    "nginx",
    "",
    `location = /search { ${serveFile} }
     location = /v1/chat/completions { error_page 405 =200 /search; ${serveFile} }`,
  );
}

/** Twenty results of the shape and size that SearXNG gives, as different from each other as pages are. */
function answer(): Record<string, unknown> {
  const [found = []] = makeSearches({ searches: 1, candidates: 20, unknownHosts: 1_000 });
  return {
    query: "postgresql advisory locks in practice",
    number_of_results: 0,
    results: found.map(result),
    answers: [],
    corrections: [],
    infoboxes: [],
    suggestions: ["pg_advisory_lock example", "pg_try_advisory_lock"],
    unresponsive_engines: [["google", "Suspended: CAPTCHA"]],
  };
}

function result({ url, title, snippet }: Candidate, index: number): Record<string, unknown> {
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
