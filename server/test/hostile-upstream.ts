// A real server on loopback that speaks SearXNG's JSON and misbehaves on request.
//
//   const upstream = await startHostileUpstream();
//   await upstream.behave("slow_drip", { everyMs: 20 });
//   await upstream.behave("status_503", { headers: { "retry-after": "7" } });

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { gzipSync } from "node:zlib";

export interface HostileUpstream {
  url: string;
  /** From now on every request is met like this. Starts with `ok`. */
  behave(name: BehaviourName, options?: BehaviourOptions): Promise<void>;
  /** What arrived, oldest first. `connection` numbers the sockets from 1. */
  requests: ReceivedRequest[];
  close(): Promise<void>;
}

export type BehaviourName = keyof typeof behaviours | `status_${number}` | "refused";

export interface BehaviourOptions {
  /** How many hits there are in all, ten to a page. */
  hits?: number;
  /** The pause before the headers, or between two bytes of a drip. */
  everyMs?: number;
  headers?: Record<string, string>;
  body?: string;
}

export interface ReceivedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: string;
  connection: number;
  /** Aborts when the caller has closed the socket. */
  hungUp: AbortSignal;
}

export async function startHostileUpstream(): Promise<HostileUpstream> {
  const requests: ReceivedRequest[] = [];
  const connections = new Map<Socket, number>();
  let name: BehaviourName = "ok";
  let options: BehaviourOptions = {};

  const meet = (request: ReceivedRequest, response: ServerResponse) => {
    requests.push(request);
    const earlier = requests.filter(({ connection }) => connection === request.connection).length - 1;
    behaviourNamed(name)({ request, response, options, earlier });
  };
  const server = createServer((incoming, response) => {
    receive(incoming, connections).then(
      (request) => meet(request, response),
      () => response.destroy(),
    );
  });
  server.on("connection", (socket) => {
    connections.set(socket, connections.size + 1);
    // A caller that gives up resets the connection; that is what we are here for.
    socket.on("error", () => socket.destroy());
  });

  const port = await listen(server, 0);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async behave(nextName, nextOptions = {}) {
      name = nextName;
      options = nextOptions;
      if (name === "refused") await stop(server);
      else if (!server.listening) await listen(server, port);
    },
    close: () => stop(server),
  };
}

interface Encounter {
  request: ReceivedRequest;
  response: ServerResponse;
  options: BehaviourOptions;
  /** Requests that came on the same socket before this one. */
  earlier: number;
}

type Behaviour = (encounter: Encounter) => void;

const behaviours = {
  // Answers that are valid HTTP.
  ok: ({ request, response, options }) => json(response, { results: pageOf(request, options.hits ?? 10) }),
  same_page_always: ({ response }) => json(response, { results: hitsBetween(1, 10) }),
  later_page_fails: ({ request, response }) =>
    pageNumber(request) === 1 ? json(response, { results: hitsBetween(1, 10) }) : response.writeHead(500).end(),
  later_page_hangs: ({ request, response }) => {
    if (pageNumber(request) === 1) json(response, { results: hitsBetween(1, 10) });
  },
  empty: ({ response }) => json(response, { results: [], unresponsive_engines: [] }),
  engines_failed: ({ response }) => json(response, { results: [], unresponsive_engines: [["bing", "timeout"]] }),
  redirect: ({ response, options }) => response.writeHead(302, { location: "/elsewhere", ...options.headers }).end(),

  // 200s that are not an answer.
  wrong_content_type: ({ response }) =>
    response.writeHead(200, { "content-type": "text/html" }).end(JSON.stringify({ results: hitsBetween(1, 3) })),
  gzip: ({ response }) =>
    response
      .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
      .end(gzipSync(JSON.stringify({ results: hitsBetween(1, 3) }))),
  truncated_json: ({ response }) => jsonText(response, '{"results": [{"title": "cut'),
  wrong_types: ({ response }) => json(response, { results: { title: "an object, not a list" } }),
  nulls: ({ response }) => json(response, { results: null, unresponsive_engines: null }),

  // 200s whose hits must be cleaned.
  unusable_items: ({ response }) =>
    json(response, { results: [null, 7, "text", [], { title: "no address" }, { url: 5 }, ...hitsBetween(1, 1)] }),
  poisonous_urls: ({ response }) => json(response, { results: [...poisonousUrls.map(hitAt), ...hitsBetween(1, 1)] }),
  poisonous_text: ({ response }) =>
    json(response, { results: [{ ...hitAt("https://example.org/text"), ...poisonousText }] }),

  // Slowness and size.
  slow_headers: ({ request, response, options }) => {
    setTimeout(() => json(response, { results: pageOf(request, 10) }), options.everyMs ?? 60_000).unref();
  },
  slow_drip: ({ response, options }) => {
    response.writeHead(200, { "content-type": "application/json" });
    const timer = setInterval(() => response.write(" "), options.everyMs ?? 10);
    response.on("close", () => clearInterval(timer));
  },
  stall_in_body: ({ response }) => {
    response.writeHead(200, { "content-type": "application/json" }).write('{"results": [');
  },
  endless_body: ({ response }) => pour(response, Number.POSITIVE_INFINITY),
  fifty_megabytes: ({ response }) => pour(response, 50 * 1024 * 1024),
  endless_headers: ({ response }) => {
    response.socket?.write("HTTP/1.1 200 OK\r\n");
    response.socket?.write("x-padding: very long\r\n".repeat(10_000));
  },

  // Broken connections.
  not_http: ({ response }) => response.socket?.end("SSH-2.0-OpenSSH_9.2\r\n"),
  reset_before_headers: ({ response }) => response.socket?.resetAndDestroy(),
  reset_on_reused_socket: ({ request, response, earlier }) =>
    earlier === 0 ? json(response, { results: pageOf(request, 10) }) : response.socket?.resetAndDestroy(),
  reset_in_status_line_on_reused_socket: ({ request, response, earlier }) => {
    if (earlier === 0) return json(response, { results: pageOf(request, 10) });
    response.socket?.write("HTTP/1.1 2", () => response.socket?.destroy());
  },
  reset_in_body: ({ response }) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"results": [', () => response.socket?.resetAndDestroy());
  },
  reset_in_error_page: ({ response }) => {
    response.writeHead(503, { "content-type": "text/html" });
    response.write("<h1>Service Un", () => response.socket?.resetAndDestroy());
  },
  half_close: ({ response }) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    response.write('{"results": [', () => response.socket?.end());
  },
} satisfies Record<string, Behaviour>;

function behaviourNamed(name: BehaviourName): Behaviour {
  if (name in behaviours) return behaviours[name as keyof typeof behaviours];
  const status = Number(name.replace("status_", ""));
  return ({ response, options }) => response.writeHead(status, options.headers).end(options.body);
}

const poisonousUrls = [
  "javascript:alert(1)",
  "data:text/html,hello",
  "https://user:password@example.org/",
  "ftp://example.org/",
  "//example.org/",
  "not a url",
];

const poisonousText = {
  title: "\u202Egnp.exe\u202C in\u200Bvisible \u{E0041}\u{E0042}<b>bold</b>",
  content: "<scr<b>ipt>alert(1)</script> &lt;img src=x onerror=alert(1)&gt; \uD800 lone\u0000",
};

function hitAt(url: string) {
  return { title: `About ${url}`, url, content: `What ${url} says.`, engine: "hostile" };
}

function hitsBetween(first: number, last: number) {
  const count = Math.max(0, last - first + 1);
  return Array.from({ length: count }, (_, index) => hitAt(`https://example.org/page-${first + index}`));
}

function pageOf(request: ReceivedRequest, total: number) {
  const page = pageNumber(request);
  return hitsBetween((page - 1) * 10 + 1, Math.min(page * 10, total));
}

function pageNumber(request: ReceivedRequest): number {
  return Number(request.query.get("pageno") ?? 1);
}

function json(response: ServerResponse, value: unknown): void {
  jsonText(response, JSON.stringify(value));
}

function jsonText(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "application/json" }).end(text);
}

/** White space, so that nothing but the size is wrong with it. */
function pour(response: ServerResponse, bytes: number): void {
  const chunk = Buffer.alloc(64 * 1024, " ");
  let sent = 0;
  const more = () => {
    while (!response.destroyed && sent < bytes) {
      sent += chunk.length;
      if (!response.write(chunk)) return;
    }
    response.end();
  };
  response.writeHead(200, { "content-type": "application/json" }).on("drain", more);
  more();
}

async function receive(incoming: IncomingMessage, connections: Map<Socket, number>): Promise<ReceivedRequest> {
  const body = (await incoming.toArray()).join("");
  const { pathname, searchParams } = new URL(incoming.url ?? "/", "http://upstream.invalid");
  const hangUp = new AbortController();
  incoming.socket.once("close", () => hangUp.abort());
  return {
    method: incoming.method ?? "",
    path: pathname,
    query: incoming.method === "POST" ? new URLSearchParams(body) : searchParams,
    headers: incoming.headers,
    body,
    connection: connections.get(incoming.socket) ?? 0,
    hungUp: hangUp.signal,
  };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
