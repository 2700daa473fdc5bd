import { syncBuiltinESMExports } from "node:module";
import type { TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";

/**
 * Stops `performance.now` and the timers of this process until the test ends. Returns a function that lets time pass in small
 * steps, so that work after one timer can start the next.
 */
export function stopClock(t: TestContext): (ms: number) => Promise<void> {
  let now = performance.now();
  t.mock.method(performance, "now", () => now);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  // Named imports of node:timers/promises keep the real functions otherwise.
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.timers.reset();
    syncBuiltinESMExports();
  });
  return async (ms) => {
    for (const end = now + ms; now < end; now += stepMs) {
      t.mock.timers.tick(stepMs);
      await setImmediate();
    }
  };
}

/** Divides the pauses between attempts. */
const stepMs = 25;
