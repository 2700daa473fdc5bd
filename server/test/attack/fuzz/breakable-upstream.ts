import { createServer } from "node:http";
import { listenOnLoopback } from "../../faults/crashes/delayed-upstream.ts";

export interface BreakableUpstream {
  url: string;
  /** Replaces the answer; undefined restores it. */
  answerWith(body: string | undefined): void;
  /** The number of requests so far. */
  requests(): number;
  close(): Promise<void>;
}

/** A SearXNG upstream. A query that starts with "break" selects an error. */
export async function startBreakableUpstream(): Promise<BreakableUpstream> {
  const results = Array.from({ length: 8 }, (_, index) => ({
    title: `Result ${index}`,
    url: `https://site-${index}.example/page`,
    content: "A result.",
    engine: "fixture",
  }));
  const good = JSON.stringify({ results });
  let replaced: string | undefined;
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    const query = new URL(request.url ?? "/", "http://upstream.invalid").searchParams.get("q") ?? "";
    const [, fault] = /^break (\w+)$/.exec(query) ?? [];
    if (fault === "reset") return void request.socket.resetAndDestroy();
    const status = /^[45]\d\d$/.test(fault ?? "") ? Number(fault) : 200;
    const body = fault === "garbage" ? "<html>" : (replaced ?? good);
    response
      .writeHead(status, { "content-type": "application/json" })
      .end(fault === "empty" ? JSON.stringify({ results: [] }) : body);
  });
  return {
    ...(await listenOnLoopback(server)),
    answerWith: (body) => void (replaced = body),
    requests: () => requests,
  };
}
