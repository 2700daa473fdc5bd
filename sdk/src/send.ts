// One call of the API: attempts, and pauses between them, within one time limit.
//
//   answered 2xx ................................. done
//   refused, and the answer says `retryable` ..... pause, again       (429, 5xx, 409 in progress, 402 reserved)
//   no answer: closed, too late, not from us ..... pause, again       only if repeating is harmless
//   anything else ................................ thrown
//
// A search is harmless to repeat because every attempt carries the same Idempotency-Key.

import { type ErrorFields, makeError } from "./errors.ts";

export interface Connection {
  apiKey: string;
  baseUrl: string;
  /** For the whole call, retries included. */
  timeoutMs: number;
  maxRetries: number;
  fetch: typeof fetch;
}

export interface Call {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  idempotencyKey?: string;
  /** Whether an attempt without an answer may have cost money. */
  mayCharge?: boolean;
  /** Whether sending it twice does no more than sending it once. */
  isRepeatable: boolean;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

export interface Answer {
  body: unknown;
  headers: Headers;
}

// An attempt gets no more than this, so that a connection that hangs leaves time for another. The API has 10 s for a
// search.
const longestAttemptMs = 20_000;

export async function send(connection: Connection, call: Call): Promise<Answer> {
  const endsAtMs = performance.now() + (call.timeoutMs ?? connection.timeoutMs);
  let isUnknown = false;
  for (let retries = 0; ; ) {
    const leftMs = endsAtMs - performance.now();
    const outcome = await attempt(connection, call, Math.min(leftMs, longestAttemptMs));
    if ("headers" in outcome) return outcome;
    // An earlier attempt without an answer may have been charged, whatever a later one was told.
    isUnknown ||= outcome.charged === "unknown";
    const pauseMs = (outcome.retryAfter ?? 0) * 1_000 + Math.random() * Math.min(8_000, 250 * 2 ** retries);
    // Waiting for an attempt of ours that is still running is no failure, and ends by time alone.
    const isRunning = outcome.code === "idempotency_in_progress" && connection.maxRetries > 0;
    const isLast = performance.now() + pauseMs >= endsAtMs || (retries >= connection.maxRetries && !isRunning);
    if (isLast || !mayRepeat(call, outcome)) {
      throw makeError({ ...outcome, ...(isUnknown && explain(call, outcome)), idempotencyKey: call.idempotencyKey });
    }
    if (!isRunning) retries += 1;
    await pause(pauseMs, call.signal);
  }
}

function mayRepeat(call: Call, failure: ErrorFields): boolean {
  if (call.isRepeatable) return failure.retryable;
  // It was refused at the door, or never left this machine.
  return failure.status === 429 || (failure.code === "connection_closed" && failure.charged === false);
}

async function attempt(connection: Connection, call: Call, timeoutMs: number): Promise<Answer | ErrorFields> {
  call.signal?.throwIfAborted();
  const ended = new AbortController();
  const leave = () => ended.abort();
  const timer = setTimeout(leave, timeoutMs);
  call.signal?.addEventListener("abort", leave);
  try {
    const response = await connection.fetch(connection.baseUrl + call.path, {
      method: call.method,
      headers: headersOf(connection, call),
      // A key must not follow a redirect to someone else.
      redirect: "manual",
      signal: ended.signal,
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    });
    return readAnswer(response, await response.text());
  } catch (cause) {
    call.signal?.throwIfAborted();
    if (ended.signal.aborted) return noAnswer("timeout", "No answer came in time.", { cause });
    return wasNeverSent(cause)
      ? noAnswer("connection_closed", "No connection could be made.", { cause, charged: false })
      : noAnswer("connection_closed", "The connection closed before an answer came.", { cause });
  } finally {
    clearTimeout(timer);
    call.signal?.removeEventListener("abort", leave);
  }
}

function headersOf({ apiKey }: Connection, call: Call): Record<string, string> {
  return {
    accept: "application/json",
    authorization: `Bearer ${apiKey}`,
    ...(call.body === undefined ? {} : { "content-type": "application/json" }),
    ...(call.idempotencyKey === undefined ? {} : { "idempotency-key": call.idempotencyKey }),
    ...call.headers,
  };
}

function readAnswer(response: Response, text: string): Answer | ErrorFields {
  const { status, headers } = response;
  const body = parseObject(text);
  if (response.ok && body) return { body, headers };
  const retryAfter = readRetryAfter(headers.get("retry-after"));
  const code = body?.["code"];
  if (!body || response.ok || typeof code !== "string") {
    const words = `Something that is not the API answered with status ${status}.`;
    const retryable = status === 429 || status >= 500;
    return noAnswer("invalid_answer", words, { status, retryAfter, retryable });
  }
  return {
    code,
    status,
    detail: typeof body["detail"] === "string" ? body["detail"] : code,
    requestId: headers.get("request-id") ?? undefined,
    retryable: body["retryable"] === true,
    retryAfter,
    problem: body,
    charged: false,
  };
}

function noAnswer(code: ErrorFields["code"], detail: string, more: Partial<ErrorFields>): ErrorFields {
  return { code, detail, retryable: true, charged: "unknown", problem: {}, ...more };
}

/** Says of a call of which an attempt had no answer what may have happened, and how to find out. */
function explain(call: Call, { detail }: ErrorFields): Pick<ErrorFields, "detail" | "charged"> {
  if (call.mayCharge) {
    const find = `Search again with idempotencyKey "${call.idempotencyKey}" and the same query within 24 hours: that answers, and never pays twice.`;
    return { detail: `${detail} Whether it was charged is not known. ${find}`, charged: "unknown" };
  }
  const look = call.method === "GET" ? "" : " Whether the change was made is not known: look before you repeat it.";
  return { detail: `${detail} Nothing was charged.${look}`, charged: false };
}

const nobodyThere = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ConnectionRefused|bad port|client error \(Connect\)/;

/** Node, Bun and Deno each have their own way to say that nobody was there. */
function wasNeverSent(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: { code?: string; message?: string } };
  return nobodyThere.test(`${code} ${cause?.code} ${cause?.message}`);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function readRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
  });
}
