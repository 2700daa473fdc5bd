import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { stopClock } from "../../test/support/fake-clock.ts";
import { RefusedDatabase } from "./fence.ts";
import { NoPrimary } from "./find-primary.ts";
import { createLane, type Lane } from "./lane.ts";

// Lanes whose items may wait longer while the database is unavailable.

const error = (properties: object, message = ""): Error => Object.assign(new Error(message), properties);
const connectionRefused = error({ code: "ECONNREFUSED" });
const outages = [
  connectionRefused,
  error({ code: "ECONNRESET" }),
  error({}, "Connection terminated unexpectedly"),
  error({}, "timeout exceeded when trying to connect"),
  error({}, "Connection terminated due to connection timeout"),
  error({ severity: "FATAL", code: "57P01" }),
  error({ severity: "FATAL", code: "57P03" }),
  error({ severity: "ERROR", code: "25006" }),
  error({ severity: "ERROR", code: "PB001" }),
  new NoPrimary(),
  new RefusedDatabase(),
];
const otherFailures = {
  slow: error({}, "the database did not respond"),
  locked: error({ severity: "ERROR", code: "55P03" }),
  cancelled: error({ severity: "ERROR", code: "57014" }),
  full: error({ severity: "ERROR", code: "53100" }),
};

/** Longer than the longest pause between attempts. */
const timeoutMs = 1_200;

interface FailingLane extends Lane<string, string> {
  recover(): void;
}

function createFailingLane(failure: Error, outageTimeoutMs = 60_000): FailingLane {
  let isAvailable = false;
  const lane = createLane<string, string>({
    timeoutMs,
    outageTimeoutMs,
    ownerOf: (item) => item,
    async send(items) {
      if (!isAvailable) throw failure;
      return items.map((item) => `sent ${item}`);
    },
  });
  return { ...lane, recover: () => void (isAvailable = true) };
}

/** Stops the clock. Records how submitted items end, in this order. */
function recordEnds(t: TestContext) {
  const pass = stopClock(t);
  const ended: string[] = [];
  const record = (item: string, result: Promise<string>): void => {
    result.then(
      (text) => ended.push(`${item}: ${text}`),
      (reason: unknown) => ended.push(`${item}: ${reason instanceof Error ? reason.constructor.name : "no error"}`),
    );
  };
  return { pass, ended, record };
}

for (const failure of outages)
  test(`an item waits while the database is unavailable: ${describe(failure)}`, async (t) => {
    const { pass, ended, record } = recordEnds(t);
    const lane = createFailingLane(failure);
    record("item", lane.submit("item"));
    await pass(50_000);
    assert.deepEqual(ended, []);
    lane.recover();
    await pass(1_000);
    assert.deepEqual(ended, ["item: sent item"]);
  });

test("an item does not wait for a database that is slow, locked or full", async (t) => {
  const { pass, ended, record } = recordEnds(t);
  for (const [name, failure] of Object.entries(otherFailures)) record(name, createFailingLane(failure).submit("item"));
  await pass(timeoutMs - 50);
  assert.deepEqual(ended, []);
  // The deadline is checked before each attempt.
  await pass(1_000);
  assert.deepEqual(
    new Set(ended),
    new Set(["slow: OutcomeUnknown", "locked: NeverSent", "cancelled: NeverSent", "full: OutcomeUnknown"]),
  );
});

test("a wait ends at its limit, or earlier if the caller has less time", async (t) => {
  const { pass, ended, record } = recordEnds(t);
  const lane = createFailingLane(connectionRefused, 3 * timeoutMs);
  record("patient", lane.submit("patient"));
  record("hurried", lane.submit("hurried", 0));
  // Not in the first batch.
  await pass(25);
  record("later", lane.submit("later", 0));
  await pass(timeoutMs + 1_000);
  assert.deepEqual(new Set(ended), new Set(["hurried: OutcomeUnknown", "later: NeverSent"]));
  await pass(timeoutMs - 1_100);
  assert.equal(ended.length, 2);
  await pass(timeoutMs + 1_100);
  assert.equal(ended[2], "patient: OutcomeUnknown");
});

test("an item that queued up during the outage is sent after it", async (t) => {
  const { pass, ended, record } = recordEnds(t);
  const lane = createFailingLane(connectionRefused);
  record("first", lane.submit("first"));
  await pass(100);
  record("second", lane.submit("second"));
  await pass(5_000);
  lane.recover();
  await pass(1_025);
  assert.deepEqual(ended, ["first: sent first", "second: sent second"]);
});

function describe(failure: Error): string {
  const code = "code" in failure ? String(failure.code) : "";
  return code || failure.message || failure.constructor.name;
}
