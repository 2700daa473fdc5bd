import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import { createFindOperator, type Operator } from "./operators.ts";

export interface OpsServerOptions {
  log: FastifyBaseLogger;
  /** Why this process should get no traffic, or nothing if it should. */
  whyNotReady: () => Promise<string | undefined>;
  renderMetrics: () => Promise<string>;
  /** Who may read the pages below. Without any, nobody. */
  operators?: readonly Operator[];
  /** What stands under /operator/, by the rest of the address. */
  operatorPages?: Record<string, () => unknown>;
}

/** The internal listener: health and metrics for the operator's network, and pages for operators with a token. */
export function createOpsServer(options: OpsServerOptions): FastifyInstance {
  const { log, whyNotReady, renderMetrics, operators = [], operatorPages = {} } = options;
  const ops = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: 5_000,
    connectionTimeout: 20_000,
  });
  ops.get("/livez", async () => ({ status: "alive" }));
  ops.get("/readyz", async (_request, reply) => {
    const reason = await whyNotReady();
    return reply.code(reason ? 503 : 200).send(reason ? { status: "not ready", reason } : { status: "ready" });
  });
  ops.get("/metrics", async (_request, reply) => reply.type("text/plain; version=0.0.4").send(await renderMetrics()));

  const findOperator = createFindOperator(operators);
  for (const [page, read] of Object.entries(operatorPages)) {
    ops.get(`/operator/${page}`, async (request, reply) => {
      reply.header("cache-control", "no-store");
      const operator = findOperator(request.headers.authorization);
      if (!operator) return reply.code(401).header("www-authenticate", 'Bearer realm="operator"').send(notAnOperator);
      request.log.info({ operator: operator.name, page }, "an operator looked");
      return reply.send(await read());
    });
  }
  return ops;
}

const notAnOperator = {
  title: "An operator's token is required",
  status: 401,
  detail: "Send `Authorization: Bearer <token>` with a token of PENNYBLACK_OPERATORS.",
};
