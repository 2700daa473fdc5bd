// The only code that talks to an upstream, and the only one that imports undici.
//
// A call ends within its deadline, reads at most `maxBytes`, follows no redirect, keeps no cookie and never throws for
// what an upstream does: every failure is one of the reasons in `provider.ts`.
//
//   callProvider     the deadline, and the answer to give
//     collectHits    one page after another, until there are enough hits
//       send         one request, sent again only if it met a socket that was being closed
//         exchange   one request on one socket: a reply, or the fault that prevented it

import { Agent, Client, type Dispatcher, Pool } from "undici";
import { collectHits, type Page } from "./collect-hits.ts";
import type {
  AskOptions,
  FailureReason,
  Provider,
  UpstreamAnswer,
  UpstreamCall,
  UpstreamReply,
  UpstreamSearch,
} from "./provider.ts";
import { readReply } from "./read-reply.ts";

export interface Caller {
  callProvider: (provider: Provider, search: UpstreamSearch, options: AskOptions) => Promise<UpstreamAnswer>;
  /** Waits for the calls under way, then closes every socket. */
  close(): Promise<void>;
}

export interface CallerLimits {
  connectMs: number;
  /** From the request sent to the answer's headers. */
  headersMs: number;
  /** The longest silence within a body. */
  bodyMs: number;
  maxBytes?: number;
}

/** Sees every reply as it came, before anyone has judged it: for the probe. */
export type OnReply = (reply: UpstreamReply) => void;

export function createCaller(
  { connectMs, headersMs, bodyMs, maxBytes = 1024 * 1024 }: CallerLimits,
  onReply?: OnReply,
): Caller {
  const agent = new Agent({
    connect: { timeout: connectMs },
    headersTimeout: headersMs,
    bodyTimeout: bodyMs,
    maxResponseSize: maxBytes,
    // One request at a time on a socket keeps "was this socket used before?" a question with an answer.
    allowH2: false,
    pipelining: 1,
    // So that a quiet moment does not cost the next search a TLS handshake; `send` covers the upstream closing first.
    keepAliveTimeout: 15_000,
    factory: (origin, options: Pool.Options) =>
      new Pool(origin, { ...options, factory: (address, settings) => new Connection(address, settings) }),
  });

  return {
    callProvider: (provider, search, options) => callProvider({ agent, onReply }, provider, search, options),
    close: () => agent.close(),
  };
}

async function callProvider(
  { agent, onReply }: { agent: Agent; onReply: OnReply | undefined },
  provider: Provider,
  search: UpstreamSearch,
  { signal, deadlineMs }: AskOptions,
): Promise<UpstreamAnswer> {
  const startedAt = performance.now();
  // Not AbortSignal.any: what it makes for each call is known to the garbage collector as weak, and costs it.
  const ended = new AbortController();
  const end = (): void => ended.abort();
  const timer = setTimeout(end, deadlineMs);
  signal.addEventListener("abort", end);
  if (signal.aborted) end();

  try {
    const pages = await collectHits(
      { n: search.n, mostPages: pagesWorthAsking(provider, search.n) },
      async (number) => {
        const outcome = await send(agent, provider.request(search, number), ended.signal);
        if (outcome.head) onReply?.(outcome.head);
        return readOutcome(provider, outcome, ended.signal);
      },
    );
    const outcome = signal.aborted ? ({ ok: false, reason: "aborted" } as const) : pages;
    return { ...outcome, provider: provider.name, tookMs: Math.round(performance.now() - startedAt) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/** A page that costs something is asked for only if the pages before it, all full, would not be enough. */
function pagesWorthAsking({ costMicros, resultsPerPage, mostPages }: Provider, n: number): number {
  return costMicros(n) === 0n ? mostPages : Math.min(mostPages, Math.ceil(n / resultsPerPage));
}

function readOutcome(provider: Provider, outcome: Outcome, signal: AbortSignal): Page {
  const { head } = outcome;
  const upstreamStatus = head?.status;

  if (outcome.ok) return { ...readReply(provider, outcome.head, Date.now()), upstreamStatus };
  // An error status is an answer, even if the page that came with it broke off.
  if (head !== undefined && head.status >= 400) return { ...readReply(provider, head, Date.now()), upstreamStatus };
  return { ok: false, reason: signal.aborted ? "timeout" : reasonForFault(outcome), upstreamStatus };
}

function reasonForFault({ error, hasBegun }: Fault): FailureReason {
  if (timeouts.has(error.name)) return "timeout";
  // It spoke, so it was reached: what it said was cut short, too long or not HTTP, which undici does not call a beginning.
  return hasBegun || error.name === "HTTPParserError" ? "invalid_response" : "unreachable";
}

const timeouts = new Set(["ConnectTimeoutError", "HeadersTimeoutError", "BodyTimeoutError"]);

/**
 * An upstream may close an idle socket in the very moment we write to it. It has then most likely seen nothing of the
 * request, which is sent once more. A fresh socket that is reset is the upstream's answer, and stands.
 */
async function send(agent: Agent, call: UpstreamCall, signal: AbortSignal): Promise<Outcome> {
  const outcome = await exchange(agent, call, signal);
  const wasStale = !outcome.ok && outcome.isUnheard && isClosedSocket(outcome.error);
  return wasStale && !signal.aborted ? exchange(agent, call, signal) : outcome;
}

function isClosedSocket(error: Error): boolean {
  return error.name === "SocketError" || ("code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE"));
}

type Outcome = { ok: true; head: UpstreamReply } | Fault;

interface Fault {
  ok: false;
  error: Error;
  /** The reply as far as it came, without its body. */
  head: UpstreamReply | undefined;
  /** Some of an answer came back. */
  hasBegun: boolean;
  /** The socket had answered before, and not one byte came back this time. */
  isUnheard: boolean;
}

function exchange(agent: Agent, call: UpstreamCall, signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    let head: UpstreamReply | undefined;
    let hasBegun = false;
    let controller: Dispatcher.DispatchController | undefined;
    const chunks: Buffer[] = [];

    const settle = (outcome: Outcome) => {
      signal.removeEventListener("abort", giveUp);
      resolve(outcome);
    };
    const fail = (error: Error) => {
      settle({ ok: false, error, head, hasBegun, isUnheard: !hasBegun && onReusedSocket.has(handler) });
    };
    // undici cannot abort while it connects, so we stop waiting first and abort when it begins.
    const giveUp = () => {
      fail(new Error("gave up"));
      controller?.abort(new Error("gave up"));
    };

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started;
        if (signal.aborted) started.abort(new Error("gave up"));
      },
      onResponseStarted() {
        hasBegun = true;
      },
      onResponseStart(_controller, status, headers) {
        if (status >= 200) head = { status, headers: singleValues(headers), body: "" };
      },
      onResponseData(_controller, chunk) {
        chunks.push(chunk);
      },
      onResponseEnd() {
        if (head === undefined) return fail(new Error("ended without a status"));
        settle({ ok: true, head: { ...head, body: new TextDecoder().decode(Buffer.concat(chunks)) } });
      },
      onResponseError(_controller, error) {
        fail(error);
      },
    };

    if (signal.aborted) {
      giveUp();
      return;
    }
    signal.addEventListener("abort", giveUp);
    const { origin, pathname, search } = new URL(call.url);
    const path = pathname + search;
    const headers = { ...call.headers, ...ourHeaders };
    agent.dispatch({ origin, path, method: call.method, headers, body: call.body ?? null }, handler);
  });
}

const ourHeaders = { accept: "application/json", "accept-encoding": "identity", "user-agent": "pennyblack" };

// undici does not tell a request which socket it travels on. A client holds one socket at a time, so the client knows.
const onReusedSocket = new WeakSet<Dispatcher.DispatchHandler>();

class Connection extends Client {
  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (this.stats.connected) onReusedSocket.add(handler);
    return super.dispatch(options, handler);
  }
}

function singleValues(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
