import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { RefusedDatabase } from "./fence.ts";
import { NoPrimary } from "./find-primary.ts";
import { createLane, type Lane } from "./lane.ts";
import { NeverSent, OutcomeUnknown } from "./settle-batch.ts";

// Lanes whose items may wait longer while the database is unavailable.

const error = (properties: object, message = ""): Error => Object.assign(new Error(message), properties);
const connectionRefused = error({ code: "ECONNREFUSED" });
const outages = [
  connectionRefused,
  error({ code: "ECONNRESET" }),
  error({}, "Connection terminated unexpectedly"),
  error({}, "timeout exceeded when trying to connect"),
  error({ severity: "FATAL", code: "57P01" }),
  error({ severity: "FATAL", code: "57P03" }),
  error({ severity: "ERROR", code: "25006" }),
  error({ severity: "ERROR", code: "PB001" }),
  new NoPrimary(),
  new RefusedDatabase(),
];
const otherFailures = [
  error({}, "the database did not respond"),
  error({ severity: "ERROR", code: "55P03" }),
  error({ severity: "ERROR", code: "57014" }),
  error({ severity: "ERROR", code: "53100" }),
];

/** Longer than the longest pause between attempts. */
const timeoutMs = 1_200;

function createFailingLane(failure: Error, failsForMs: number, outageTimeoutMs = 60_000): Lane<string, string> {
  const untilMs = performance.now() + failsForMs;
  return createLane({
    timeoutMs,
    outageTimeoutMs,
    ownerOf: (item) => item,
    async send(items) {
      if (performance.now() < untilMs) throw failure;
      return items.map((item) => `sent ${item}`);
    },
  });
}

async function settle(result: Promise<string>): Promise<{ outcome: string; afterMs: number }> {
  const startMs = performance.now();
  const outcome = await result.catch((reason: unknown) => {
    assert.ok(reason instanceof NeverSent || reason instanceof OutcomeUnknown);
    return reason.constructor.name;
  });
  return { outcome, afterMs: performance.now() - startMs };
}

test("an item waits while the database is unavailable", async () => {
  const settled = await Promise.all(
    outages.map((failure) => settle(createFailingLane(failure, 2 * timeoutMs).submit("item"))),
  );
  assert.deepEqual(
    settled.map(({ outcome }) => outcome),
    outages.map(() => "sent item"),
  );
});

test("an item does not wait for a database that is slow, locked or full", async () => {
  const settled = await Promise.all(
    otherFailures.map((failure) => settle(createFailingLane(failure, 60_000).submit("item"))),
  );
  assert.deepEqual(
    settled.map(({ outcome }) => outcome),
    ["OutcomeUnknown", "NeverSent", "NeverSent", "OutcomeUnknown"],
  );
});

test("a wait ends at its limit, or earlier if the caller has less time", async () => {
  const lane = createFailingLane(connectionRefused, 60_000, 3 * timeoutMs);
  const [hurried, patient] = await Promise.all([settle(lane.submit("hurried", 0)), settle(lane.submit("patient"))]);
  assert.equal(hurried.outcome, "OutcomeUnknown");
  assert.equal(patient.outcome, "OutcomeUnknown");
  assert.ok(hurried.afterMs >= timeoutMs && hurried.afterMs < patient.afterMs, `${hurried.afterMs} ms`);
  assert.ok(patient.afterMs >= 3 * timeoutMs, `${patient.afterMs} ms`);
});

test("an item that queued up during the outage is sent after it", async () => {
  const lane = createFailingLane(connectionRefused, 2 * timeoutMs);
  const first = settle(lane.submit("first"));
  await wait(50);
  const second = await settle(lane.submit("second"));
  assert.equal((await first).outcome, "sent first");
  assert.equal(second.outcome, "sent second");
  assert.ok(second.afterMs > timeoutMs);
});
