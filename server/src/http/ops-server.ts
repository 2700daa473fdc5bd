import { randomUUIDv7 } from "node:crypto";
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import { Type } from "typebox";
import type { Secrets } from "../lib/secrets.ts";
import { Problem } from "../problems/problems.ts";
import { addSiteFiles } from "./built-site.ts";
import { encodeProblem } from "./encode-problem.ts";
import { disableBodyParsing } from "./http-server.ts";
import { jsonReader } from "./input/read-json.ts";
import { closeSession, createOperators, type Operator, type Operators } from "./operator-auth.ts";
import type { Route } from "./route.ts";
import { unknownPathProblem } from "./unknown-path.ts";

export interface OpsServerOptions {
  log: FastifyBaseLogger;
  /** The reason this process should get no traffic, or undefined if it is ready. */
  whyNotReady: () => Promise<string | undefined>;
  renderMetrics: () => Promise<string>;
  /** Operators who can access /operator/. Empty disables it. */
  operators?: readonly Operator[];
  operatorRoutes?: readonly OperatorRoute[];
  /** Signs the sessions of operators who use a browser. */
  secrets?: Secrets;
  /** Static pages, served without authentication because they contain no data. */
  pages?: readonly Pick<Route, "method" | "path" | "handle">[];
  /** Base URL of the problem pages and the docs. */
  publicUrl?: string;
}

/** A route for operators. The path is below /operator/, unless it starts with a slash. */
export interface OperatorRoute {
  method: "GET" | "POST";
  path: string;
  handle: (request: FastifyRequest, operator: string, reply: FastifyReply) => unknown;
}

/** The internal listener: health and metrics for the operator's network, and /operator/ for operators with a token. */
export function createOpsServer(options: OpsServerOptions): FastifyInstance {
  const { log, whyNotReady, renderMetrics, operators = [], operatorRoutes = [] } = options;
  const ops = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "requestId" }),
    genReqId: () => randomUUIDv7(),
    requestTimeout: 5_000,
    connectionTimeout: 20_000,
    // A URL that cannot be decoded.
    frameworkErrors: (_error, request, reply) => sendNotFound(request, reply),
  });
  const routes: { method: string; path: string }[] = [];
  ops.addHook("onRoute", ({ method, url }) => {
    for (const each of [method].flat()) routes.push({ method: each, path: url });
  });
  ops.get("/livez", async () => ({ status: "alive" }));
  ops.get("/readyz", async (_request, reply) => {
    const reason = await whyNotReady();
    return reply.code(reason ? 503 : 200).send(reason ? { status: "not ready", reason } : { status: "ready" });
  });
  ops.get("/metrics", async (_request, reply) => reply.type("text/plain; version=0.0.4").send(await renderMetrics()));

  // Routes read the body after authentication. Fastify would report a content type it cannot parse as an internal error.
  ops.decorateRequest("logFields", undefined);
  disableBodyParsing(ops);
  addSiteFiles(ops);
  ops.setErrorHandler((error, request, reply) => sendProblem(request, reply, error, options.publicUrl ?? ""));

  const known = createOperators({ operators, secrets: options.secrets });
  ops.addHook("onResponse", (request, reply, done) => {
    const { method, routeOptions, logFields } = request;
    const line = { method, route: routeOptions.url, status: reply.statusCode, ms: Math.round(reply.elapsedTime) };
    if (logFields) request.log.info({ ...line, ...logFields }, "operator request");
    done();
  });
  if (operators.length > 0 && options.secrets) addSessionRoutes(ops, known);
  for (const { method, path, handle } of operatorRoutes) {
    ops.route({
      method,
      url: path.startsWith("/") ? path : `/operator/${path}`,
      handler: async (request, reply) => {
        reply.headers(commonHeaders);
        const operator = known.find(request);
        if (!operator) throw notAnOperator();
        request.logFields = { operator: operator.name };
        return handle(request, operator.name, reply);
      },
    });
  }
  // Alerts link to runbooks by path, and the public listener serves the docs.
  if (options.publicUrl !== undefined) {
    ops.get("/docs/*", async (request, reply) => reply.redirect(`${options.publicUrl}${request.url}`));
  }
  for (const { method, path, handle } of options.pages ?? []) {
    ops.route({
      method,
      url: path,
      handler: (request, reply) => handle(request, reply.headers(commonHeaders)),
    });
  }
  ops.setNotFoundHandler(sendNotFound);

  function sendNotFound(request: FastifyRequest, reply: FastifyReply): void {
    const problem = unknownPathProblem(routes, request, notFoundDetail);
    sendProblem(request, reply.headers(commonHeaders), problem, options.publicUrl ?? "");
  }
  return ops;
}

/** Routes can override them. */
const commonHeaders = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
};

const readToken = jsonReader(
  Type.Object({ token: Type.String({ maxLength: 1_000 }) }, { additionalProperties: false }),
);

/** A browser exchanges a token for a cookie, so that the token is never stored in a page. */
function addSessionRoutes(ops: FastifyInstance, known: Operators): void {
  const url = "/operator/session";
  ops.get(url, async (request, reply) => {
    reply.headers(commonHeaders);
    return { operator: known.find(request)?.name ?? null };
  });
  ops.post(url, async (request, reply) => {
    reply.headers(commonHeaders);
    const { token } = await readToken(request.raw);
    const operator = known.findByToken(token);
    if (!operator) throw notAnOperator();
    request.log.info({ operator: operator.name }, "operator signed in");
    return reply.code(204).header("set-cookie", known.openSession(operator)).send();
  });
  ops.delete(url, async (_request, reply) =>
    reply.headers(commonHeaders).code(204).header("set-cookie", closeSession).send(),
  );
}

const notFoundDetail =
  "Nothing exists at this path. This is the internal listener, for health checks, metrics and operators. The API is on the public listener.";

function notAnOperator(): Problem {
  return new Problem("authentication_required", {
    detail:
      "An operator token is required. Send `Authorization: Bearer <token>` with a token from PENNYBLACK_OPERATORS. With a session cookie, changes also need `x-pennyblack-csrf: 1` and must come from a page of this listener.",
    headers: { "www-authenticate": 'Bearer realm="operator"' },
  });
}

function sendProblem(request: FastifyRequest, reply: FastifyReply, error: unknown, publicUrl: string): void {
  const problem = error instanceof Problem ? error : new Problem("internal_error", { cause: error });
  if (problem.code === "internal_error") request.log.error({ err: problem.cause }, "internal error");
  const path = request.url.split("?", 1)[0] ?? "/";
  const { status, headers, body } = encodeProblem(problem, { publicUrl, requestId: request.id, path, isSearch: false });
  reply.code(status).headers(headers).send(body);
}
