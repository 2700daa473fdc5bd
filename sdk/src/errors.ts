// What a call that failed throws. `instanceof` asks for the kind, `code` for the exact reason; both are stable.

export type ProblemCode =
  | "account_suspended"
  | "api_key_expired"
  | "api_key_invalid"
  | "api_key_revoked"
  | "authentication_required"
  | "balance_reserved"
  | "concurrency_limited"
  | "conflicting_credentials"
  | "idempotency_in_progress"
  | "idempotency_key_reused"
  | "insufficient_balance"
  | "insufficient_scope"
  | "internal_error"
  | "invalid_request"
  | "ip_not_allowed"
  | "key_budget_spent"
  | "key_limit_reached"
  | "key_not_active"
  | "ledger_unavailable"
  | "malformed_json"
  | "method_not_allowed"
  | "not_found"
  | "overloaded"
  | "payload_too_large"
  | "payment_processor_unavailable"
  | "payments_not_configured"
  | "query_too_long"
  | "rate_limited"
  | "run_budget_spent"
  | "shutting_down"
  | "unsupported_media_type"
  | "upstream_error"
  | "upstream_invalid_response"
  | "upstream_not_configured"
  | "upstream_timeout"
  | "upstream_unreachable";

/** No usable answer came: the connection failed or closed, time ran out, or something else answered in the API's place. */
export type NoAnswerCode = "connection_closed" | "timeout" | "invalid_answer";

/** A server newer than this package may know more. */
export type ErrorCode = ProblemCode | NoAnswerCode | (string & {});

export class PennyblackError extends Error {
  declare readonly code: ErrorCode;
  /** What happened, whether money moved, what to do next: for people and models alike. */
  declare readonly detail: string;
  declare readonly status?: number | undefined;
  declare readonly requestId?: string | undefined;
  /** Of the whole call, retries included. "unknown" only if an attempt ended without an answer of the API. */
  declare readonly charged: false | "unknown";
  declare readonly retryable: boolean;
  /** Seconds. */
  declare readonly retryAfter?: number | undefined;
  /** Of a search or a top-up: what to send again. */
  declare readonly idempotencyKey?: string | undefined;
  /** Everything that the API said, such as `balance`, `top_up`, `limit`, `errors`. */
  declare readonly problem: Readonly<Record<string, unknown>>;

  constructor({ cause, ...fields }: ErrorFields) {
    const request = fields.requestId === undefined ? "" : `, request ${fields.requestId}`;
    super(`${fields.detail} [${fields.code}${request}]`, { cause });
    this.name = new.target.name;
    Object.assign(this, fields);
  }
}

export type ErrorFields = Omit<PennyblackError, "name" | "message" | "stack">;

/** The request is wrong: 400, 404, 405, 409, 413, 415, 422. */
export class RequestError extends PennyblackError {}
/** 401: there is no key, or not one that works. */
export class AuthenticationError extends PennyblackError {}
/** 402: the wallet is short. `problem.top_up` says how to add money. */
export class BalanceError extends PennyblackError {}
/** 403: the key may not do this. */
export class PermissionError extends PennyblackError {}
/** 403: the budget of the key or the run is spent. `problem` has `limit`, `spent` and `resets_at`. */
export class BudgetError extends PennyblackError {}
/** 429 */
export class RateLimitError extends PennyblackError {}
/** The search provider behind the API failed, with any status. */
export class UpstreamError extends PennyblackError {}
/** 5xx: the API failed. */
export class ServerError extends PennyblackError {}
/** No answer of the API came. Of a search, it is not known whether it was charged; `detail` says how to find out. */
export class ConnectionError extends PennyblackError {}

export function makeError(fields: ErrorFields): PennyblackError {
  return new (kindOf(fields))(fields);
}

function kindOf({ code, status }: ErrorFields): typeof PennyblackError {
  if (code === "connection_closed" || code === "timeout" || code === "invalid_answer") return ConnectionError;
  if (code.startsWith("upstream_")) return UpstreamError;
  if (status === undefined || status >= 500) return ServerError;
  if (status === 401) return AuthenticationError;
  if (status === 402) return BalanceError;
  if (status === 403) return code.endsWith("_budget_spent") ? BudgetError : PermissionError;
  return status === 429 ? RateLimitError : RequestError;
}
