import { LaneFull } from "../db/lane.ts";
import { NeverSent, OutcomeUnknown } from "../db/settle-batch.ts";
import { NoResponse } from "../http/no-response.ts";
import type { KeyMode } from "../keys/keys.ts";
import { limitProblem } from "../problems/exceeded-limit.ts";
import { Problem } from "../problems/problems.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { CaptureRequest, HoldOutcome, HoldRequest, Ledger, ReleaseRequest, Settlement } from "../wallet/wallet.ts";

// The ledger as a paid search uses it, with the policy for every way a ledger call can fail:
//
//              hold                           capture                        release
//   LaneFull   503 overloaded                 503 overloaded, release        log; the hold expires
//   NeverSent  503 ledger_unavailable         503 ledger_unavailable, release   same
//   Unknown    503 ledger_unavailable,        no response: the caller may    same
//              release                        or may not have been charged
//   other      503 ledger_unavailable         500 internal_error, release    same

export interface SearchPayments {
  hold(request: HoldRequest, maxOutageMs?: number): Promise<HoldOutcome>;
  capture(request: CaptureRequest): Promise<Settlement>;
  /**
   * Resolves when the hold is released, or after a second while the release continues in the background. Never rejects: a
   * hold that cannot be released expires after a minute.
   */
  release(request: ReleaseRequest, mode?: KeyMode): Promise<void>;
  /** Resolves when no release is in progress. Call it before closing the database. */
  finishReleases(): Promise<void>;
}

/**
 * A failed search should not wait for a slow database. It does wait a moment, because an immediate retry with the same
 * Idempotency-Key gets 409 until the hold is released.
 */
const maxReleaseWaitMs = 1_000;

interface PaymentDependencies {
  ledger: Pick<Ledger, "hold" | "capture" | "release">;
  metrics: Pick<Metrics, "countReleased" | "countLost">;
  log: Pick<Log, "warn">;
}

export function createSearchPayments({ ledger, metrics, log }: PaymentDependencies): SearchPayments {
  const releases = new Set<Promise<void>>();

  async function release(request: ReleaseRequest, mode?: KeyMode): Promise<void> {
    const finished = releaseNow(request, mode).finally(() => releases.delete(finished));
    releases.add(finished);
    await withTimeLimit(finished, maxReleaseWaitMs);
  }

  async function finishReleases(): Promise<void> {
    while (releases.size > 0) await Promise.all(releases);
  }

  async function releaseNow(request: ReleaseRequest, mode: KeyMode | undefined): Promise<void> {
    try {
      const { state } = await ledger.release(request);
      if (state === "released" && mode === "live") metrics.countReleased();
    } catch (err) {
      log.warn({ err, searchId: request.searchId }, "hold not released, will expire");
    }
  }

  async function hold(request: HoldRequest, maxOutageMs?: number): Promise<HoldOutcome> {
    try {
      return await ledger.hold(request, maxOutageMs);
    } catch (error) {
      // If the hold did commit, no search will use it. Releasing it now frees the money a minute before it would expire.
      // Not awaited: the caller's response does not depend on it.
      if (error instanceof OutcomeUnknown)
        release({ ...request, outcome: "ledger_unavailable" }).catch(() => undefined);
      throw holdErrorToProblem(error);
    }
  }

  async function capture(request: CaptureRequest): Promise<Settlement> {
    try {
      const settlement = await ledger.capture(request);
      if (settlement.state !== "captured") metrics.countLost("expired");
      return settlement;
    } catch (error) {
      if (error instanceof OutcomeUnknown) metrics.countLost("unknown");
      else await release({ ...request, outcome: "ledger_unavailable" });
      throw captureErrorToProblem(error);
    }
  }

  return { hold, capture, release, finishReleases };
}

/** Resolves with the work, or after the time limit without stopping the work. */
async function withTimeLimit(work: Promise<void>, limitMs: number): Promise<void> {
  const { promise: timedOut, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs);
  await Promise.race([work, timedOut]);
  clearTimeout(timer);
}

/** A failed hold charges nothing, regardless of the cause. If it did commit, it is released or expires. */
function holdErrorToProblem(cause: unknown): Problem {
  return cause instanceof LaneFull ? queueFull(cause) : new Problem("ledger_unavailable", { cause });
}

/** A capture that was never sent charged nothing. If its outcome is unknown, any response could state a wrong charge. */
function captureErrorToProblem(cause: unknown): unknown {
  if (cause instanceof OutcomeUnknown) return new NoResponse("the outcome of the capture is unknown", { cause });
  if (cause instanceof LaneFull) return queueFull(cause);
  if (cause instanceof NeverSent) return new Problem("ledger_unavailable", { cause });
  return cause;
}

function queueFull(cause: LaneFull): Problem {
  return limitProblem("overloaded", { limit: "ledger_queue", max: cause.max, retryAfterSeconds: 2 }, { cause });
}
