import type { FailureReason, UpstreamAnswer } from "../providers/provider.ts";

// Remembers that an upstream failed, so that others are asked before it for a while. It never forbids a call: where no
// other upstream is left, the failing one is asked too, and its status or its recovery reaches the caller.
//
//   closed  -> open    an operator's matter or a throttle: at once; anything else: after three failures in a row
//   open    -> trial   the cool-down is over: one search asks it in its usual place, the others still ask it last
//   trial   -> closed  it answered
//   trial   -> open    it failed again, and cools down for longer
//
// Answers to what was asked before the circuit opened say nothing new, and are ignored.

export interface Circuit {
  /** Whether others should be asked first. */
  isOpen(nowMs: number): boolean;
  /** Call it when the upstream is asked, and the function it returns when the answer is there. */
  ask(nowMs: number): (answer: UpstreamAnswer, nowMs: number) => void;
  /** Until when others are asked first; undefined while closed. */
  openUntilMs(): number | undefined;
}

const failuresToOpen = 3;
/** Longer than any search may take: a trial whose answer never comes does not keep the upstream out. */
const longestTrialMs = 15_000;
const longestMs = 3_600_000;

export function createCircuit(): Circuit {
  let failuresInARow = 0;
  /** How often it was opened since it last answered. */
  let openings = 0;
  let untilMs: number | undefined;

  function open(forMs: number, nowMs: number): void {
    openings += 1;
    untilMs = nowMs + Math.min(forMs, longestMs);
  }

  function noteFailure(answer: Failure, isTrial: boolean, nowMs: number): void {
    failuresInARow += 1;
    const toldMs = answer.retryAfterSeconds === undefined ? undefined : Math.max(1, answer.retryAfterSeconds) * 1_000;
    const { atOnce, forMs } = coolDown(answer.reason, toldMs);
    if (untilMs !== undefined && !isTrial) return;
    if (isTrial || atOnce || failuresInARow >= failuresToOpen) open(forMs(openings), nowMs);
  }

  return {
    isOpen: (nowMs) => untilMs !== undefined && nowMs < untilMs,
    openUntilMs: () => untilMs,
    ask(askedAtMs) {
      const isTrial = untilMs !== undefined && askedAtMs >= untilMs;
      if (isTrial) untilMs = askedAtMs + longestTrialMs;
      const openingsThen = openings;

      return function noteAnswer(answer, nowMs) {
        if (openings !== openingsThen) return;
        if (answer.ok) {
          failuresInARow = 0;
          openings = 0;
          untilMs = undefined;
        } else if (!saysNothing(answer)) {
          noteFailure(answer, isTrial, nowMs);
        } else if (isTrial) {
          untilMs = nowMs;
        }
      };
    },
  };
}

/** Longer than this, an upstream is slow by anyone's measure; less is a caller with little patience. */
const shortestTimeoutMs = 3_000;

/** A caller who left, or whose own deadline was short, is no fault of the upstream. */
function saysNothing({ reason, tookMs }: Failure): boolean {
  return reason === "aborted" || (reason === "timeout" && tookMs < shortestTimeoutMs);
}

type Failure = Extract<UpstreamAnswer, { ok: false }>;

interface CoolDown {
  /** On the first failure, because the next call would fail just so. */
  atOnce: boolean;
  forMs: (openings: number) => number;
}

function coolDown(reason: FailureReason, toldMs: number | undefined): CoolDown {
  switch (reason) {
    // The operator must act. Until then we look whether it has been mended every five minutes, or after the time told.
    case "credential":
      return { atOnce: true, forMs: () => 300_000 };
    case "account_empty":
      return { atOnce: true, forMs: () => toldMs ?? 300_000 };
    case "throttled":
      return { atOnce: true, forMs: () => toldMs ?? 5_000 };
    case "status":
    case "timeout":
    case "unreachable":
    case "invalid_response":
    case "aborted":
      return { atOnce: false, forMs: (openings) => Math.min(2_000 * 2 ** openings, 10_000) };
  }
}
