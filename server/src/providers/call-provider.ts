// The only code that connects to upstreams.
//
// A call ends within its deadline, reads at most `maxBytes`, follows no redirect, keeps no cookie and never throws because
// of the upstream: every failure is one of the reasons in `provider.ts`.
//
//   callProvider     enforces the deadline and returns the answer
//     collectHits    fetches pages until there are enough hits
//       send         sends one request, and resends it only if a reused socket was closing
//         exchange   one request on one socket: a reply, or the error that prevented it

import { Agent, Client, type Dispatcher, Pool } from "undici";
import { collectHits, type Page } from "./collect-hits.ts";
import type {
  FailureReason,
  Provider,
  QueryOptions,
  UpstreamAnswer,
  UpstreamCall,
  UpstreamReply,
  UpstreamSearch,
} from "./provider.ts";
import { readReply } from "./read-reply.ts";

export interface Caller {
  callProvider: (provider: Provider, search: UpstreamSearch, options: QueryOptions) => Promise<UpstreamAnswer>;
  /** Waits for calls in flight, then closes all sockets. */
  close(): Promise<void>;
}

export interface CallerLimits {
  connectMs: number;
  /** From sending the request to receiving the response headers. */
  headersMs: number;
  /** Maximum time between two chunks of the body. */
  bodyMs: number;
  maxBytes?: number;
}

/** Several times the largest answers of the providers. Reading and parsing costs up to 20 ms of CPU per megabyte. */
export const maxAnswerBytes = 512 * 1024;

/** Receives every raw reply; used by the probe command. */
export type OnReply = (reply: UpstreamReply) => void;

export function createCaller(
  { connectMs, headersMs, bodyMs, maxBytes = maxAnswerBytes }: CallerLimits,
  onReply?: OnReply,
): Caller {
  const groups: AgentGroup[] = [];
  const openGroup = (): AgentGroup => {
    const group = { agent: createAgent({ connectMs, headersMs, bodyMs, maxBytes }), inFlight: 0 };
    groups.push(group);
    return group;
  };

  async function call(provider: Provider, search: UpstreamSearch, options: QueryOptions): Promise<UpstreamAnswer> {
    const group = groups.find(({ inFlight }) => inFlight < maxPerAgent) ?? openGroup();
    group.inFlight += 1;
    try {
      return await callProvider({ agent: group.agent, onReply }, provider, search, options);
    } finally {
      group.inFlight -= 1;
    }
  }

  return {
    callProvider: call,
    async close() {
      await Promise.all(groups.map(({ agent }) => agent.close()));
    },
  };
}

/**
 * undici looks for a free connection among all connections of a pool, which for each call costs as much as the rest of it
 * with a few thousand in flight. Calls beyond this number therefore use another pool.
 */
const maxPerAgent = 128;

interface AgentGroup {
  agent: Agent;
  /** Calls, not connections. */
  inFlight: number;
}

function createAgent({ connectMs, headersMs, bodyMs, maxBytes }: Required<CallerLimits>): Agent {
  return new Agent({
    connect: { timeout: connectMs },
    headersTimeout: headersMs,
    bodyTimeout: bodyMs,
    maxResponseSize: maxBytes,
    // One request at a time per socket, so that it is known whether a request was sent on a reused socket.
    allowH2: false,
    pipelining: 1,
    // Saves a TLS handshake after idle periods. `send` handles an upstream that closes the socket first.
    keepAliveTimeout: 15_000,
    factory: (origin, options: Pool.Options) =>
      new Pool(origin, { ...options, factory: (address, settings) => new Connection(address, settings) }),
  });
}

async function callProvider(
  { agent, onReply }: { agent: Agent; onReply: OnReply | undefined },
  provider: Provider,
  search: UpstreamSearch,
  { signal, deadlineMs, onSent }: QueryOptions,
): Promise<UpstreamAnswer> {
  const startedAt = performance.now();
  const ending: Ending = { hasEnded: false, onEnd: undefined };
  const end = (): void => {
    ending.hasEnded = true;
    ending.onEnd?.();
  };
  const timer = setTimeout(end, deadlineMs);
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  let isSent = false;
  const recordSent = (): void => {
    if (!isSent) onSent?.();
    isSent = true;
  };

  try {
    const pages = await collectHits({ n: search.n, maxPages: maxUsefulPages(provider, search.n) }, async (number) => {
      const outcome = await send(agent, provider.request(search, number), ending, recordSent);
      if (outcome.head) onReply?.(outcome.head);
      return readOutcome(provider, outcome, ending);
    });
    const outcome = signal.aborted ? ({ ok: false, reason: "aborted" } as const) : pages;
    const result = { ...outcome, provider: provider.name, tookMs: Math.round(performance.now() - startedAt) };
    return !result.ok && result.reason === "timeout" && ending.hasEnded ? { ...result, isDeadline: true } : result;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/**
 * Ends a call before its answer. Not an AbortSignal, because its listeners cost more than the timer, and AbortSignal.any
 * creates weak references, which slow down garbage collection.
 */
interface Ending {
  hasEnded: boolean;
  /** Set while a request is in flight. */
  onEnd: (() => void) | undefined;
}

/** A paid page is requested only if full earlier pages would not be enough. */
function maxUsefulPages({ costMicros, resultsPerPage, maxPages }: Provider, n: number): number {
  return costMicros(n) === 0n ? maxPages : Math.min(maxPages, Math.ceil(n / resultsPerPage));
}

function readOutcome(provider: Provider, outcome: Outcome, { hasEnded }: Ending): Page {
  const { head } = outcome;
  const upstreamStatus = head?.status;

  if (outcome.ok) return { ...readReply(provider, outcome.head, Date.now()), upstreamStatus };
  // An error status counts even if its body was cut off.
  if (head !== undefined && head.status >= 400) return { ...readReply(provider, head, Date.now()), upstreamStatus };
  return { ok: false, reason: hasEnded ? "timeout" : reasonForFault(outcome), upstreamStatus };
}

function reasonForFault({ error, hasStarted }: Fault): FailureReason {
  if (timeouts.has(error.name)) return "timeout";
  // A cut-off, oversized or malformed response came from a reachable upstream. undici does not report a parser error as
  // the start of a response.
  return hasStarted || error.name === "HTTPParserError" ? "invalid_response" : "unreachable";
}

const timeouts = new Set(["ConnectTimeoutError", "HeadersTimeoutError", "BodyTimeoutError"]);

/**
 * An upstream may close an idle socket just as we write to it. It has most likely not seen the request, so the request is
 * resent once. A reset of a new socket is a failure of the upstream and is not retried.
 */
async function send(agent: Agent, call: UpstreamCall, ending: Ending, onSent: () => void): Promise<Outcome> {
  const outcome = await exchange(agent, call, ending, onSent);
  const wasStale = !outcome.ok && outcome.isStaleSocket && isClosedSocket(outcome.error);
  return wasStale && !ending.hasEnded ? exchange(agent, call, ending, onSent) : outcome;
}

function isClosedSocket(error: Error): boolean {
  return error.name === "SocketError" || ("code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE"));
}

type Outcome = { ok: true; head: UpstreamReply } | Fault;

interface Fault {
  ok: false;
  error: Error;
  /** Status and headers, if they were received. */
  head: UpstreamReply | undefined;
  /** Part of a response was received. */
  hasStarted: boolean;
  /** A reused socket, on which no byte was received this time. */
  isStaleSocket: boolean;
}

function exchange(agent: Agent, call: UpstreamCall, ending: Ending, onSent: () => void): Promise<Outcome> {
  return new Promise((resolve) => {
    let head: UpstreamReply | undefined;
    let hasStarted = false;
    let controller: Dispatcher.DispatchController | undefined;
    const chunks: Buffer[] = [];

    const settle = (outcome: Outcome) => {
      if (ending.onEnd === giveUp) ending.onEnd = undefined;
      resolve(outcome);
    };
    const fail = (error: Error) => {
      settle({ ok: false, error, head, hasStarted, isStaleSocket: !hasStarted && onReusedSocket.has(handler) });
    };
    // undici cannot abort a pending connection, so stop waiting now and abort when the request starts.
    const giveUp = () => {
      fail(new Error("aborted"));
      controller?.abort(new Error("aborted"));
    };

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started;
        if (ending.hasEnded) started.abort(new Error("aborted"));
        else onSent();
      },
      onResponseStarted() {
        hasStarted = true;
      },
      onResponseStart(_controller, status, headers) {
        if (status >= 200) head = { status, headers: singleValues(headers), body: "" };
      },
      onResponseData(_controller, chunk) {
        chunks.push(chunk);
      },
      onResponseEnd() {
        if (head === undefined) return fail(new Error("ended without a status"));
        head.body = decoder.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
        settle({ ok: true, head });
      },
      onResponseError(_controller, error) {
        fail(error);
      },
    };

    if (ending.hasEnded) {
      giveUp();
      return;
    }
    ending.onEnd = giveUp;
    // Not parsed, because adapters return normalized URLs; contract.test.ts checks that.
    const pathStart = call.url.indexOf("/", "https://".length);
    const [origin, path] = [call.url.slice(0, pathStart), call.url.slice(pathStart)];
    const headers = { ...call.headers, ...ourHeaders };
    agent.dispatch({ origin, path, method: call.method, headers, body: call.body ?? null }, handler);
  });
}

// Unlike Buffer.toString, it removes a byte order mark, which JSON.parse rejects.
const decoder = new TextDecoder();

const ourHeaders = { accept: "application/json", "accept-encoding": "identity", "user-agent": "pennyblack" };

// undici does not expose the socket of a request. A client has one socket at a time, so it knows.
const onReusedSocket = new WeakSet<Dispatcher.DispatchHandler>();

class Connection extends Client {
  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (this.stats.connected) onReusedSocket.add(handler);
    return super.dispatch(options, handler);
  }
}

function singleValues(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const single: Record<string, string> = {};
  for (const name of Object.keys(headers)) single[name] = String(headers[name]);
  return single;
}
