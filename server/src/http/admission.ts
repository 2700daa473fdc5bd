// How many requests may be under way in this process at once. Memory sets a bound that never moves. CPU sets one that
// does: a timer that should ring every few milliseconds rings late when the event loop is busy. One late ring is a burst
// or a collection of garbage, and passes. When none has come in time for a while, work arrives faster than it is done;
// then fewer are let in, turn by turn, until rings are in time again, and after that slowly more. So what was let in is
// finished, and the rest learn at once that they have to come back.

export interface Admission {
  isFull: () => boolean;
  /** Said when the timer rings. */
  ring: (nowMs: number) => void;
}

export interface AdmissionLimits {
  most: number;
  /** So many are always let in. */
  least: number;
  /** How late a ring may be. */
  lateMs: number;
  /** How long all of them must have been late before fewer are let in. */
  patienceMs: number;
}

const everyMs = 10;

/** Rings by itself until it is stopped. */
export function startAdmission(limits: AdmissionLimits, countUnderWay: () => number): Admission & { stop(): void } {
  const admission = createAdmission(limits, countUnderWay, performance.now());
  const timer = setInterval(() => admission.ring(performance.now()), everyMs);
  timer.unref();
  return { ...admission, stop: () => clearInterval(timer) };
}

export function createAdmission(limits: AdmissionLimits, countUnderWay: () => number, nowMs: number): Admission {
  const { most, least, lateMs, patienceMs } = limits;
  let rangAt = nowMs;
  let inTimeAt = nowMs;
  let limit = most;

  return {
    isFull: () => countUnderWay() >= limit,
    ring(now) {
      const isLate = now - rangAt > everyMs + lateMs;
      rangAt = now;
      if (!isLate) {
        inTimeAt = now;
        limit = Math.min(most, limit + 1);
      } else if (now - inTimeAt > patienceMs) {
        limit = Math.max(least, Math.min(limit, countUnderWay()) * 0.85);
      }
    },
  };
}
