import type { FastifyReply, FastifyRequest } from "fastify";
import { OutcomeUnknown } from "./db/lane.ts";
import { problemOf } from "./http/http-server.ts";
import { NoAnswer } from "./http/no-answer.ts";
import { modeOf } from "./search/search-routes.ts";
import type { Metrics } from "./telemetry/metrics.ts";

/** After each answer: a line and a count. Neither knows of bodies. */
export function noteAnswer(metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const problem = problemOf(request);
  const charge = String(reply.getHeader("wallet-charge") ?? "");
  const outcome = problem?.code ?? "ok";
  countSearch(metrics, request, reply, outcome);
  const line = {
    status: reply.statusCode,
    outcome,
    route: request.routeOptions.url,
    ms: Math.round(reply.elapsedTime),
    charge,
  };
  // There are many of them exactly when there is no time for them; the metrics count each.
  if (problem?.code === "overloaded" && problem.cause === undefined) return;
  if (problem && problem.status >= 500) request.log.warn({ ...line, err: problem.cause }, "failed");
  else request.log.info(line, "answered");
}

/** The caller has gone, or what became of its money could not be learned. */
export function noteNoAnswer(metrics: Metrics, request: FastifyRequest, reply: FastifyReply, err: unknown): void {
  const isUnknown = err instanceof NoAnswer && err.cause instanceof OutcomeUnknown;
  const outcome = isUnknown ? "outcome_unknown" : "caller_left";
  countSearch(metrics, request, reply, outcome);
  request.log.info({ err, outcome }, "closed without an answer");
}

function countSearch(metrics: Metrics, request: FastifyRequest, reply: FastifyReply, outcome: string): void {
  const route = request.routeOptions.url;
  if (route !== "/v1/search" && !route?.endsWith("/playground/search")) return;
  const mode = modeOf(request);
  metrics.countSearch({
    outcome,
    mode: mode === "live" || mode === "test" ? mode : "nobody",
    seconds: reply.elapsedTime / 1_000,
  });
}
