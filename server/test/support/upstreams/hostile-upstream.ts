// An HTTP server that implements SearXNG's JSON API and misbehaves on request.
//
//   const upstream = await startHostileUpstream();
//   await upstream.behave("slow_drip", { everyMs: 20 });
//   await upstream.behave("status_503", { headers: { "retry-after": "7" } });

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { listen } from "../services/listen.ts";
import { forgedAnswer, greeting, type RawAnswer, rawAnswers } from "./hostile-bytes.ts";
import { compressedAnswers, hitsBetween, jsonTexts, upstreamText } from "./hostile-results.ts";

export interface HostileUpstream {
  url: string;
  /** Sets how later requests are handled. The default is `ok`. */
  behave(name: BehaviourName, options?: BehaviourOptions): Promise<void>;
  /** Answers the requests that `ok_when_released` received, as `ok` does. */
  release(): void;
  /** Requests received, oldest first. `connection` numbers the sockets from 1. */
  requests: ReceivedRequest[];
  /** Number of open sockets. */
  countConnections(): number;
  close(): Promise<void>;
}

export type BehaviourName = HostileBehaviour | `status_${number}`;
export type HostileBehaviour =
  | keyof typeof behaviours
  | keyof typeof jsonTexts
  | keyof typeof compressedAnswers
  | keyof typeof rawAnswers
  | keyof typeof onAccept
  | "refused";

export interface BehaviourOptions {
  /** Total number of hits, ten per page. */
  hits?: number;
  /** Delay before the headers, or between two bytes of a drip. */
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
  /** Aborts when the caller closes the socket. */
  hungUp: AbortSignal;
}

export async function startHostileUpstream(): Promise<HostileUpstream> {
  const requests: ReceivedRequest[] = [];
  const connections = new Map<Socket, Connection>();
  let accepted = 0;
  const held: (() => void)[] = [];
  let name: BehaviourName = "ok";
  let options: BehaviourOptions = {};

  const meet = (request: ReceivedRequest, response: ServerResponse, socket: Socket) => {
    const connection = connections.get(socket);
    const earlier = connection ? connection.requests++ : 0;
    requests.push(request);
    response.statusMessage = upstreamText;
    response.setHeader("x-words", upstreamText);
    behaviourNamed(name)({ request, response, socket, options, earlier, held });
  };
  const server = createServer((incoming, response) => {
    receive(incoming, connections.get(incoming.socket)).then(
      (request) => meet(request, response, incoming.socket),
      () => response.destroy(),
    );
  });
  server.on("connection", (socket) => {
    accepted += 1;
    const hangUp = new AbortController();
    connections.set(socket, { number: accepted, hungUp: hangUp.signal, requests: 0 });
    socket.on("close", () => {
      connections.delete(socket);
      hangUp.abort();
    });
    // A caller that gives up resets the connection, which is expected.
    socket.on("error", () => socket.destroy());
    if (isOneOf(onAccept, name)) onAccept[name](socket);
  });

  const { url, port, close } = await listen(server);
  return {
    url,
    requests,
    countConnections: () => connections.size,
    release: () => {
      for (const answer of held.splice(0)) answer();
    },
    async behave(nextName, nextOptions = {}) {
      name = nextName;
      options = nextOptions;
      // Before the request, because compressing a bomb blocks the event loop for seconds.
      if (isOneOf(compressedAnswers, name)) compressedAnswers[name]();
      if (name === "refused") await close();
      else if (!server.listening) await listen(server, port);
      if (isOneOf(onAccept, name)) server.closeIdleConnections();
    },
    close,
  };
}

interface Connection {
  number: number;
  requests: number;
  hungUp: AbortSignal;
}

interface Encounter {
  request: ReceivedRequest;
  response: ServerResponse;
  socket: Socket;
  options: BehaviourOptions;
  /** Earlier requests on the same socket. */
  earlier: number;
  /** Answers that wait for `release`. */
  held: (() => void)[];
}

type Behaviour = (encounter: Encounter) => void;

function behaviourNamed(name: BehaviourName): Behaviour {
  if (isOneOf(behaviours, name)) return behaviours[name];
  if (isOneOf(jsonTexts, name)) return ({ response }) => jsonText(response, jsonTexts[name]);
  if (isOneOf(compressedAnswers, name)) return ({ response }) => compressed(response, ...compressedAnswers[name]());
  if (isOneOf(rawAnswers, name)) return ({ socket }) => writeRaw(socket, rawAnswers[name]);
  // These apply to new sockets, so a request on an old one must be repeated.
  if (isOneOf(onAccept, name)) return ({ socket }) => socket.destroy();
  const status = Number(name.replace("status_", ""));
  return ({ response, options }) => response.writeHead(status, options.headers).end(options.body);
}

function isOneOf<Table extends object>(table: Table, name: PropertyKey): name is keyof Table {
  return Object.hasOwn(table, name);
}

const onAccept = {
  hang_up_on_accept: (socket) => socket.end(),
  reset_on_accept: (socket) => socket.resetAndDestroy(),
  answer_on_accept: (socket) => socket.end(greeting),
} satisfies Record<string, (socket: Socket) => void>;

const tenHits = { results: hitsBetween(1, 10) };

const behaviours = {
  // Valid answers.
  ok: ({ request, response, options }) => json(response, { results: pageOf(request, options.hits ?? 10) }),
  same_page_always: ({ response }) => json(response, tenHits),
  later_page_fails: ({ request, response }) =>
    pageNumber(request) === 1 ? json(response, tenHits) : response.writeHead(500).end(),
  later_page_hangs: ({ request, response }) => {
    if (pageNumber(request) === 1) json(response, tenHits);
  },
  set_cookie: ({ response }) =>
    json(response, tenHits, { "set-cookie": [`session=${upstreamText}`, "b=c; Domain=localhost"] }),
  keep_alive_for_years: ({ response }) => json(response, tenHits, { "keep-alive": "timeout=999999999, max=0" }),
  hints_then_answer: ({ request, response }) => {
    response.writeProcessing();
    response.writeEarlyHints({ link: `</${upstreamText}>; rel=preload`, "x-words": upstreamText });
    json(response, { results: pageOf(request, 10) });
  },
  continue_then_answer: ({ request, response }) => {
    response.writeContinue();
    json(response, { results: pageOf(request, 10) });
  },
  close_after_answer: ({ request, response, socket }) => {
    response.on("finish", () => socket.destroySoon());
    json(response, { results: pageOf(request, 10) });
  },
  second_answer: ({ request, response, socket }) => {
    socket.cork();
    json(response, { results: pageOf(request, 10) });
    socket.write(forgedAnswer);
    socket.uncork();
  },
  second_answer_later: ({ request, response, socket }) => {
    json(response, { results: pageOf(request, 10) });
    setTimeout(() => socket.write(forgedAnswer), 50).unref();
  },

  // Other statuses than 200.
  no_content: ({ response }) => response.writeHead(204, { "content-type": "application/json" }).end(),
  reset_content: ({ response }) => response.writeHead(205, { "content-type": "application/json" }).end(),
  partial_content: ({ response }) =>
    response
      .writeHead(206, { "content-type": "application/json", "content-range": "bytes 0-19/4000" })
      .end(JSON.stringify(tenHits).slice(0, 20)),
  redirect: ({ response, options }) => response.writeHead(302, { location: "/elsewhere", ...options.headers }).end(),
  redirect_to_itself: ({ request, response }) =>
    response.writeHead(307, { location: `${request.path}?${request.query.toString()}` }).end(upstreamText),
  redirect_to_another_host: ({ request, response }) =>
    response.writeHead(301, { location: `http://${request.headers.host?.replace("127.0.0.1", "localhost")}/` }).end(),
  multiple_choices: ({ response }) =>
    response.writeHead(300, { "content-type": "application/json" }).end(JSON.stringify(tenHits)),
  not_modified: ({ response }) => response.writeHead(304, { etag: upstreamText }).end(),
  credential_wanted: ({ response }) =>
    response.writeHead(401, { "www-authenticate": `Basic realm="${upstreamText}"` }).end(upstreamText),
  payment_wanted: ({ response }) =>
    response
      .writeHead(402, {
        "www-authenticate": `Payment realm="${upstreamText}"`,
        "x-payment": upstreamText,
        "payment-required": upstreamText,
        link: `<https://example.org/${upstreamText}>; rel="payment"`,
      })
      .end(JSON.stringify({ top_up: { url: `https://example.org/${upstreamText}` } })),
  poisonous_error: ({ response }) =>
    response
      .writeHead(500, { "content-type": "application/problem+json", "wallet-charge": "9.99;currency=usd" })
      .end(
        JSON.stringify({ title: upstreamText, detail: upstreamText, code: upstreamText, charged: true, status: 200 }),
      ),
  error_that_claims_results: ({ response }) =>
    response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify(tenHits)),
  endless_error: ({ response }) => pour(response, Number.POSITIVE_INFINITY, 500),
  error_that_stalls: ({ response }) => void response.writeHead(503).write(upstreamText),
  retry_after_words: ({ response }) => response.writeHead(429, { "retry-after": upstreamText }).end(),
  retry_after_negative: ({ response }) => response.writeHead(503, { "retry-after": "-5" }).end(),
  retry_after_huge: ({ response }) => response.writeHead(503, { "retry-after": "9".repeat(9) }).end(),
  retry_after_beyond_numbers: ({ response }) => response.writeHead(503, { "retry-after": "9".repeat(400) }).end(),
  retry_after_twice: ({ response }) => response.setHeader("retry-after", ["3", "4"]).writeHead(429).end(),
  retry_after_date_long_gone: ({ response }) =>
    response.writeHead(429, { "retry-after": new Date(0).toUTCString() }).end(),
  retry_after_date_far_away: ({ response }) =>
    response.writeHead(429, { "retry-after": new Date(8e15).toUTCString() }).end(),
  status_beyond_http: ({ socket }) =>
    socket.end(`HTTP/1.1 600 ${upstreamText}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`),
  status_999: ({ socket }) => socket.end(`HTTP/1.1 999 ${upstreamText}\r\ncontent-length: 0\r\n\r\n`),

  // 200s of the wrong type.
  wrong_content_type: ({ response }) =>
    json(response, { results: hitsBetween(1, 3) }, { "content-type": `text/html; charset=${upstreamText}` }),
  no_content_type: ({ response }) => response.end(JSON.stringify({ results: hitsBetween(1, 3) })),
  content_type_twice: ({ response }) =>
    json(response, { results: hitsBetween(1, 3) }, { "content-type": "application/json, text/html" }),
  unknown_encoding: ({ response }) =>
    json(response, { results: hitsBetween(1, 3) }, { "content-encoding": upstreamText }),
  no_bytes: ({ response }) => response.writeHead(200).end(),

  // Slowness and size.
  ok_when_released: ({ request, response, held }) => held.push(() => json(response, { results: pageOf(request, 10) })),
  slow_headers: ({ request, response, options }) => {
    setTimeout(
      () => json(response, { results: pageOf(request, options.hits ?? 10) }),
      options.everyMs ?? 60_000,
    ).unref();
  },
  slow_drip: ({ response, options }) => {
    response.writeHead(200, { "content-type": "application/json" });
    const timer = setInterval(() => response.write(" "), options.everyMs ?? 10);
    response.on("close", () => clearInterval(timer));
  },
  slow_drip_of_headers: ({ socket }) => {
    socket.write("HTTP/1.1 200 OK\r\nx-padding: ");
    everyMs(socket, 20, () => socket.write("a"));
  },
  stall_in_body: ({ response }) => {
    response.writeHead(200, { "content-type": "application/json" }).write('{"results": [');
  },
  endless_body: ({ response }) => pour(response, Number.POSITIVE_INFINITY),
  fifty_megabytes: ({ response }) => pour(response, 50 * 1024 * 1024),

  // Resets that depend on earlier requests on the same socket.
  reset_before_headers: ({ socket }) => socket.resetAndDestroy(),
  reset_on_reused_socket: ({ request, response, socket, earlier }) =>
    earlier === 0 ? json(response, { results: pageOf(request, 10) }) : socket.resetAndDestroy(),
  reset_in_status_line_on_reused_socket: ({ request, response, socket, earlier }) => {
    if (earlier === 0) return json(response, { results: pageOf(request, 10) });
    socket.write("HTTP/1.1 2", () => socket.destroy());
  },
} satisfies Record<string, Behaviour>;

function pageOf(request: ReceivedRequest, total: number) {
  const page = pageNumber(request);
  return hitsBetween((page - 1) * 10 + 1, Math.min(page * 10, total));
}

function pageNumber(request: ReceivedRequest): number {
  return Number(request.query.get("pageno") ?? 1);
}

function json(response: ServerResponse, value: unknown, headers: Record<string, string | string[]> = {}): void {
  response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

function jsonText(response: ServerResponse, text: string | Buffer): void {
  response.writeHead(200, { "content-type": "application/json" }).end(text);
}

function compressed(response: ServerResponse, encoding: string, bytes: Buffer): void {
  response.writeHead(200, { "content-type": "application/json", "content-encoding": encoding }).end(bytes);
}

/** White space, so that only the size is wrong. */
function pour(response: ServerResponse, bytes: number, status = 200): void {
  const chunk = Buffer.alloc(64 * 1024, " ");
  let sent = 0;
  const more = () => {
    while (!response.destroyed && sent < bytes) {
      sent += chunk.length;
      if (!response.write(chunk)) return;
    }
    response.end();
  };
  response.writeHead(status, { "content-type": "application/json" }).on("drain", more);
  more();
}

function writeRaw(socket: Socket, { write, afterwards }: RawAnswer): void {
  for (const bytes of write) socket.write(bytes);
  if (afterwards === "end") socket.end();
  // Delayed, because a reset discards bytes that were not yet sent.
  else if (afterwards === "reset") setTimeout(() => socket.resetAndDestroy(), 20);
  else if (afterwards === "repeat the last forever") everyMs(socket, 1, () => socket.write(write.at(-1) ?? ""));
}

function everyMs(socket: Socket, pauseMs: number, act: () => void): void {
  const timer = setInterval(() => socket.writableNeedDrain || act(), pauseMs);
  socket.on("close", () => clearInterval(timer));
}

async function receive(incoming: IncomingMessage, connection: Connection | undefined): Promise<ReceivedRequest> {
  const body = (await incoming.toArray()).join("");
  const { pathname, searchParams } = new URL(incoming.url ?? "/", "http://upstream.invalid");
  return {
    method: incoming.method ?? "",
    path: pathname,
    query: incoming.method === "POST" ? new URLSearchParams(body) : searchParams,
    headers: incoming.headers,
    body,
    connection: connection?.number ?? 0,
    hungUp: connection?.hungUp ?? AbortSignal.abort(),
  };
}
