// Sends one API call, with retries, within one time limit. With `wait`, the limit is the caller's deadline, and each attempt
// has a `Prefer` header with the seconds that remain.
//
//   2xx ............................................ return
//   error response with `retryable` ................ back off, retry  (429, 5xx, 409 in progress, 402 reserved)
//   no response: closed, timeout, not the API ...... back off, retry  only if the call is idempotent
//   anything else .................................. throw
//
// A search is idempotent because every attempt carries the same Idempotency-Key.

import type { Problem } from "./api.ts";
import { clock } from "./clock.ts";
import { createError, type ErrorCode, type ErrorFields } from "./errors.ts";

/** One attempt of a call, without the API key and the body. */
export interface RequestEvent {
  method: Call["method"];
  url: string;
  /** 1 for the first attempt, 2 for the first retry. */
  attempt: number;
}

export interface ResponseEvent extends RequestEvent {
  durationMs: number;
  /** Undefined if there was no response. */
  status: number | undefined;
  requestId: string | undefined;
  /** The code of the error. Undefined if the attempt succeeded. */
  code: ErrorCode | undefined;
  /** How long until the next attempt. Undefined if this is the last one. */
  retryInMs: number | undefined;
}

export interface Connection {
  apiKey: string;
  baseUrl: string;
  /** For the whole call, including retries. */
  timeoutMs: number;
  maxRetries: number;
  fetch: typeof fetch;
  /** Undefined in browsers, which set their own. */
  userAgent: string | undefined;
  onRequest: ((event: RequestEvent) => void) | undefined;
  onResponse: ((event: ResponseEvent) => void) | undefined;
}

export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  idempotencyKey?: string;
  /** Whether an attempt that got no response may have been charged. */
  mayCharge?: boolean;
  isIdempotent: boolean;
  /** The member of a successful response that must be a list, so that a response of another server is not an empty list. */
  listName?: string;
  /** The type of a successful response, if it is not JSON. */
  textType?: "text/csv" | "text/plain" | "application/jsonl";
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  /** The caller's deadline. The API returns a 504 after it. */
  waitSeconds?: number | undefined;
}

export interface ApiResponse {
  status: number;
  body: unknown;
  headers: Headers;
}

// Limits one attempt, so that a hanging connection leaves time for a retry. The API allows 10 s for a search.
const maxAttemptMs = 20_000;

// The API's response to a passed deadline arrives shortly after the deadline. Closing the connection first would leave
// the charge unknown.
const responseGraceMs = 500;

export async function send(connection: Connection, call: Call): Promise<ApiResponse> {
  const startMs = clock.nowMs();
  const limitMs = startMs + (call.timeoutMs ?? connection.timeoutMs);
  const waitEndMs = call.waitSeconds === undefined ? Infinity : startMs + call.waitSeconds * 1_000;
  let isChargeUnknown = false;
  for (let attempts = 1, retries = 0; ; attempts += 1) {
    const nowMs = clock.nowMs();
    const timeoutMs = Math.min(limitMs - nowMs, waitEndMs + responseGraceMs - nowMs, maxAttemptMs);
    const waitSeconds = call.waitSeconds && Math.max(1, Math.round((waitEndMs - nowMs) / 1_000));
    const event = { method: call.method, url: connection.baseUrl + call.path, attempt: attempts };
    notify(connection.onRequest, event);
    const outcome = await attempt(connection, { ...call, waitSeconds }, timeoutMs);
    const durationMs = clock.nowMs() - nowMs;
    const report = (retryInMs: number | undefined): void =>
      notify(connection.onResponse, { ...event, durationMs, ...describeOutcome(outcome), retryInMs });
    if ("headers" in outcome) {
      report(undefined);
      return outcome;
    }
    // An earlier attempt that got no response may have been charged. A later error response does not rule that out.
    isChargeUnknown ||= outcome.charged === "unknown";
    const delayMs = (outcome.retryAfter ?? 0) * 1_000 + Math.random() * Math.min(8_000, 250 * 2 ** retries);
    const nextMs = clock.nowMs() + delayMs;
    // The API waits for at least a second. An attempt that starts half a second before the deadline ends with its grace.
    const isTooLate = nextMs >= limitMs || nextMs + responseGraceMs > waitEndMs;
    // An earlier attempt is still in progress. Waiting for it is limited by the deadline, not by maxRetries.
    const isStillRunning = outcome.code === "idempotency_in_progress" && connection.maxRetries > 0;
    const isLast = isTooLate || (retries >= connection.maxRetries && !isStillRunning);
    if (isLast || !canRetry(call, outcome)) {
      report(undefined);
      const fields = {
        ...outcome,
        ...(isChargeUnknown ? describeUncertainty(call, outcome) : describeCharge(call, outcome)),
      };
      throw createError({ ...fields, idempotencyKey: call.idempotencyKey });
    }
    if (!isStillRunning) retries += 1;
    report(delayMs);
    await clock.sleep(delayMs, call.signal);
  }
}

function canRetry(call: Call, failure: ErrorFields): boolean {
  if (call.isIdempotent) return failure.retryable;
  // The server rejected it before processing, or it was never sent.
  return failure.status === 429 || (failure.code === "connection_closed" && failure.charged === false);
}

function describeOutcome(outcome: ApiResponse | ErrorFields): Pick<ResponseEvent, "status" | "requestId" | "code"> {
  return "headers" in outcome
    ? { status: outcome.status, requestId: outcome.headers.get("request-id") ?? undefined, code: undefined }
    : { status: outcome.status, requestId: outcome.requestId, code: outcome.code };
}

function notify<Event>(hook: ((event: Event) => void) | undefined, event: Event): void {
  try {
    hook?.(event);
  } catch {
    // A failed hook must not lose the response to a search that was charged.
  }
}

async function attempt(connection: Connection, call: Call, timeoutMs: number): Promise<ApiResponse | ErrorFields> {
  call.signal?.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort();
  const stopTimer = clock.startTimer(timeoutMs, abort);
  call.signal?.addEventListener("abort", abort);
  try {
    const response = await connection.fetch(connection.baseUrl + call.path, {
      method: call.method,
      headers: buildHeaders(connection, call),
      // Following a redirect could send the API key to another host.
      redirect: "manual",
      signal: controller.signal,
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    });
    return parseResponse(response, await response.text(), call);
  } catch (cause) {
    call.signal?.throwIfAborted();
    const { baseUrl } = connection;
    if (controller.signal.aborted) return noResponse("timeout", `The request to ${baseUrl} timed out.`, { cause });
    if (neverConnected(cause)) {
      const detail = `Could not connect to ${baseUrl}${describeCause(cause)}.`;
      return noResponse("connection_closed", detail, { cause, charged: false });
    }
    return noResponse("connection_closed", `The connection to ${baseUrl} closed before a response arrived.`, { cause });
  } finally {
    stopTimer();
    call.signal?.removeEventListener("abort", abort);
  }
}

function buildHeaders({ apiKey, userAgent }: Connection, call: Call): Record<string, string> {
  return {
    accept: "application/json",
    authorization: `Bearer ${apiKey}`,
    ...(userAgent === undefined ? {} : { "user-agent": userAgent }),
    ...(call.body === undefined ? {} : { "content-type": "application/json" }),
    ...(call.idempotencyKey === undefined ? {} : { "idempotency-key": call.idempotencyKey }),
    ...(call.waitSeconds === undefined ? {} : { prefer: `wait=${call.waitSeconds}` }),
    ...call.headers,
  };
}

function parseResponse(response: Response, text: string, { textType, listName }: Call): ApiResponse | ErrorFields {
  const { status, headers } = response;
  const isText = textType !== undefined && headers.get("content-type")?.startsWith(textType);
  if (isText && response.ok) return { status, body: text, headers };
  const body = parseObject(text);
  const isComplete = listName === undefined || Array.isArray(body?.[listName]);
  if (response.ok && body && isComplete) return { status, body, headers };
  const retryAfter = parseRetryAfter(headers.get("retry-after"));
  const code = body?.["code"];
  if (!body || response.ok || typeof code !== "string") {
    const detail = `The response (status ${status}) is not from the Pennyblack API.`;
    return noResponse("invalid_answer", detail, { status, retryAfter, retryable: status === 429 || status >= 500 });
  }
  return {
    code,
    status,
    detail: typeof body["detail"] === "string" ? body["detail"] : code,
    requestId: headers.get("request-id") ?? undefined,
    retryable: body["retryable"] === true,
    retryAfter,
    problem: body as Problem,
    charged: false,
  };
}

function noResponse(code: ErrorFields["code"], detail: string, more: Partial<ErrorFields>): ErrorFields {
  return { code, detail, retryable: true, charged: "unknown", problem: undefined, ...more };
}

/** For a search that never reached the server. Error responses describe the charge themselves. */
function describeCharge(call: Call, { detail, problem }: ErrorFields): Pick<ErrorFields, "detail"> {
  return { detail: call.mayCharge && !problem ? `${detail} You were not charged.` : detail };
}

/** For a call with an attempt that got no response: what may have happened, and how to find out. */
function describeUncertainty(call: Call, { detail }: ErrorFields): Pick<ErrorFields, "detail" | "charged"> {
  if (call.mayCharge) {
    const next = `To find out, repeat the search with idempotencyKey "${call.idempotencyKey}" within 24 hours. You will not be charged twice.`;
    return { detail: `${detail} You may have been charged. ${next}`, charged: "unknown" };
  }
  const next = call.method === "GET" ? "" : " The change may have been made. Check before you repeat it.";
  return { detail: `${detail}${next}`, charged: false };
}

const connectFailure = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ConnectionRefused|bad port|client error \(Connect\)/;

/** Whether the connection was never established. Node, Bun and Deno report this differently. */
function neverConnected(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: { code?: string; message?: string } };
  return connectFailure.test(`${code} ${cause?.code} ${cause?.message}`);
}

/** Such as ` (ECONNREFUSED)`. Empty if the runtime reports no code. */
function describeCause(error: unknown): string {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  const reason = cause?.code ?? code;
  return reason === undefined ? "" : ` (${reason})`;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function parseRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}
