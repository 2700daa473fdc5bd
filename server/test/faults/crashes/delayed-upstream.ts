import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An upstream that answers a question when it is told to, and all others at once or after a short while. */
export interface DelayedUpstream {
  url: string;
  /** This question waits for `answer`. */
  keepWaiting(query: string): void;
  isWaiting(query: string): boolean;
  answer(query: string, status?: number): void;
  /** How long the others take, at most: chance decides, so that searches are in every step at once. */
  longestMs: number;
  /** Which share of the others it fails. */
  failing: number;
  /** Of every request so far. */
  headers: IncomingHttpHeaders[];
  close(): Promise<void>;
}

export async function startDelayedUpstream(): Promise<DelayedUpstream> {
  const patient = new Set<string>();
  const waiting = new Map<string, ServerResponse>();
  const server = createServer((request, response) => {
    upstream.headers.push(request.headers);
    const query = new URL(request.url ?? "/", "http://upstream.invalid").searchParams.get("q") ?? "";
    if (patient.has(query)) waiting.set(query, response);
    else {
      const status = Math.random() < upstream.failing ? 503 : 200;
      setTimeout(() => send(response, query, status), Math.random() * upstream.longestMs);
    }
  });
  // A server that is killed resets its connections.
  server.on("connection", (socket) => socket.on("error", () => socket.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const upstream: DelayedUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    longestMs: 0,
    failing: 0,
    headers: [],
    keepWaiting: (query) => void patient.add(query),
    isWaiting: (query) => waiting.has(query),
    answer(query, status = 200) {
      const response = waiting.get(query);
      if (response) send(response, query, status);
      waiting.delete(query);
      patient.delete(query);
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return upstream;
}

function send(response: ServerResponse, query: string, status: number): void {
  const results = [
    { title: `About ${query}`, url: "https://example.org/", content: "What it says.", engine: "patient" },
  ];
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ results }));
}
