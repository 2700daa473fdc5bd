import type { FailureReason, UpstreamAnswer } from "../providers/provider.ts";

// Circuit breaker: after failures, an upstream is queried after the others for a cool-down period. It never blocks a call:
// if no other upstream is left, the failing one is queried, and the caller gets its result or its error.
//
//   closed  -> open    immediately on a throttle or a failure only the operator can fix; otherwise after three in a row
//   open    -> trial   the cool-down has ended: one search queries it in its normal position, others still query it last
//   trial   -> closed  it answered
//   trial   -> open    it failed again; the next cool-down is longer
//
// Results of calls that started before the circuit opened are ignored.

export interface Circuit {
  /** True if other upstreams should be queried first. */
  isOpen(nowMs: number): boolean;
  /** Call it when the upstream is queried, and the function it returns with the result. */
  startCall(nowMs: number): (answer: UpstreamAnswer, nowMs: number) => void;
  /** The end of the cool-down; undefined while closed. */
  openUntilMs(): number | undefined;
}

const failuresToOpen = 3;
/** Longer than any search, so that a trial without a result does not keep the upstream in last position. */
const maxTrialMs = 15_000;
const maxCoolDownMs = 3_600_000;

export function createCircuit(): Circuit {
  let failuresInARow = 0;
  /** Since the last answer. */
  let openings = 0;
  let untilMs: number | undefined;

  function open(forMs: number, nowMs: number): void {
    openings += 1;
    untilMs = nowMs + Math.min(forMs, maxCoolDownMs);
  }

  function recordFailure(answer: Failure, isTrial: boolean, nowMs: number): void {
    failuresInARow += 1;
    const retryAfterMs =
      answer.retryAfterSeconds === undefined ? undefined : Math.max(1, answer.retryAfterSeconds) * 1_000;
    const { opensImmediately, forMs } = coolDown(answer.reason, retryAfterMs);
    if (untilMs !== undefined && !isTrial) return;
    if (isTrial || opensImmediately || failuresInARow >= failuresToOpen) open(forMs(openings), nowMs);
  }

  return {
    isOpen: (nowMs) => untilMs !== undefined && nowMs < untilMs,
    openUntilMs: () => untilMs,
    startCall(startedAtMs) {
      const isTrial = untilMs !== undefined && startedAtMs >= untilMs;
      if (isTrial) untilMs = startedAtMs + maxTrialMs;
      const openingsAtStart = openings;

      return function recordAnswer(answer, nowMs) {
        if (openings !== openingsAtStart) return;
        if (answer.ok) {
          failuresInARow = 0;
          openings = 0;
          untilMs = undefined;
        } else if (!isInconclusive(answer)) {
          recordFailure(answer, isTrial, nowMs);
        } else if (isTrial) {
          untilMs = nowMs;
        }
      };
    },
  };
}

/** A shorter timeout is due to the caller's own deadline, not to a slow upstream. */
const minTimeoutMs = 3_000;

/** The caller disconnected or set a short deadline; neither is evidence about the upstream. */
function isInconclusive({ reason, tookMs }: Failure): boolean {
  return reason === "aborted" || (reason === "timeout" && tookMs < minTimeoutMs);
}

type Failure = Extract<UpstreamAnswer, { ok: false }>;

interface CoolDown {
  /** On the first failure, because the next call would fail the same way. */
  opensImmediately: boolean;
  forMs: (openings: number) => number;
}

function coolDown(reason: FailureReason, retryAfterMs: number | undefined): CoolDown {
  switch (reason) {
    // Only the operator can fix these. Retry every five minutes, or after Retry-After.
    case "credential":
      return { opensImmediately: true, forMs: () => 300_000 };
    case "account_empty":
      return { opensImmediately: true, forMs: () => retryAfterMs ?? 300_000 };
    case "throttled":
      return { opensImmediately: true, forMs: () => retryAfterMs ?? 5_000 };
    case "status":
    case "timeout":
    case "unreachable":
    case "invalid_response":
    case "aborted":
      return { opensImmediately: false, forMs: (openings) => Math.min(2_000 * 2 ** openings, 10_000) };
  }
}
