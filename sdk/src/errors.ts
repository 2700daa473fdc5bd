// Errors thrown by failed calls. Use `instanceof` for the class of failure and `code` for the exact reason. Both are
// stable.

import type {
  BalanceReservedProblem,
  ConcurrencyLimitedProblem,
  EndUserBudgetSpentProblem,
  InsufficientBalanceProblem,
  KeyBudgetSpentProblem,
  Problem,
  ProblemCode,
  RateLimitedProblem,
  RunBudgetSpentProblem,
  UnpaidCallsLimitedProblem,
} from "./api.ts";

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
  /** The full problem document; `is` determines its members. Undefined if there was no response from the API. */
  declare readonly problem: Problem | undefined;

  constructor({ cause, ...fields }: ErrorFields) {
    const request = fields.requestId === undefined ? "" : `, request ${fields.requestId}`;
    super(`${fields.detail} [${fields.code}${request}]`, { cause });
    this.name = new.target.name;
    Object.assign(this, fields);
  }

  /** Whether the error has this code. Gives `problem` the members of this code, such as `top_up` or `resets_at`. */
  is<Code extends ProblemCode>(code: Code): this is ErrorWithCode<Code> {
    return this.code === code;
  }
}

type ProblemsByCode = { [Each in Problem as Each["code"]]: Each };

export interface ErrorWithCode<Code extends ProblemCode> extends PennyblackError {
  readonly code: Code;
  readonly problem: ProblemsByCode[Code];
}

export type ErrorFields = Omit<PennyblackError, "name" | "message" | "stack" | "is">;

/** 400, 404, 405, 409, 413, 415, 422: the request is invalid. */
export class RequestError extends PennyblackError {}
/** 401: the API key is missing or not valid. */
export class AuthenticationError extends PennyblackError {}
/** 402: the wallet balance is too low, and `problem.top_up` has the top-up URL; or searches in flight reserve it. */
export class BalanceError extends PennyblackError {
  declare readonly problem:
    | InsufficientBalanceProblem
    | (BalanceReservedProblem & { readonly top_up?: never; readonly owed?: never });
}
/** 403: the key does not have permission. */
export class PermissionError extends PennyblackError {}
/** 403: the key, run or end user has spent its budget. `problem` has `limit`, `spent` and `resets_at`. */
export class BudgetError extends PennyblackError {
  declare readonly problem: KeyBudgetSpentProblem | RunBudgetSpentProblem | EndUserBudgetSpentProblem;
}
/** 429: rate or concurrency limit exceeded. `problem.exceeded` has the limit. */
export class RateLimitError extends PennyblackError {
  declare readonly problem: RateLimitedProblem | ConcurrencyLimitedProblem | UnpaidCallsLimitedProblem;
}
/** The search provider behind the API failed. The status can be any. */
export class UpstreamError extends PennyblackError {}
/** 5xx: internal error or API unavailable. */
export class ServerError extends PennyblackError {}
/** No response from the API. A search may have been charged; `detail` explains how to find out. */
export class ConnectionError extends PennyblackError {
  declare readonly problem: undefined;
}

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
