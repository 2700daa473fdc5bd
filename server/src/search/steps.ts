import { Problem } from "../problems/problems.ts";
import type { SearchTrace } from "../telemetry/tracing.ts";

/** Times the steps of one search, for the Server-Timing header and the trace. */
export interface Steps {
  time<Result>(step: string, work: () => Promise<Result>): Promise<Result>;
  /** Traces a step without adding it to Server-Timing. */
  trace<Result>(step: string, work: () => Result): Result;
  /** Counts the time of `work` as external: spent waiting for the caller or for upstreams. */
  waitExternally<Result>(work: () => Promise<Result>): Promise<Result>;
  startAttempt: SearchTrace["startAttempt"] | undefined;
  header(): string;
  /** Since the request arrived. */
  elapsedMs(): number;
  externalMs(): number;
}

export function startSteps(trace?: SearchTrace): Steps {
  const startedAt = performance.now();
  const durations: string[] = [];
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
        durations.push(`${step};dur=${(performance.now() - stepStartedAt).toFixed(1)}`);
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
    startAttempt: trace?.startAttempt,
    header: () => durations.join(", "),
    elapsedMs: () => performance.now() - startedAt,
    externalMs: () => externalMs,
  };
}

function nameOf(error: unknown): string {
  if (error instanceof Problem) return error.code;
  return error instanceof Error ? error.name : "unknown";
}
