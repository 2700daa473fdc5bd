import type { FastifyReply, FastifyRequest } from "fastify";
import { OutcomeUnknown } from "../db/settle-batch.ts";
import { readBody } from "../http/input/read-body.ts";
import type { Principal } from "../keys/keys.ts";
import { formatUsd } from "../lib/money.ts";
import { Problem } from "../problems/problems.ts";
import { describeCaller } from "../telemetry/describe-caller.ts";
import { faultOf } from "../telemetry/metric-table.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { ProcessFigures } from "../telemetry/process-figures.ts";
import type { SearchTrace, Tracing } from "../telemetry/tracing.ts";
import type { Transport, UnheldRequest } from "../usage/usage.ts";
import { outcomeOf } from "./outcome-of.ts";
import { type SearchAnswer, type SearchDependencies, type SearchRequest, search } from "./search.ts";
import type { SearchFacts } from "./search-facts.ts";
import { type Steps, startSteps } from "./steps.ts";

// Every search runs here: POST /v1/search, the compatibility endpoints, the playground of the console and the tool of MCP.
// They differ in how the caller is authenticated, where the input comes from and how the answer is written. The steps of the
// search, its trace, metrics and headers are the same.
//
//   request   a call with a key that exists. It is one of these three:
//   search    the price was held. The ledger counts it; it succeeds, or fails without a charge
//   replay    answered from its Idempotency-Key
//   refusal   rejected before the hold
//
// Replays and refusals have no row in the ledger, so they are recorded here.

export interface SearchRunner {
  run: (call: SearchCall) => Promise<SearchAnswer>;
  /** Counts a call that the server rejected before its handler. */
  recordRejected: (problem: Problem) => void;
  /** Records a request that was refused before it could be run. The caller is undefined if its key does not exist. */
  recordRefusal: (request: RefusedRequest, error: unknown) => void;
}

interface RefusedRequest extends Pick<UnheldRequest, "id" | "transport"> {
  caller: Principal | undefined;
}

export interface SearchCall {
  request: FastifyRequest;
  reply: FastifyReply;
  transport: Transport;
  /** Default: the body of the request and its headers. */
  readInput?: (readBody: () => Promise<Buffer>, caller: Principal) => ReturnType<SearchRequest["readInput"]>;
  /** Aborts if the caller cancels the search, in addition to disconnecting. */
  signal?: AbortSignal;
  /** Used instead of the dependencies of POST /v1/search. */
  replace?: Partial<Pick<SearchDependencies, "authenticate" | "hold" | "rank">>;
}

export interface SearchRecorders {
  metrics: Pick<Metrics, "countRequest">;
  figures: Pick<ProcessFigures, "duringSearch" | "recordRequest">;
  /** Called for every paid search, even if the caller has disconnected. */
  recordCharge(answer: SearchAnswer): void;
  /** Called for every refusal and replay. */
  recordUnheld: (request: UnheldRequest) => void;
  /** Undefined if tracing is off. */
  startTrace: Tracing["startSearch"] | undefined;
}

export function createSearchRunner(dependencies: SearchDependencies, recorders: SearchRecorders): SearchRunner {
  return {
    run: (call) => recorders.figures.duringSearch(() => runSearch(dependencies, recorders, call)),
    recordRejected: ({ code }) =>
      recordRequest(recorders, { ...none, id: "", transport: "http", facts: { kind: "refusal" }, outcome: code }),
    recordRefusal({ caller, ...request }, error) {
      const facts: SearchFacts = { kind: "refusal", ...(caller && { caller }) };
      recordRequest(recorders, { ...none, ...request, facts, outcome: outcomeOf(error) });
    },
  };
}

const none = { ms: 0, ownMs: 0 };

async function runSearch(
  dependencies: SearchDependencies,
  recorders: SearchRecorders,
  { request, reply, transport, readInput, signal, replace }: SearchCall,
): Promise<SearchAnswer> {
  const trace = startTrace(recorders, request);
  const steps = startSteps(trace);
  const disconnected = abortOnDisconnect(reply);
  const headers = request.headers as SearchRequest["headers"];
  const read = (): Promise<Buffer> => steps.waitExternally(() => readBody(request.raw));
  const facts: SearchFacts = { kind: "refusal" };
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
        facts,
        readInput: async (known) => (readInput ? readInput(read, known) : { body: await read(), headers }),
        signal: signal ? AbortSignal.any([signal, disconnected]) : disconnected,
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
    if (facts.kind === "refusal" && isOutcomeUnknown(error)) facts.kind = "unknown";
    throw error;
  } finally {
    const ms = steps.elapsedMs();
    reply.header("server-timing", toServerTiming(steps));
    if (facts.kind === "replay") outcome = "replayed";
    request.logFields = describeSearch({ transport, facts, steps });
    const ownMs = Math.max(0, ms - steps.externalMs());
    recordRequest(recorders, { id: request.id, transport, facts, outcome, ms, ownMs });
    trace?.end({ outcome, mode: facts.caller?.mode, status });
  }
}

function toServerTiming(steps: Steps): string {
  return Object.entries(steps.durations())
    .map(([step, ms]) => `${step};dur=${ms.toFixed(1)}`)
    .join(", ");
}

function describeSearch({ transport, facts, steps }: Pick<EndedRequest, "transport" | "facts"> & { steps: Steps }) {
  const { kind, caller } = facts;
  return {
    transport,
    kind,
    ...(caller && { ...describeCaller(caller), mode: caller.mode }),
    upstreams: steps.record().upstreams,
    steps: steps.durations(),
  };
}

function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof OutcomeUnknown;
}

interface EndedRequest extends Pick<UnheldRequest, "id" | "transport"> {
  facts: SearchFacts;
  outcome: string;
  ms: number;
  /** Without the time spent reading the body and waiting for upstreams. */
  ownMs: number;
}

function recordRequest(
  { metrics, figures, recordUnheld }: SearchRecorders,
  { id, transport, facts, outcome, ms, ownMs }: EndedRequest,
): void {
  const { caller, run, endUser } = facts;
  // Management keys cannot search, so their requests are not counted in any figures about searches.
  const mode = caller?.mode === "mgmt" ? undefined : caller?.mode;
  const kind = mode === undefined ? "unauthenticated" : facts.kind;
  const fault = faultOf(outcome);
  metrics.countRequest({
    kind,
    outcome,
    mode: mode ?? "unauthenticated",
    seconds: ms / 1_000,
    ownSeconds: ownMs / 1_000,
  });
  figures.recordRequest({ kind, ms, fault: mode === "live" && fault !== "caller" ? fault : undefined });
  if (caller && mode && (kind === "refusal" || kind === "replay")) {
    const { walletId, keyId } = caller;
    recordUnheld({ id, walletId, keyId, mode, outcome, run, endUser, transport });
  }
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

function setResponseHeaders(
  reply: FastifyReply,
  { caller, charge, balance, isReplayed, filtered }: SearchAnswer,
): void {
  reply.header("wallet-charge", `${formatUsd(charge)};currency=usd`);
  if (caller.scopes.includes("wallet:read")) reply.header("wallet-balance", `${formatUsd(balance)};currency=usd`);
  if (isReplayed) reply.header("idempotent-replayed", "true");
  if (filtered !== undefined) reply.header("search-filtered", String(filtered));
}
