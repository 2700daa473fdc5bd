import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { createAdmission, startAdmission } from "./admission.ts";

const limits = { most: 100, least: 10, lateMs: 20, patienceMs: 200 };

function setUp(underWay: number) {
  const counts = { underWay };
  const admission = createAdmission(limits, () => counts.underWay, 0);
  let nowMs = 0;
  return {
    counts,
    isFull: admission.isFull,
    /** The timer rings so often, so far apart. */
    ring: (times: number, everyMs: number): void => {
      for (let time = 0; time < times; time += 1) {
        nowMs += everyMs;
        admission.ring(nowMs);
      }
    },
  };
}

test("as many are let in as memory allows, and no more", () => {
  const { counts, isFull } = setUp(99);
  assert.equal(isFull(), false);
  counts.underWay = 100;
  assert.equal(isFull(), true);
});

test("a burst is no overload: the loop may be late for a while", () => {
  const { isFull, ring } = setUp(99);
  ring(10, 10);
  ring(4, 50);
  assert.equal(isFull(), false);
  ring(1, 10);
  ring(4, 50);
  assert.equal(isFull(), false, "in time once is in time");
});

test("a loop that is always late lets in fewer than are under way, turn by turn, and never less than a few", () => {
  const { counts, isFull, ring } = setUp(90);
  ring(5, 50);
  assert.equal(isFull(), true);
  counts.underWay = 60;
  assert.equal(isFull(), false);
  ring(1, 50);
  assert.equal(isFull(), true);
  counts.underWay = 9;
  ring(100, 50);
  assert.equal(isFull(), false, "so few are always let in");
  counts.underWay = 10;
  assert.equal(isFull(), true);
});

test("when the loop is in time again more are let in, little by little, up to as many as before", () => {
  const { counts, isFull, ring } = setUp(10);
  ring(100, 50);
  counts.underWay = 50;
  ring(39, 10);
  assert.equal(isFull(), true);
  ring(2, 10);
  assert.equal(isFull(), false);
  ring(1_000, 10);
  counts.underWay = 99;
  assert.equal(isFull(), false);
});

test("in a process it rings by itself, until it is stopped", (context) => {
  let nowMs = 0;
  mock.timers.enable({ apis: ["setInterval"] });
  mock.method(performance, "now", () => nowMs);
  context.after(() => mock.reset());
  const admission = startAdmission(limits, () => 90);
  const pass = (times: number, everyMs: number): void => {
    for (let time = 0; time < times; time += 1) {
      nowMs += everyMs;
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
