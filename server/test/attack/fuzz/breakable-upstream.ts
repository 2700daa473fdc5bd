import { createServer } from "node:http";
import { listenOnLoopback } from "../../faults/crashes/delayed-upstream.ts";

/** A SearXNG upstream. A query that starts with "break" selects an error. */
export async function startBreakableUpstream(): Promise<{ url: string; close(): Promise<void> }> {
  const results = Array.from({ length: 8 }, (_, index) => ({
    title: `Result ${index}`,
    url: `https://site-${index}.example/page`,
    content: "A result.",
    engine: "fixture",
  }));
  const good = JSON.stringify({ results });
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? "/", "http://upstream.invalid").searchParams.get("q") ?? "";
    const [, fault] = /^break (\w+)$/.exec(query) ?? [];
    if (fault === "reset") return void request.socket.resetAndDestroy();
    const status = /^[45]\d\d$/.test(fault ?? "") ? Number(fault) : 200;
    const body = fault === "garbage" ? "<html>" : good;
    response
      .writeHead(status, { "content-type": "application/json" })
      .end(fault === "empty" ? JSON.stringify({ results: [] }) : body);
  });
  return listenOnLoopback(server);
}
