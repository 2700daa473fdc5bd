import { randomUUIDv7 } from "node:crypto";
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import { networkOf } from "../lib/network-of.ts";
import type { Admission } from "../limits/admission.ts";
import { leaveSlot, occupyPublicSlot } from "../limits/occupied-slots.ts";
import { Problem } from "../problems/problems.ts";
import { addSiteFiles } from "./built-site.ts";
import { encodeProblem, type ShapeProblem } from "./encode-problem.ts";
import { maxBodyBytes } from "./input/read-body.ts";
import { NoResponse } from "./no-response.ts";
import { methodsOf, type Route } from "./route.ts";
import { unknownPathProblem } from "./unknown-path.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    onRejected?: Route["onRejected"];
    isSearch?: Route["isSearch"];
  }
  interface FastifyRequest {
    /** Further fields of the log line of the response: who sent the request and, for a search, how it went. */
    logFields: Readonly<Record<string, unknown>> | undefined;
    /** The problem returned, if any. */
    problem: Problem | undefined;
  }
}

export interface HttpServerOptions {
  routes: readonly Route[];
  publicUrl: string;
  trustedProxies: string[];
  log: FastifyBaseLogger;
  /** Draining: every response closes its connection. Refusing: new requests get 503. */
  whenStopping: () => { isDraining: boolean; isRefusing: boolean };
  /** How problems at a path are written. Undefined for RFC 9457. */
  findProblemShape?: (path: string) => ShapeProblem | undefined;
  /** The detail of the 404 for a path without a route. Undefined for the default. */
  describeUnknownPath?: (path: string, publicUrl: string) => string | undefined;
  /** Called after each response, for logs and metrics. */
  onResponse: (request: FastifyRequest, reply: FastifyReply) => void;
  /** Called instead if the connection was closed without a response. */
  onNoResponse: (request: FastifyRequest, error: unknown) => void;
  /** Shortened in tests. */
  timeouts?: Partial<typeof timeouts>;
  admission: Pick<Admission, "enter" | "whyFull" | "countHandler">;
}

const timeouts = {
  /** Longer than the load balancer's, or the balancer would reuse a closed connection and return 502. */
  keepAliveMs: 75_000,
  headersMs: 10_000,
  requestMs: 15_000,
  /** How often Node checks the two above. With its default, 10 seconds could become 40. */
  checkIntervalMs: 2_000,
  /** Longer than the longest search: hold, upstream, and a capture that is retried until its outcome is known. */
  inactivityMs: 50_000,
};

/**
 * Requests in flight per connection. Node serves pipelined requests concurrently, and one packet can hold a thousand; a
 * client that waits for responses stays far below this.
 */
const maxPipelined = 16;

/** Serves the routes with the request id, headers and error format that all responses share. */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { publicUrl, admission } = options;
  const app = createFastify(options, sendProblem);
  const unfinished = createUnfinished(admission);
  const known = options.routes.flatMap((route) => methodsOf(route).map((method) => ({ method, path: route.path })));

  // Callbacks, not promises: these run for every request.
  app.addHook("onRequest", (request, reply, done) => {
    if (recordInFlight(request.raw, reply.raw) > maxPipelined) return closeConnection(request, reply);
    reply.headers(commonHeaders(request.id));
    const problem = whyRejected(request);
    if (!problem) return done();
    request.routeOptions.config.onRejected?.(problem);
    // Sent directly instead of thrown, to keep rejections cheap under overload.
    sendProblem(request, reply, problem);
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    if (isBodyUnread(request.raw) || options.whenStopping().isDraining) reply.header("connection", "close");
    done(null, payload);
  });
  app.addHook("onResponse", (request, reply, done) => {
    options.onResponse(request, reply);
    done();
  });

  app.setErrorHandler((error, request, reply) => {
    // The request's own socket is gone if its body was not fully read, so check the response.
    if (error instanceof NoResponse || reply.raw.destroyed) {
      options.onNoResponse(request, error);
      reply.hijack();
      reply.raw.destroy();
      return;
    }
    const problem = toProblem(error);
    if (problem.code === "internal_error") request.log.error({ err: problem.cause }, "internal error");
    sendProblem(request, reply, problem);
  });

  for (const route of options.routes) {
    app.route({
      method: route.method,
      url: route.path,
      exposeHeadRoute: methodsOf(route).includes("HEAD"),
      config: { onRejected: route.onRejected, isSearch: route.isSearch },
      handler: (request, reply) => {
        // To Fastify, "/v1/keys/" is "/v1/keys/:id" with an empty id.
        if (Object.values(request.params as object).includes("")) throw unknownPathProblem(known, request);
        if (isPublic(route)) occupyPublicSlot(request, () => admission.enter("public", networkOf(request.ip)));
        return unfinished.track(request, route.handle(request, reply));
      },
    });
  }
  // A request outlives its connection if the caller disconnects, but its hold still has to be captured or released.
  app.addHook("onClose", unfinished.ended);
  app.setNotFoundHandler((request, reply) => {
    const fallback = options.describeUnknownPath?.(request.url.split("?", 1)[0] ?? "/", publicUrl);
    sendProblem(request, reply, unknownPathProblem(known, request, fallback));
  });

  /** Before the caller is known. */
  function whyRejected({ raw }: FastifyRequest): Problem | undefined {
    if (options.whenStopping().isRefusing) return new Problem("shutting_down");
    const hostFault = findHostFault(raw);
    return hostFault === undefined ? admission.whyFull() : invalidHttp(hostFault);
  }

  function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): void {
    const path = request.url.split("?", 1)[0] ?? "/";
    const { isSearch = false } = request.routeOptions.config;
    const at = { publicUrl, requestId: request.id, path, isSearch };
    const { status, headers, body } = encodeProblem(problem, at, options.findProblemShape?.(path));
    if (!reply.hasHeader("request-id")) reply.headers(commonHeaders(request.id));
    reply.code(status).headers(headers).send(body);
    request.problem = problem;
  }
  return app;
}

interface Unfinished {
  /** Counts the request until its handler has finished, and then frees its slot. */
  track<Result>(request: FastifyRequest, work: Promise<Result>): Promise<Result>;
  /** Resolves when no handler is running. */
  ended: () => Promise<void>;
}

function createUnfinished(admission: Pick<Admission, "countHandler">): Unfinished {
  // A counter, not a set: see decision 0009.
  let unfinished = 0;
  let onAllFinished = (): void => undefined;
  return {
    track(request, work) {
      unfinished += 1;
      admission.countHandler(1);
      const recordFinished = (): void => {
        leaveSlot(request);
        unfinished -= 1;
        admission.countHandler(-1);
        if (unfinished === 0) onAllFinished();
      };
      work.then(recordFinished, recordFinished);
      return work;
    },
    async ended() {
      if (unfinished === 0) return;
      await new Promise<void>((resolve) => {
        onAllFinished = resolve;
      });
    },
  };
}

function isPublic({ admission, scope }: Route): boolean {
  return (admission ?? (scope === undefined ? "public" : "handler")) === "public";
}

type SendProblem = (request: FastifyRequest, reply: FastifyReply, problem: Problem) => void;

/** Fastify without its own handling of bodies, request ids and errors. */
function createFastify(options: HttpServerOptions, sendProblem: SendProblem): FastifyInstance {
  const { keepAliveMs, headersMs, requestMs, checkIntervalMs, inactivityMs } = { ...timeouts, ...options.timeouts };
  const app = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "requestId" }),
    genReqId: () => randomUUIDv7(),
    requestIdHeader: false,
    exposeHeadRoutes: false,
    bodyLimit: maxBodyBytes,
    trustProxy: options.trustedProxies.length > 0 ? options.trustedProxies : false,
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestMs,
    connectionTimeout: inactivityMs,
    // A stopping server still serves requests; main.ts decides when to reject them.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    http: {
      maxHeaderSize: 16_384,
      headersTimeout: headersMs,
      connectionsCheckingInterval: checkIntervalMs,
      joinDuplicateHeaders: false,
      // Checked above, to return a problem.
      requireHostHeader: false,
    },
    frameworkErrors: (error, request, reply) => sendProblem(request, reply, toProblem(error)),
    clientErrorHandler: (error, socket) => rejectMalformedRequest(error, socket, options.publicUrl),
  });

  app.decorateRequest("logFields", undefined);
  app.decorateRequest("problem", undefined);
  disableBodyParsing(app);
  addSiteFiles(app);
  return app;
}

/**
 * Fastify would parse the body before authentication, so that a bad body or content type would take precedence over a
 * missing key. Routes call readBody instead, which reads the original header.
 */
export function disableBodyParsing(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  app.addHook("onRequest", (request, _reply, done) => {
    const isOurs = request.raw.headers["content-type"] === "application/json";
    if (!isOurs) request.headers = { "content-type": "application/octet-stream" };
    done();
  });
  // Node would answer an unknown Expect header with 417 and no body; a server may ignore it.
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
}

/** The requests in flight on each connection. An array, not a set: see decision 0009. */
const inFlight = new WeakMap<Socket, IncomingMessage[]>();

/** Returns the number of requests in flight on the connection, including this one. */
function recordInFlight(request: IncomingMessage, response: ServerResponse): number {
  const { socket } = request;
  const requests = inFlight.get(socket) ?? [];
  if (requests.push(request) === 1) inFlight.set(socket, requests);
  response.once("close", () => requests.splice(requests.indexOf(request), 1));
  return requests.length;
}

/** Logs once per connection, regardless of the number of requests in the last packet. */
function closeConnection(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack();
  if (!request.raw.socket.destroyed) request.log.info("connection closed: too many requests in flight");
  request.raw.socket.destroy();
}

function commonHeaders(requestId: string): Record<string, string> {
  return {
    "request-id": requestId,
    "cache-control": "no-store",
    "wallet-charge": "0.00;currency=usd",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "strict-transport-security": "max-age=31536000",
    "cross-origin-resource-policy": "same-origin",
  };
}

function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "FST_ERR_BAD_URL" || code === "FST_ERR_MAX_PARAM_LENGTH") return new Problem("not_found");
  return new Problem("internal_error", { cause: error });
}

/** As RFC 9112 requires. With two Host headers, a proxy may have routed the request by the one that Node ignores. */
function findHostFault({ rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  if (count > 1) return "There is more than one Host header.";
  return count === 0 && httpVersion === "1.1" ? "The Host header is missing." : undefined;
}

/** True if the rest of the body is too large to be worth reading, so that the connection has to be closed. */
function isBodyUnread(request: IncomingMessage): boolean {
  if (request.complete || request.readableDidRead) return false;
  return "transfer-encoding" in request.headers || Number(request.headers["content-length"] ?? 0) > maxBodyBytes;
}

/** Malformed and slow requests never reach a route. They get a problem response as well. */
function rejectMalformedRequest(error: Error & { code?: string }, socket: Socket, publicUrl: string): void {
  // The client would take this response for that of a complete request in flight, which may still be charged.
  const isResponsePending = inFlight.get(socket)?.some((request) => request.complete);
  if (isResponsePending || error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const requestId = randomUUIDv7();
  const problem = malformedRequestProblem(error.code);
  const { status, headers, body } = encodeProblem(problem, { publicUrl, requestId, path: "/", isSearch: true });
  const lines = Object.entries({ ...commonHeaders(requestId), ...headers, connection: "close" });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function malformedRequestProblem(code: string | undefined): Problem {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return invalidHttp("The request was not received in time.", 408);
  if (code === "HPE_HEADER_OVERFLOW") return invalidHttp("The headers are larger than 16 KiB.", 431);
  return invalidHttp("The request is not valid HTTP.");
}

function invalidHttp(fault: string, status = 400): Problem {
  return new Problem("invalid_request", {
    status,
    detail: `${fault} You were not charged. Correct the request and send it again.`,
    members: { errors: [{ pointer: "#", code: "invalid_http", detail: fault }] },
  });
}
