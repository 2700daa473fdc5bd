import type { FastifyReply, FastifyRequest } from "fastify";
import { OutcomeUnknown } from "../db/settle-batch.ts";
import { NoResponse } from "../http/no-response.ts";
import { exceededLimitOf } from "../problems/exceeded-limit.ts";
import type { Metrics } from "../telemetry/metrics.ts";

/** Logs and counts each response, without its body. */
export function recordResponse(
  metrics: Pick<Metrics, "countRejected">,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { problem } = request;
  const charge = String(reply.getHeader("wallet-charge") ?? "");
  const outcome = problem?.code ?? "ok";
  const exceeded = problem && exceededLimitOf(problem);
  if (exceeded) metrics.countRejected(exceeded);
  const line = {
    method: request.method,
    route: request.routeOptions.url,
    status: reply.statusCode,
    outcome,
    ms: Math.round(reply.elapsedTime),
    charge,
    ...request.logFields,
  };
  // Not logged, to keep rejections cheap under overload. The metrics count them.
  if (problem?.code === "overloaded" && problem.cause === undefined) return;
  if (problem && problem.status >= 500) request.log.warn({ ...line, err: problem.cause }, "request failed");
  else request.log.info(line, "request completed");
}

/** The caller disconnected, or it is unknown whether the caller was charged. */
export function recordNoResponse(request: FastifyRequest, err: unknown): void {
  const isUnknown = err instanceof NoResponse && err.cause instanceof OutcomeUnknown;
  const outcome = isUnknown ? "outcome_unknown" : "caller_left";
  const { method, routeOptions, logFields } = request;
  request.log.info(
    { method, route: routeOptions.url, outcome, ...logFields, err },
    "connection closed without a response",
  );
}
