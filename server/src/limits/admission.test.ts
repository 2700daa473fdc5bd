import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { exceededLimitOf } from "../problems/exceeded-limit.ts";
import { Problem } from "../problems/problems.ts";
import { type AdmissionLimits, createAdmission, type PoolName, startAdmission } from "./admission.ts";

const limits: AdmissionLimits = {
  max: 100,
  min: 10,
  walletShare: 1,
  maxDelayMs: 20,
  overloadedAfterMs: 200,
  maxWaitMs: 1_000,
};

function setUp(inFlight: number, changes: Partial<AdmissionLimits> = {}) {
  const admission = createAdmission({ ...limits, ...changes }, 0);
  const leaves: (() => void)[] = [];
  let nowMs = 0;
  const setInFlight = (count: number): void => {
    for (; leaves.length < count; admission.countHandler(1)) leaves.push(admission.enter("callers", "wallet"));
    for (; leaves.length > count; admission.countHandler(-1)) leaves.pop()?.();
  };
  setInFlight(inFlight);
  return {
    ...admission,
    setInFlight,
    isFull: () => admission.whyFull() !== undefined,
    tick: (times: number, intervalMs: number): void => {
      for (let time = 0; time < times; time += 1) {
        nowMs += intervalMs;
        admission.tick(nowMs);
      }
    },
  };
}

/** The code and the limit of the problem that is thrown, and its maximum. */
function rejection(enter: () => unknown): string {
  try {
    enter();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { exceeded } = error.members as { exceeded: { max: number } };
    return `${error.code} ${exceededLimitOf(error)} ${exceeded.max}`;
  }
  return "admitted";
}

test("admits requests up to the maximum", () => {
  const { setInFlight, isFull, enter } = setUp(99);
  assert.equal(isFull(), false);
  setInFlight(100);
  assert.equal(isFull(), true);
  assert.equal(
    rejection(() => enter("callers", "other")),
    "overloaded server_in_flight 100",
  );
});

test("one wallet can occupy a quarter of the slots, and the others have the rest", () => {
  const { enter, setInFlight } = setUp(25, { walletShare: 0.25 });
  assert.equal(
    rejection(() => enter("callers", "wallet")),
    "concurrency_limited wallet_share 25",
  );
  for (let time = 0; time < 25; time += 1) enter("callers", "other");
  setInFlight(24);
  assert.equal(
    rejection(() => enter("callers", "wallet")),
    "admitted",
  );
});

test("test searches, key look-ups, public requests and webhooks never take the slot of a known caller", () => {
  const expected: Record<string, string> = {
    tests: "overloaded server_test_in_flight 50",
    lookUps: "overloaded server_look_ups 50",
    public: "overloaded server_public_in_flight 50",
    webhooks: "overloaded server_webhooks_in_flight 10",
  };
  const { enter, isFull, setInFlight } = setUp(0, { max: 1_000, min: 10 });
  for (const [pool, problem] of Object.entries(expected)) {
    const enterAs = (owner: string) => rejection(() => enter(pool as PoolName, owner));
    for (let owner = 0; enterAs(`owner ${owner}`) === "admitted"; owner += 1);
    assert.equal(enterAs("another"), problem);
  }
  assert.equal(isFull(), false);
  setInFlight(1_000);
  assert.equal(isFull(), true);
});

test("one network or wallet can occupy half of a pool for unknown callers or tests", () => {
  const { enter } = setUp(0, { max: 1_000 });
  const fill = (pool: PoolName) => {
    for (let time = 0; time < 25; time += 1) enter(pool, "one");
    return rejection(() => enter(pool, "one"));
  };
  assert.equal(fill("public"), "concurrency_limited network_share 25");
  assert.equal(fill("tests"), "concurrency_limited wallet_share 25");
});

test("requests that wait for a slot get it in order of arrival, and those of another owner do not wait for them", async () => {
  const { enter, enterOrWait } = setUp(0, { max: 1_000 });
  const leaves = Array.from({ length: 25 }, () => enter("lookUps", "busy"));
  const entered: string[] = [];
  const waiting = ["first", "second"].map((name) =>
    enterOrWait("lookUps", "busy").then((leave) => {
      entered.push(name);
      return leave;
    }),
  );
  (await enterOrWait("lookUps", "other"))();
  assert.deepEqual(entered, []);
  leaves.pop()?.();
  const leaveFirst = await waiting[0];
  assert.deepEqual(entered, ["first"]);
  leaveFirst?.();
  await waiting[1];
  assert.deepEqual(entered, ["first", "second"]);
  assert.equal(
    rejection(() => enter("lookUps", "busy")),
    "concurrency_limited network_share 25",
  );
});

test("a request that waits too long, or with too many others, is rejected", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { enter, enterOrWait } = setUp(0, { max: 1_000 });
  const leaves = Array.from({ length: 25 }, () => enter("lookUps", "busy"));
  const codes: string[] = [];
  const waiting = Array.from({ length: 501 }, () =>
    enterOrWait("lookUps", "busy").catch((error: unknown) => {
      assert(error instanceof Problem);
      codes.push(error.code);
    }),
  );
  await setImmediate();
  assert.deepEqual(codes, ["concurrency_limited"]);
  context.mock.timers.tick(1_000);
  await Promise.all(waiting);
  assert.equal(codes.length, 501);
  leaves.pop()?.();
  (await enterOrWait("lookUps", "busy"))();
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
  const { setInFlight, isFull, tick } = setUp(90);
  tick(5, 50);
  assert.equal(isFull(), true);
  setInFlight(60);
  assert.equal(isFull(), false);
  tick(1, 50);
  assert.equal(isFull(), true);
  setInFlight(9);
  tick(100, 50);
  assert.equal(isFull(), false, "the minimum is always admitted");
  setInFlight(10);
  assert.equal(isFull(), true);
});

test("while the server is slow, shares and pools shrink too, and the server is named as the cause", () => {
  const { enter, tick } = setUp(20, { walletShare: 0.25, max: 100, min: 40 });
  tick(100, 50);
  for (let time = 0; time < 10; time += 1) enter("callers", "other");
  assert.equal(
    rejection(() => enter("callers", "other")),
    "overloaded wallet_share 10",
  );
});

test("requests whose caller is not known yet count for the size of a slow server", () => {
  const { enter, tick, countHandler } = setUp(0);
  for (let count = 0; count < 90; count += 1) countHandler(1);
  tick(5, 50);
  for (let count = 0; count < 76; count += 1) enter("callers", "wallet");
  assert.equal(
    rejection(() => enter("callers", "wallet")),
    "overloaded wallet_share 76",
  );
});

test("grows the limit back gradually when ticks are on time", () => {
  const { setInFlight, isFull, tick } = setUp(10);
  tick(100, 50);
  setInFlight(10);
  tick(39, 10);
  setInFlight(49);
  assert.equal(isFull(), true);
  tick(2, 10);
  assert.equal(isFull(), false);
  tick(1_000, 10);
  setInFlight(99);
  assert.equal(isFull(), false);
});

test("the timer ticks until it is stopped", (context) => {
  let nowMs = 0;
  mock.timers.enable({ apis: ["setInterval"] });
  mock.method(performance, "now", () => nowMs);
  context.after(() => mock.reset());
  const admission = startAdmission(limits);
  for (let count = 0; count < 90; count += 1) {
    admission.countHandler(1);
    admission.enter("callers", "wallet");
  }
  const isFull = () => admission.whyFull() !== undefined;
  const pass = (times: number, intervalMs: number): void => {
    for (let time = 0; time < times; time += 1) {
      nowMs += intervalMs;
      mock.timers.tick(10);
    }
  };
  pass(5, 50);
  assert.equal(isFull(), true);
  pass(100, 10);
  assert.equal(isFull(), false);
  admission.stop();
  pass(5, 50);
  assert.equal(isFull(), false);
});
