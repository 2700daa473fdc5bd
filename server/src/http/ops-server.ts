import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import { Problem } from "../problems.ts";
import { encodeProblem } from "./encode-problem.ts";
import { leaveBodiesUnread } from "./http-server.ts";
import { createFindOperator, type Operator } from "./operators.ts";

export interface OpsServerOptions {
  log: FastifyBaseLogger;
  /** Why this process should get no traffic, or nothing if it should. */
  whyNotReady: () => Promise<string | undefined>;
  renderMetrics: () => Promise<string>;
  /** Who may enter /operator/. Without any, nobody. */
  operators?: readonly Operator[];
  operatorRoutes?: readonly OperatorRoute[];
  /** Where the pages of problems are. */
  publicUrl?: string;
}

/** What stands under /operator/. */
export interface OperatorRoute {
  method: "GET" | "POST";
  path: string;
  handle: (request: FastifyRequest, operator: string) => unknown;
}

/** The internal listener: health and metrics for the operator's network, and a room for operators with a token. */
export function createOpsServer(options: OpsServerOptions): FastifyInstance {
  const { log, whyNotReady, renderMetrics, operators = [], operatorRoutes = [] } = options;
  const ops = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: false,
    requestTimeout: 5_000,
    connectionTimeout: 20_000,
  });
  ops.get("/livez", async () => ({ status: "alive" }));
  ops.get("/readyz", async (_request, reply) => {
    const reason = await whyNotReady();
    return reply.code(reason ? 503 : 200).send(reason ? { status: "not ready", reason } : { status: "ready" });
  });
  ops.get("/metrics", async (_request, reply) => reply.type("text/plain; version=0.0.4").send(await renderMetrics()));

  // Bodies are read by the routes, after the token. A header that Fastify cannot read would be a fault of ours.
  leaveBodiesUnread(ops);
  ops.setErrorHandler((error, request, reply) => sendProblem(request, reply, error, options.publicUrl ?? ""));

  const findOperator = createFindOperator(operators);
  for (const { method, path, handle } of operatorRoutes) {
    ops.route({
      method,
      url: `/operator/${path}`,
      handler: async (request, reply) => {
        reply.header("cache-control", "no-store");
        const operator = findOperator(request.headers.authorization);
        if (!operator) throw notAnOperator();
        request.log.info({ operator: operator.name, method, path }, "an operator came");
        return reply.send(await handle(request, operator.name));
      },
    });
  }
  return ops;
}

function notAnOperator(): Problem {
  return new Problem("authentication_required", {
    detail: "An operator's token is required. Send `Authorization: Bearer <token>` with one of PENNYBLACK_OPERATORS.",
    headers: { "www-authenticate": 'Bearer realm="operator"' },
  });
}

function sendProblem(request: FastifyRequest, reply: FastifyReply, error: unknown, publicUrl: string): void {
  const problem = error instanceof Problem ? error : new Problem("internal_error", { cause: error });
  if (problem.code === "internal_error") request.log.error({ err: problem.cause }, "internal error");
  const path = request.url.split("?", 1)[0] ?? "/";
  const { status, headers, body } = encodeProblem(problem, { publicUrl, requestId: request.id, path });
  reply.code(status).headers(headers).send(body);
}
