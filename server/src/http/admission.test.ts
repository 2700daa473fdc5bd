import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { createAdmission, startAdmission } from "./admission.ts";

const limits = { max: 100, min: 10, maxDelayMs: 20, overloadedAfterMs: 200 };

function setUp(inFlight: number) {
  const counts = { inFlight };
  const admission = createAdmission(limits, () => counts.inFlight, 0);
  let nowMs = 0;
  return {
    counts,
    isFull: admission.isFull,
    tick: (times: number, intervalMs: number): void => {
      for (let time = 0; time < times; time += 1) {
        nowMs += intervalMs;
        admission.tick(nowMs);
      }
    },
  };
}

test("admits requests up to the maximum", () => {
  const { counts, isFull } = setUp(99);
  assert.equal(isFull(), false);
  counts.inFlight = 100;
  assert.equal(isFull(), true);
});

test("ignores late ticks during a short burst", () => {
  const { isFull, tick } = setUp(99);
  tick(10, 10);
  tick(4, 50);
  assert.equal(isFull(), false);
  tick(1, 10);
  tick(4, 50);
  assert.equal(isFull(), false, "a single tick on time resets the overload");
});

test("shrinks the limit with every late tick, down to the minimum", () => {
  const { counts, isFull, tick } = setUp(90);
  tick(5, 50);
  assert.equal(isFull(), true);
  counts.inFlight = 60;
  assert.equal(isFull(), false);
  tick(1, 50);
  assert.equal(isFull(), true);
  counts.inFlight = 9;
  tick(100, 50);
  assert.equal(isFull(), false, "the minimum is always admitted");
  counts.inFlight = 10;
  assert.equal(isFull(), true);
});

test("grows the limit back gradually when ticks are on time", () => {
  const { counts, isFull, tick } = setUp(10);
  tick(100, 50);
  counts.inFlight = 50;
  tick(39, 10);
  assert.equal(isFull(), true);
  tick(2, 10);
  assert.equal(isFull(), false);
  tick(1_000, 10);
  counts.inFlight = 99;
  assert.equal(isFull(), false);
});

test("the timer ticks until it is stopped", (context) => {
  let nowMs = 0;
  mock.timers.enable({ apis: ["setInterval"] });
  mock.method(performance, "now", () => nowMs);
  context.after(() => mock.reset());
  const admission = startAdmission(limits, () => 90);
  const pass = (times: number, intervalMs: number): void => {
    for (let time = 0; time < times; time += 1) {
      nowMs += intervalMs;
      mock.timers.tick(10);
    }
  };
  pass(5, 50);
  assert.equal(admission.isFull(), true);
  pass(100, 10);
  assert.equal(admission.isFull(), false);
  admission.stop();
  pass(5, 50);
  assert.equal(admission.isFull(), false);
});
