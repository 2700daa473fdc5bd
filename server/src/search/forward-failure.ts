import type { UpstreamFailure } from "../providers/provider.ts";

export interface ForwardedFailure {
  code: "upstream_error" | "upstream_invalid_response" | "upstream_unreachable" | "upstream_timeout";
  status: number;
  upstreamStatus?: number | undefined;
  retryable: boolean;
  /** Present exactly when `retryable`. */
  retryAfterSeconds?: number | undefined;
}

/** What the caller is told when the upstream failed: its own status where that can be said without misleading. */
export function forwardFailure(failure: UpstreamFailure): ForwardedFailure {
  const { code, status } = answerTo(failure);
  const retryable = status >= 500 || retryableRefusals.has(status);
  return {
    code,
    status,
    upstreamStatus: failure.upstreamStatus,
    retryable,
    retryAfterSeconds: retryable ? secondsToWait(status, failure.retryAfterSeconds) : undefined,
  };
}

// Request Timeout, Too Early, Too Many Requests: the same request may succeed later.
const retryableRefusals = new Set([408, 425, 429]);

// 401, 402 and 407 would send callers after their own key or money; 405 and 426 demand headers that would be a lie.
const neverForwarded = new Set([401, 402, 405, 407, 426]);

function answerTo({ reason, upstreamStatus }: UpstreamFailure): Pick<ForwardedFailure, "code" | "status"> {
  switch (reason) {
    case "status":
    case "throttled":
      return { code: "upstream_error", status: isForwardable(upstreamStatus) ? upstreamStatus : 502 };
    case "credential":
    case "account_empty":
      return { code: "upstream_error", status: 502 };
    case "invalid_response":
      return { code: "upstream_invalid_response", status: 502 };
    case "unreachable":
      return { code: "upstream_unreachable", status: 502 };
    // Nobody is left to read the answer to an aborted search; no answer in time is the truest thing to log.
    case "timeout":
    case "aborted":
      return { code: "upstream_timeout", status: 504 };
  }
}

function isForwardable(status: number | undefined): status is number {
  return status !== undefined && status >= 400 && status <= 599 && !neverForwarded.has(status);
}

function secondsToWait(status: number, asked: number | undefined): number {
  const isAboutWaiting = status === 429 || status === 503;
  return isAboutWaiting && asked !== undefined ? Math.min(Math.max(asked, 1), 120) : 2;
}
