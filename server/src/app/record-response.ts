import type { FastifyReply, FastifyRequest } from "fastify";
import { OutcomeUnknown } from "../db/settle-batch.ts";
import { problemOf } from "../http/http-server.ts";
import { NoResponse } from "../http/no-response.ts";
import { exceededLimitOf } from "../problems/exceeded-limit.ts";
import { externalMsOf, modeOf } from "../search/search-routes.ts";
import { faultOf } from "../telemetry/metric-table.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { ProcessFigures } from "../telemetry/process-figures.ts";

export interface Recorders {
  metrics: Metrics;
  figures: Pick<ProcessFigures, "recordSearch">;
}

/** Logs and counts each response, without its body. */
export function recordResponse(recorders: Recorders, request: FastifyRequest, reply: FastifyReply): void {
  const problem = problemOf(request);
  const charge = String(reply.getHeader("wallet-charge") ?? "");
  const outcome = problem?.code ?? "ok";
  countSearch(recorders, request, reply, outcome);
  const exceeded = problem && exceededLimitOf(problem);
  if (exceeded) recorders.metrics.countRejected(exceeded);
  const line = {
    status: reply.statusCode,
    outcome,
    route: request.routeOptions.url,
    ms: Math.round(reply.elapsedTime),
    charge,
  };
  // Not logged, to keep rejections cheap under overload. The metrics count them.
  if (problem?.code === "overloaded" && problem.cause === undefined) return;
  if (problem && problem.status >= 500) request.log.warn({ ...line, err: problem.cause }, "request failed");
  else request.log.info(line, "request completed");
}

/** The caller disconnected, or it is unknown whether the caller was charged. */
export function recordNoResponse(
  recorders: Recorders,
  request: FastifyRequest,
  reply: FastifyReply,
  err: unknown,
): void {
  const isUnknown = err instanceof NoResponse && err.cause instanceof OutcomeUnknown;
  const outcome = isUnknown ? "outcome_unknown" : "caller_left";
  countSearch(recorders, request, reply, outcome);
  request.log.info({ err, outcome }, "connection closed without a response");
}

function countSearch(
  { metrics, figures }: Recorders,
  request: FastifyRequest,
  reply: FastifyReply,
  outcome: string,
): void {
  const route = request.routeOptions.url;
  const isSearch = route === "/v1/search" || route?.startsWith("/compat/") || route?.endsWith("/playground/search");
  if (!isSearch) return;
  const mode = modeOf(request);
  metrics.countSearch({
    outcome,
    mode: mode === "live" || mode === "test" ? mode : "unauthenticated",
    seconds: reply.elapsedTime / 1_000,
    ownSeconds: Math.max(0, reply.elapsedTime - externalMsOf(request)) / 1_000,
  });
  const fault = faultOf(outcome);
  const isCounted = mode === "live" && fault !== "caller";
  figures.recordSearch({ ms: reply.elapsedTime, fault: isCounted ? fault : undefined });
}
