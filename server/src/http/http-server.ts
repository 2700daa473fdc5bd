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
import { Problem } from "../problems.ts";
import { type AdmissionLimits, startAdmission } from "./admission.ts";
import { encodeProblem } from "./encode-problem.ts";
import { NoAnswer } from "./no-answer.ts";
import { mostBodyBytes } from "./read-body.ts";
import type { Route } from "./route.ts";

export interface HttpServerOptions {
  routes: readonly Route[];
  publicUrl: string;
  trustedProxies: string[];
  log: FastifyBaseLogger;
  /** Draining: each answer closes its connection. Refusing: new requests get 503. */
  whenStopping: () => { isDraining: boolean; isRefusing: boolean };
  /** After each answer, for logs and metrics. Knows nothing of bodies. */
  onAnswer: (request: FastifyRequest, reply: FastifyReply) => void;
  /** Instead of that, where the connection was closed without an answer. */
  onNoAnswer: (request: FastifyRequest, reply: FastifyReply, error: unknown) => void;
  /** Tests shorten them. */
  timeouts?: Partial<typeof timeouts>;
  admission?: Partial<AdmissionLimits>;
}

/** Each request takes memory while it waits for an upstream, and no CPU. */
const admissionLimits: AdmissionLimits = { most: 4_000, least: 250, lateMs: 100, patienceMs: 500 };

const timeouts = {
  /** A kept connection must outlive the balancer's, or the balancer finds it closed and answers 502. */
  keepAliveMs: 75_000,
  headersMs: 10_000,
  requestMs: 15_000,
  /** How often the two above are looked at. Node's own choice would let 10 seconds become 40. */
  checkEveryMs: 2_000,
  /** The longest silence on a connection. Longer than the longest search: hold, upstream, and a capture sent until known. */
  silenceMs: 50_000,
};

/**
 * On one connection. Node serves all that come pipelined at once, and one packet holds a thousand; no client that waits
 * for answers comes near this.
 */
const mostUnanswered = 16;

/** Routes with the shape that every answer has: its id, its headers, its errors. Nothing here knows about money. */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { publicUrl } = options;
  const app = createFastify(options, sendProblem);
  // A count, and not a set of them: see decision 0009.
  let unfinished = 0;
  let onAllFinished = (): void => undefined;
  const admission = startAdmission({ ...admissionLimits, ...options.admission }, () => unfinished);

  // Callbacks, not promises: these run for every request.
  app.addHook("onRequest", (request, reply, done) => {
    if (noteUnderWay(request.raw, reply.raw) > mostUnanswered) return closeUnanswered(request, reply);
    reply.headers(headersOfEveryAnswer(request.id));
    const isHostMissing = request.raw.headers.host === undefined && request.raw.httpVersion === "1.1";
    if (options.whenStopping().isRefusing) done(new Problem("shutting_down"));
    else if (isHostMissing) done(brokenRequest("It names no Host."));
    // Straight out, and not by way of an error: there are many exactly when there is no time for them.
    else if (admission.isFull()) sendProblem(request, reply, overloaded);
    else done();
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    if (isBodyUnread(request.raw) || options.whenStopping().isDraining) reply.header("connection", "close");
    done(null, payload);
  });
  app.addHook("onResponse", (request, reply, done) => {
    options.onAnswer(request, reply);
    done();
  });

  app.setErrorHandler((error, request, reply) => {
    // A request that was not read to its end has lost its socket; the answer knows whether anyone is there.
    if (error instanceof NoAnswer || reply.raw.destroyed) {
      options.onNoAnswer(request, reply, error);
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
      handler: (request, reply) => {
        // To Fastify, "/v1/keys/" is "/v1/keys/:id" with an empty id.
        if (Object.values(request.params as object).includes("")) throw explainNotFound(options.routes, request);
        return watch(route.handle(request, reply));
      },
    });
  }
  // No connection waits for a caller who has gone, but what became of the money still has to be written down.
  app.addHook("onClose", async () => {
    admission.stop();
    if (unfinished === 0) return;
    await new Promise<void>((resolve) => {
      onAllFinished = resolve;
    });
  });

  function watch<Answer>(work: Promise<Answer>): Promise<Answer> {
    unfinished += 1;
    work.then(noteFinished, noteFinished);
    return work;
  }

  function noteFinished(): void {
    unfinished -= 1;
    if (unfinished === 0) onAllFinished();
  }
  app.setNotFoundHandler((request, reply) => sendProblem(request, reply, explainNotFound(options.routes, request)));

  function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): void {
    const path = request.url.split("?", 1)[0] ?? "/";
    const { status, headers, body } = encodeProblem(problem, { publicUrl, requestId: request.id, path });
    if (!reply.hasHeader("request-id")) reply.headers(headersOfEveryAnswer(request.id));
    reply.code(status).headers(headers).send(body);
    problemSent.set(request, problem);
  }
  return app;
}

const overloaded = new Problem("overloaded");

type SendProblem = (request: FastifyRequest, reply: FastifyReply, problem: Problem) => void;

/** Fastify with its own opinions switched off: on bodies, on ids, on errors, on methods. */
function createFastify(options: HttpServerOptions, sendProblem: SendProblem): FastifyInstance {
  const { keepAliveMs, headersMs, requestMs, checkEveryMs, silenceMs } = { ...timeouts, ...options.timeouts };
  const app = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "requestId" }),
    genReqId: () => randomUUIDv7(),
    requestIdHeader: false,
    exposeHeadRoutes: false,
    bodyLimit: mostBodyBytes,
    trustProxy: options.trustedProxies.length > 0 ? options.trustedProxies : false,
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestMs,
    connectionTimeout: silenceMs,
    // A stopping server finishes what it is given; main.ts decides when to refuse.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    http: {
      maxHeaderSize: 16_384,
      headersTimeout: headersMs,
      connectionsCheckingInterval: checkEveryMs,
      joinDuplicateHeaders: false,
      // Refused by us instead, in our shape.
      requireHostHeader: false,
    },
    frameworkErrors: (error, request, reply) => sendProblem(request, reply, toProblem(error)),
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, options.publicUrl),
  });

  leaveBodiesUnread(app);
  return app;
}

/**
 * Fastify would parse before any of our code runs, and a bad body or content type would win over a missing key. readBody
 * looks at the header as it came.
 */
export function leaveBodiesUnread(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  app.addHook("onRequest", (request, _reply, done) => {
    const isOurs = request.raw.headers["content-type"] === "application/json";
    if (!isOurs) request.headers = { "content-type": "application/octet-stream" };
    done();
  });
  // Node would answer 417 without a body to an expectation it does not know, which a server may as well ignore.
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
}

/** The requests of a connection that have begun and are not answered. An array, and not a set: see decision 0009. */
const underWay = new WeakMap<Socket, IncomingMessage[]>();

/** How many there are now. */
function noteUnderWay(request: IncomingMessage, response: ServerResponse): number {
  const { socket } = request;
  const requests = underWay.get(socket) ?? [];
  if (requests.push(request) === 1) underWay.set(socket, requests);
  response.once("close", () => requests.splice(requests.indexOf(request), 1));
  return requests.length;
}

/** Said once in the log, however many requests the last packet held. */
function closeUnanswered(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack();
  if (!request.raw.socket.destroyed) request.log.info("closed: too many requests without an answer on one connection");
  request.raw.socket.destroy();
}

const problemSent = new WeakMap<FastifyRequest, Problem>();

/** Which refusal a request got, if it got one. */
export function problemOf(request: FastifyRequest): Problem | undefined {
  return problemSent.get(request);
}

function headersOfEveryAnswer(requestId: string): Record<string, string> {
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

/** 405 where the path is known for another method, else 404. */
function explainNotFound(routes: readonly Route[], request: FastifyRequest): Problem {
  const path = request.url.split("?", 1)[0] ?? "";
  const allowed = routes.filter((route) => matchesPath(route.path, path)).map((route) => route.method);
  if (allowed.length === 0) return new Problem("not_found");
  return new Problem("method_not_allowed", { headers: { allow: [...new Set(allowed)].join(", ") } });
}

function matchesPath(pattern: string, path: string): boolean {
  if (pattern.endsWith("/*")) return path.startsWith(pattern.slice(0, -1));
  const wanted = pattern.split("/");
  const given = path.split("/");
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => (part.startsWith(":") ? given[index] !== "" : part === given[index]))
  );
}

/** A body too large to be worth reading to its end: the connection is given up instead. */
function isBodyUnread(request: IncomingMessage): boolean {
  if (request.complete || request.readableDidRead) return false;
  return "transfer-encoding" in request.headers || Number(request.headers["content-length"] ?? 0) > mostBodyBytes;
}

/** What is not HTTP, or comes too slowly, never reaches a route. It gets an answer in our shape all the same. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket, publicUrl: string): void {
  // A request that has arrived whole is being served: this would be read as its answer, and it may yet be charged.
  const isAwaited = underWay.get(socket)?.some((request) => request.complete);
  if (isAwaited || error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const requestId = randomUUIDv7();
  const problem = explainBrokenRequest(error.code);
  const { status, headers, body } = encodeProblem(problem, { publicUrl, requestId, path: "/" });
  const lines = Object.entries({ ...headersOfEveryAnswer(requestId), ...headers, connection: "close" });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function explainBrokenRequest(code: string | undefined): Problem {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return brokenRequest("It did not arrive in time.", 408);
  if (code === "HPE_HEADER_OVERFLOW") return brokenRequest("Its headers are larger than 16 KiB.", 431);
  return brokenRequest("It breaks HTTP's grammar.");
}

function brokenRequest(fault: string, status = 400): Problem {
  return new Problem("invalid_request", {
    status,
    detail: `This is not a valid HTTP request. ${fault} Nothing was charged.`,
    members: { errors: [{ pointer: "#", code: "invalid_http", detail: fault }] },
  });
}
