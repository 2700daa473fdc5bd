import type { Input } from "../inputs.ts";
import type { SlowTurn } from "./cpu-probe.ts";

/** Finds the inputs that were in flight while the event loop was blocked. Each of them may be the cause. */
export interface InputWatch {
  /** Returns the function to call when the response has arrived. */
  start(input: Input): () => void;
  /** Call at least every few seconds. */
  record(slowTurns: readonly SlowTurn[]): void;
  suspects(): readonly Input[];
}

interface Watched {
  input: Input;
  sentAt: number;
  answeredAt: number;
}

const keptForMs = 10_000;
const maxSuspects = 5_000;

export function watchInputs(now: () => number): InputWatch {
  let recent: Watched[] = [];
  const suspects = new Set<Input>();
  return {
    start(input) {
      const watched: Watched = { input, sentAt: now(), answeredAt: Infinity };
      recent.push(watched);
      return () => void (watched.answeredAt = now());
    },
    record(slowTurns) {
      for (const { startedAt, endedAt } of slowTurns) {
        const inFlight = recent.filter(({ sentAt, answeredAt }) => sentAt <= endedAt && answeredAt >= startedAt);
        for (const { input } of inFlight) if (suspects.size < maxSuspects) suspects.add(input);
      }
      const since = now() - keptForMs;
      recent = recent.filter(({ answeredAt }) => answeredAt > since);
    },
    suspects: () => [...suspects],
  };
}
