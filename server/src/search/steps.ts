import { Problem } from "../problems/problems.ts";
import type { SearchTrace } from "../telemetry/tracing.ts";
import type { StepTimes } from "../wallet/wallet.ts";

/** Records the steps of one search, for its record, the log, the Server-Timing header and the trace. */
export interface Steps {
  time<Result>(step: string, work: () => Promise<Result>): Promise<Result>;
  /** Traces a step without adding it to Server-Timing. */
  trace<Result>(step: string, work: () => Result): Result;
  /** Counts the time of `work` as external: spent waiting for the caller or for upstreams. */
  waitExternally<Result>(work: () => Promise<Result>): Promise<Result>;
  startAttempt: SearchTrace["startAttempt"];
  /** Milliseconds of each step, in order. */
  durations(): Record<string, number>;
  /** For the record of the search. The time after the last of these steps counts as ranking. */
  record(): { stepMs: StepTimes; upstreams: string | undefined };
  /** Since the request arrived. */
  elapsedMs(): number;
  externalMs(): number;
}

export function startSteps(trace?: SearchTrace): Steps {
  const startedAt = performance.now();
  const durations: Record<string, number> = {};
  /** When each step ended. */
  const ends = new Map<string, number>();
  /** Each upstream queried, with the reason of its failure. */
  const attempts: string[] = [];
  let externalMs = 0;
  return {
    async time(step, work) {
      const stepStartedAt = performance.now();
      const end = trace?.startStep(step);
      try {
        const result = await work();
        end?.();
        return result;
      } catch (error) {
        end?.(nameOf(error));
        throw error;
      } finally {
        const endedAt = performance.now();
        ends.set(step, endedAt);
        durations[step] = Number((endedAt - stepStartedAt).toFixed(1));
      }
    },
    trace(step, work) {
      const end = trace?.startStep(step);
      const result = work();
      if (result instanceof Promise) result.finally(end).catch(() => undefined);
      else end?.();
      return result;
    },
    async waitExternally(work) {
      const waitStartedAt = performance.now();
      try {
        return await work();
      } finally {
        externalMs += performance.now() - waitStartedAt;
      }
    },
    startAttempt(upstream) {
      const end = trace?.startAttempt(upstream);
      return (outcome, upstreamStatus) => {
        attempts.push(
          outcome === "ok" ? upstream : `${upstream}:${outcome}${upstreamStatus ? `_${upstreamStatus}` : ""}`,
        );
        end?.(outcome, upstreamStatus);
      };
    },
    durations: () => durations,
    record() {
      const now = performance.now();
      const auth = ends.get("auth") ?? now;
      const hold = ends.get("hold") ?? auth;
      const upstream = ends.get("upstream") ?? hold;
      const stepMs = { auth: auth - startedAt, hold: hold - auth, upstream: upstream - hold, rank: now - upstream };
      return { stepMs, upstreams: attempts.length > 0 ? attempts.join(",").slice(0, 512) : undefined };
    },
    elapsedMs: () => performance.now() - startedAt,
    externalMs: () => externalMs,
  };
}

function nameOf(error: unknown): string {
  if (error instanceof Problem) return error.code;
  return error instanceof Error ? error.name : "unknown";
}
