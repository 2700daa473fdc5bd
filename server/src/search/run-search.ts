import type { FastifyReply, FastifyRequest } from "fastify";
import { readBody } from "../http/input/read-body.ts";
import type { Principal } from "../keys/keys.ts";
import { formatUsd } from "../lib/money.ts";
import { Problem } from "../problems/problems.ts";
import { faultOf } from "../telemetry/metric-table.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { ProcessFigures } from "../telemetry/process-figures.ts";
import type { SearchTrace, Tracing } from "../telemetry/tracing.ts";
import { outcomeOf } from "./outcome-of.ts";
import { type SearchAnswer, type SearchDependencies, type SearchRequest, search } from "./search.ts";
import { startSteps } from "./steps.ts";

// Every search runs here: POST /v1/search, the compatibility endpoints, the playground of the console and the tool of MCP.
// They differ in how the caller is authenticated, where the input comes from and how the answer is written. The steps of the
// search, its trace, metrics and headers are the same.

export interface SearchRunner {
  run: (call: SearchCall) => Promise<SearchAnswer>;
  /** Counts a search that the server rejected before its handler. */
  recordRejected: (problem: Problem) => void;
}

export interface SearchCall {
  request: FastifyRequest;
  reply: FastifyReply;
  /** Default: the body of the request and its headers. */
  readInput?: (readBody: () => Promise<Buffer>, caller: Principal) => ReturnType<SearchRequest["readInput"]>;
  /** Aborts if the caller cancels the search, in addition to disconnecting. */
  signal?: AbortSignal;
  /** Used instead of the dependencies of POST /v1/search. */
  replace?: Partial<Pick<SearchDependencies, "authenticate" | "hold" | "rank">>;
}

export interface SearchRecorders {
  metrics: Pick<Metrics, "countSearch">;
  figures: Pick<ProcessFigures, "duringSearch" | "recordSearch">;
  /** Called for every paid search, even if the caller has disconnected. */
  recordCharge(answer: SearchAnswer): void;
  /** Undefined if tracing is off. */
  startTrace: Tracing["startSearch"] | undefined;
}

export function createSearchRunner(dependencies: SearchDependencies, recorders: SearchRecorders): SearchRunner {
  return {
    run: (call) => recorders.figures.duringSearch(() => runSearch(dependencies, recorders, call)),
    recordRejected: ({ code }) => recordSearch(recorders, { outcome: code, mode: undefined, ms: 0, ownMs: 0 }),
  };
}

async function runSearch(
  dependencies: SearchDependencies,
  recorders: SearchRecorders,
  { request, reply, readInput, signal, replace }: SearchCall,
): Promise<SearchAnswer> {
  const trace = startTrace(recorders, request);
  const steps = startSteps(trace);
  const disconnected = abortOnDisconnect(reply);
  const headers = request.headers as SearchRequest["headers"];
  const read = (): Promise<Buffer> => steps.waitExternally(() => readBody(request.raw));
  let caller: Principal | undefined;
  let outcome = "ok";
  let status: number | undefined = 200;
  try {
    const answer = await search(
      {
        searchId: request.id,
        rawHeaders: request.raw.rawHeaders,
        headers,
        ip: request.ip,
        steps,
        readInput: async (known) => (readInput ? readInput(read, known) : { body: await read(), headers }),
        signal: signal ? AbortSignal.any([signal, disconnected]) : disconnected,
        setCaller: (known) => void (caller = known),
        setHeaders: (values) => void reply.headers(values),
      },
      { ...dependencies, ...replace },
    );
    recorders.recordCharge(answer);
    if (disconnected.aborted)
      request.log.info({ charge: formatUsd(answer.charge) }, "search charged, caller disconnected");
    setResponseHeaders(reply, answer);
    return answer;
  } catch (error) {
    outcome = outcomeOf(error);
    status = error instanceof Problem ? error.status : undefined;
    throw error;
  } finally {
    const ms = steps.elapsedMs();
    reply.header("server-timing", steps.header());
    recordSearch(recorders, { outcome, mode: caller?.mode, ms, ownMs: Math.max(0, ms - steps.externalMs()) });
    trace?.end({ outcome, mode: caller?.mode, status });
  }
}

interface EndedSearch {
  outcome: string;
  /** Undefined if the caller was not authenticated. */
  mode: Principal["mode"] | undefined;
  ms: number;
  /** Without the time spent reading the body and waiting for upstreams. */
  ownMs: number;
}

function recordSearch({ metrics, figures }: SearchRecorders, { outcome, mode, ms, ownMs }: EndedSearch): void {
  const fault = faultOf(outcome);
  metrics.countSearch({
    outcome,
    mode: mode === "live" || mode === "test" ? mode : "unauthenticated",
    seconds: ms / 1_000,
    ownSeconds: ownMs / 1_000,
  });
  figures.recordSearch({ ms, fault: mode === "live" && fault !== "caller" ? fault : undefined });
}

function abortOnDisconnect({ raw }: FastifyReply): AbortSignal {
  const disconnected = new AbortController();
  raw.once("close", () => {
    if (!raw.writableFinished) disconnected.abort();
  });
  return disconnected.signal;
}

/** Undefined if tracing is off. The request's log lines carry the id of a sampled trace. */
function startTrace({ startTrace: start }: SearchRecorders, request: FastifyRequest): SearchTrace | undefined {
  const { traceparent } = request.raw.headers;
  const trace = start?.(request.id, typeof traceparent === "string" ? traceparent : undefined);
  if (trace?.traceId !== undefined) request.log = request.log.child({ trace_id: trace.traceId });
  return trace;
}

function setResponseHeaders(reply: FastifyReply, { caller, charge, balance, isReplayed }: SearchAnswer): void {
  reply.header("wallet-charge", `${formatUsd(charge)};currency=usd`);
  if (caller.scopes.includes("wallet:read")) reply.header("wallet-balance", `${formatUsd(balance)};currency=usd`);
  if (isReplayed) reply.header("idempotent-replayed", "true");
}
