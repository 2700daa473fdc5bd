import type { UpstreamFailure } from "../providers/provider.ts";

export interface ForwardedFailure {
  code: "upstream_error" | "upstream_invalid_response" | "upstream_unreachable" | "upstream_timeout";
  status: number;
  upstreamStatus?: number | undefined;
  retryable: boolean;
  /** Present exactly when `retryable`. */
  retryAfterSeconds?: number | undefined;
}

/** The response to an upstream failure: the upstream's own status unless it would mislead the caller. */
export function forwardFailure(failure: UpstreamFailure): ForwardedFailure {
  const { code, status } = toResponse(failure);
  const retryable = !operatorFaults.has(failure.reason) && (status >= 500 || retryableStatuses.has(status));
  return {
    code,
    status,
    upstreamStatus: failure.upstreamStatus,
    retryable,
    retryAfterSeconds: retryable ? retryAfter(status, failure) : undefined,
  };
}

// Our account with the upstream has no valid key or no credit, which only the operator can change.
const operatorFaults = new Set<UpstreamFailure["reason"]>(["credential", "account_empty"]);

// Request Timeout, Too Early, Too Many Requests.
const retryableStatuses = new Set([408, 425, 429]);

// 401, 402 and 407 would make callers check their own key or balance; 405 and 426 require headers that do not apply here.
const neverForwarded = new Set([401, 402, 405, 407, 426]);

function toResponse({ reason, upstreamStatus }: UpstreamFailure): Pick<ForwardedFailure, "code" | "status"> {
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
    // An aborted search has no caller left to read the response; a timeout is the closest outcome to log.
    case "timeout":
    case "aborted":
      return { code: "upstream_timeout", status: 504 };
  }
}

function isForwardable(status: number | undefined): status is number {
  return status !== undefined && status >= 400 && status <= 599 && !neverForwarded.has(status);
}

function retryAfter(status: number, { blockedBy, retryAfterSeconds: seconds }: UpstreamFailure): number {
  const isForwarded = (status === 429 || status === 503 || blockedBy) && seconds !== undefined;
  return isForwarded ? Math.min(Math.max(seconds, 1), 120) : 2;
}
