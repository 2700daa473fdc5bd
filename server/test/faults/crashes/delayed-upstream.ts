import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An upstream that answers selected queries on command, and all others after a short random delay. */
export interface DelayedUpstream {
  url: string;
  /** Delays the answer to this query until `answer` is called. */
  keepWaiting(query: string): void;
  isWaiting(query: string): boolean;
  answer(query: string, status?: number): void;
  /** The maximum delay of the others. It is random, so that searches are in every step at the same time. */
  maxDelayMs: number;
  /** The share of the others that fail. */
  failureRate: number;
  /** The headers of every request so far. */
  headers: IncomingHttpHeaders[];
  close(): Promise<void>;
}

export async function startDelayedUpstream(): Promise<DelayedUpstream> {
  const delayed = new Set<string>();
  const waiting = new Map<string, ServerResponse>();
  const server = createServer((request, response) => {
    upstream.headers.push(request.headers);
    const query = new URL(request.url ?? "/", "http://upstream.invalid").searchParams.get("q") ?? "";
    if (delayed.has(query)) waiting.set(query, response);
    else {
      const status = Math.random() < upstream.failureRate ? 503 : 200;
      setTimeout(() => send(response, query, status), Math.random() * upstream.maxDelayMs);
    }
  });
  const upstream: DelayedUpstream = {
    ...(await listenOnLoopback(server)),
    maxDelayMs: 0,
    failureRate: 0,
    headers: [],
    keepWaiting: (query) => void delayed.add(query),
    isWaiting: (query) => waiting.has(query),
    answer(query, status = 200) {
      const response = waiting.get(query);
      if (response) send(response, query, status);
      waiting.delete(query);
      delayed.delete(query);
    },
  };
  return upstream;
}

export async function listenOnLoopback(server: Server): Promise<{ url: string; close(): Promise<void> }> {
  // A killed client resets its connections.
  server.on("connection", (socket) => socket.on("error", () => socket.destroy()));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function send(response: ServerResponse, query: string, status: number): void {
  const results = [{ title: `About ${query}`, url: "https://example.org/", content: "A result.", engine: "test" }];
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ results }));
}
