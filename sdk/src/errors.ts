// Errors thrown by failed calls. Use `instanceof` for the class of failure and `code` for the exact reason. Both are
// stable.

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
  | "receipts_not_configured"
  | "run_budget_spent"
  | "shutting_down"
  | "unpaid_calls_limited"
  | "unsupported_media_type"
  | "upstream_error"
  | "upstream_invalid_response"
  | "upstream_not_configured"
  | "upstream_timeout"
  | "upstream_unreachable";

/** No usable response: the connection failed, the call timed out, or the response did not come from the API. */
export type NoResponseCode = "connection_closed" | "timeout" | "invalid_answer";

/** Newer servers may return other codes. */
export type ErrorCode = ProblemCode | NoResponseCode | (string & {});

export class PennyblackError extends Error {
  declare readonly code: ErrorCode;
  /** What happened, whether you were charged, and what to do next. */
  declare readonly detail: string;
  declare readonly status?: number | undefined;
  declare readonly requestId?: string | undefined;
  /** For the whole call, including retries. "unknown" only if an attempt got no response from the API. */
  declare readonly charged: false | "unknown";
  declare readonly retryable: boolean;
  /** In seconds. */
  declare readonly retryAfter?: number | undefined;
  /** For searches and top-ups. Retry with the same key to avoid paying twice. */
  declare readonly idempotencyKey?: string | undefined;
  /** The full problem document, with members such as `balance`, `top_up`, `limit` and `errors`. */
  declare readonly problem: Readonly<Record<string, unknown>>;

  constructor({ cause, ...fields }: ErrorFields) {
    const request = fields.requestId === undefined ? "" : `, request ${fields.requestId}`;
    super(`${fields.detail} [${fields.code}${request}]`, { cause });
    this.name = new.target.name;
    Object.assign(this, fields);
  }
}

export type ErrorFields = Omit<PennyblackError, "name" | "message" | "stack">;

/** 400, 404, 405, 409, 413, 415, 422: the request is invalid. */
export class RequestError extends PennyblackError {}
/** 401: the API key is missing or not valid. */
export class AuthenticationError extends PennyblackError {}
/** 402: the wallet balance is too low. `problem.top_up` has the top-up URL, `problem.owed` the amount the wallet owes. */
export class BalanceError extends PennyblackError {}
/** 403: the key does not have permission. */
export class PermissionError extends PennyblackError {}
/** 403: the key or run has spent its budget. `problem` has `limit`, `spent` and `resets_at`. */
export class BudgetError extends PennyblackError {}
/** 429: rate or concurrency limit exceeded. */
export class RateLimitError extends PennyblackError {}
/** The search provider behind the API failed. The status can be any. */
export class UpstreamError extends PennyblackError {}
/** 5xx: internal error or API unavailable. */
export class ServerError extends PennyblackError {}
/** No response from the API. A search may have been charged; `detail` explains how to find out. */
export class ConnectionError extends PennyblackError {}

export function createError(fields: ErrorFields): PennyblackError {
  return new (errorClassFor(fields))(fields);
}

function errorClassFor({ code, status }: ErrorFields): typeof PennyblackError {
  if (code === "connection_closed" || code === "timeout" || code === "invalid_answer") return ConnectionError;
  if (code.startsWith("upstream_")) return UpstreamError;
  if (status === undefined || status >= 500) return ServerError;
  if (status === 401) return AuthenticationError;
  if (status === 402) return BalanceError;
  if (status === 403) return code.endsWith("_budget_spent") ? BudgetError : PermissionError;
  return status === 429 ? RateLimitError : RequestError;
}
