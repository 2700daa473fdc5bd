import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";

export interface OpsServerOptions {
  log: FastifyBaseLogger;
  /** Why this process should get no traffic, or nothing if it should. */
  whyNotReady: () => Promise<string | undefined>;
  renderMetrics: () => Promise<string>;
}

/** The internal listener: health and metrics, for the operator's network. */
export function createOpsServer({ log, whyNotReady, renderMetrics }: OpsServerOptions): FastifyInstance {
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
  return ops;
}
