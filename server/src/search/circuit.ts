import type { FailureReason, UpstreamAnswer, UpstreamFailure } from "../providers/provider.ts";

// Circuit breaker. Every upstream has one, and so has each of its keys. A rejected credential, an empty account and a throttle
// concern the key; every other failure concerns the upstream.
//
//   closed  -> open    immediately on a failure of the key; otherwise after three in a row
//   open    -> trial   the cool-down has ended: one search queries it in its normal position, others as if it were open
//   trial   -> closed  it answered
//   trial   -> open    it failed again; the next cool-down is longer
//
// While a circuit is open, other keys and upstreams are queried first. If none of them answers, a call is sent anyway,
// unless its failure is certain or would be slow, in which case the circuit blocks it. Fast failures do not block. They can depend on
// the query, and one caller's queries must not fail those of others.
//
// Results of calls that started before the circuit opened are ignored.

export interface Circuit {
  /** Others should be queried first. */
  isOpen(nowMs: number): boolean;
  /** A call should not be sent at all. */
  isBlocked(nowMs: number): boolean;
  /** Call it when the upstream is queried, and the function it returns with the result. */
  startCall(nowMs: number): (answer: UpstreamAnswer, nowMs: number) => void;
  /** The end of the cool-down; undefined while closed. */
  openUntilMs(): number | undefined;
  /** The failure that opened it; undefined while closed. */
  openedBy(): UpstreamFailure | undefined;
}

const failuresToOpen = 3;
/** Longer than any search, so that a trial without a result does not keep the upstream in last position. */
const maxTrialMs = 15_000;
const maxCoolDownMs = 3_600_000;

export function createCircuit(scope: "key" | "upstream"): Circuit {
  let failuresInARow = 0;
  /** Since the last answer. */
  let openings = 0;
  let untilMs: number | undefined;
  let openedBy: UpstreamFailure | undefined;
  let failingSinceMs = 0;
  let answeredAtMs = -Infinity;

  function open(failure: UpstreamFailure, nowMs: number): void {
    untilMs = nowMs + Math.min(coolDownMs(failure, openings), maxCoolDownMs);
    openings += 1;
    openedBy = failure;
    failingSinceMs = nowMs - failure.tookMs;
  }

  function isOpen(nowMs: number): boolean {
    return untilMs !== undefined && nowMs < untilMs;
  }

  return {
    isOpen,
    isBlocked(nowMs) {
      if (openedBy === undefined || !isOpen(nowMs)) return false;
      // An upstream that is still answering other calls is not down.
      return isCertain(openedBy) || (openedBy.tookMs >= slowMs && answeredAtMs < failingSinceMs);
    },
    openUntilMs: () => untilMs,
    openedBy: () => openedBy,
    startCall(startedAtMs) {
      const isTrial = untilMs !== undefined && startedAtMs >= untilMs;
      if (isTrial) untilMs = startedAtMs + maxTrialMs;
      const openingsAtStart = openings;

      return function recordAnswer(answer, nowMs) {
        if (answer.ok) answeredAtMs = nowMs;
        if (openings !== openingsAtStart) return;
        if (answer.ok) {
          failuresInARow = 0;
          openings = 0;
          untilMs = undefined;
          openedBy = undefined;
        } else if (scopeOf(answer.reason) === scope && !isInconclusive(answer)) {
          failuresInARow += 1;
          const opens = isTrial || scope === "key" || failuresInARow >= failuresToOpen;
          if (opens && (untilMs === undefined || isTrial)) open(answer, nowMs);
        } else if (isTrial) {
          untilMs = nowMs;
        }
      };
    },
  };
}

/** Whether a failure concerns the key of the call or the whole upstream. */
export function scopeOf(reason: FailureReason): "key" | "upstream" {
  return reason === "credential" || reason === "account_empty" || reason === "throttled" ? "key" : "upstream";
}

/** A shorter timeout is due to the caller's own deadline, not to a slow upstream. */
const slowMs = 3_000;

/** The caller disconnected or set a short deadline; neither is evidence about the upstream. */
function isInconclusive({ reason, tookMs }: UpstreamFailure): boolean {
  return reason === "aborted" || (reason === "timeout" && tookMs < slowMs);
}

/** Until the end of the cool-down, every call with this key would fail. */
function isCertain({ reason, retryAfterSeconds }: UpstreamFailure): boolean {
  return scopeOf(reason) === "key" && (reason !== "throttled" || retryAfterSeconds !== undefined);
}

/** `openings`: since the last answer, before this one. */
function coolDownMs({ reason, retryAfterSeconds }: UpstreamFailure, openings: number): number {
  switch (reason) {
    // Only the operator can fix these. A call every five minutes detects the fix.
    case "credential":
    case "account_empty":
      return 300_000;
    case "throttled":
      return retryAfterSeconds === undefined ? 5_000 : Math.max(1, retryAfterSeconds) * 1_000;
    case "status":
    case "timeout":
    case "unreachable":
    case "invalid_response":
    case "aborted":
      return Math.min(2_000 * 2 ** openings, 10_000);
  }
}
