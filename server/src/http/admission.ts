// Limits the number of requests in flight in this process. Memory sets a fixed maximum. For CPU, a timer measures event
// loop delay: a single late tick is a burst or a garbage collection and is ignored. If every tick has been late for a
// while, requests arrive faster than they are served, and the limit shrinks with every late tick; it grows back slowly
// when ticks are on time. Admitted requests finish, and the rest are rejected immediately.

export interface Admission {
  isFull: () => boolean;
  /** Called by the timer. */
  tick: (nowMs: number) => void;
}

export interface AdmissionLimits {
  max: number;
  /** The limit never shrinks below this. */
  min: number;
  /** A tick delayed by more than this is late. */
  maxDelayMs: number;
  /** The limit shrinks after all ticks have been late for this long. */
  overloadedAfterMs: number;
}

const intervalMs = 10;

/** Starts the timer. */
export function startAdmission(limits: AdmissionLimits, countInFlight: () => number): Admission & { stop(): void } {
  const admission = createAdmission(limits, countInFlight, performance.now());
  const timer = setInterval(() => admission.tick(performance.now()), intervalMs);
  timer.unref();
  return { ...admission, stop: () => clearInterval(timer) };
}

export function createAdmission(limits: AdmissionLimits, countInFlight: () => number, nowMs: number): Admission {
  const { max, min, maxDelayMs, overloadedAfterMs } = limits;
  let lastTickAt = nowMs;
  let lastOnTimeAt = nowMs;
  let limit = max;

  return {
    isFull: () => countInFlight() >= limit,
    tick(now) {
      const isLate = now - lastTickAt > intervalMs + maxDelayMs;
      lastTickAt = now;
      if (!isLate) {
        lastOnTimeAt = now;
        limit = Math.min(max, limit + 1);
      } else if (now - lastOnTimeAt > overloadedAfterMs) {
        limit = Math.max(min, Math.min(limit, countInFlight()) * 0.85);
      }
    },
  };
}
