import { Problem } from "../problems.ts";
import type { SearchTrace } from "../telemetry/tracing.ts";

/** The steps of one search: how long each took, told to the caller as Server-Timing and to whoever traces. */
export interface Steps {
  time<Result>(step: string, work: () => Promise<Result>): Promise<Result>;
  /** The same for what the caller is not told of. */
  trace<Result>(step: string, work: () => Result): Result;
  startAttempt: SearchTrace["startAttempt"] | undefined;
  header(): string;
  /** Since the request came. */
  elapsedMs(): number;
}

export function startSteps(trace?: SearchTrace): Steps {
  const startedAt = performance.now();
  const done: string[] = [];
  return {
    async time(step, work) {
      const begin = performance.now();
      const end = trace?.startStep(step);
      try {
        const result = await work();
        end?.();
        return result;
      } catch (error) {
        end?.(nameOf(error));
        throw error;
      } finally {
        done.push(`${step};dur=${(performance.now() - begin).toFixed(1)}`);
      }
    },
    trace(step, work) {
      const end = trace?.startStep(step);
      const result = work();
      if (result instanceof Promise) result.finally(end).catch(() => undefined);
      else end?.();
      return result;
    },
    startAttempt: trace?.startAttempt,
    header: () => done.join(", "),
    elapsedMs: () => performance.now() - startedAt,
  };
}

function nameOf(error: unknown): string {
  if (error instanceof Problem) return error.code;
  return error instanceof Error ? error.name : "unknown";
}
