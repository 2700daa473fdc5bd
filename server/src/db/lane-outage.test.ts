import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../test/support/assertions/until.ts";
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

function settle(result: Promise<string>): Promise<string> {
  return result.catch((reason: unknown) => {
    assert.ok(reason instanceof NeverSent || reason instanceof OutcomeUnknown);
    return reason.constructor.name;
  });
}

test("an item waits while the database is unavailable", async () => {
  const settled = await Promise.all(
    outages.map((failure) => settle(createFailingLane(failure, 2 * timeoutMs).submit("item"))),
  );
  assert.deepEqual(
    settled,
    outages.map(() => "sent item"),
  );
});

test("an item does not wait for a database that is slow, locked or full", async () => {
  const settled = await Promise.all(
    otherFailures.map((failure) => settle(createFailingLane(failure, 60_000).submit("item"))),
  );
  assert.deepEqual(settled, ["OutcomeUnknown", "NeverSent", "NeverSent", "OutcomeUnknown"]);
});

test("a wait ends at its limit, or earlier if the caller has less time", async () => {
  const lane = createFailingLane(connectionRefused, 60_000, 3 * timeoutMs);
  const ended: string[] = [];
  const submit = async (item: string, ...wait: number[]): Promise<void> => {
    ended.push(`${item}: ${await settle(lane.submit(item, ...wait))}`);
  };
  const patient = submit("patient");
  const hurried = submit("hurried", 0);
  // Not in the first batch.
  await new Promise(setImmediate);
  await Promise.all([patient, hurried, submit("later", 0)]);
  assert.deepEqual(ended.slice(0, 2).toSorted(), ["hurried: OutcomeUnknown", "later: NeverSent"]);
  assert.equal(ended[2], "patient: OutcomeUnknown");
});

test("an item that queued up during the outage is sent after it", async () => {
  let isAvailable = false;
  let failures = 0;
  const lane = createLane<string, string>({
    timeoutMs,
    outageTimeoutMs: 60_000,
    ownerOf: (item) => item,
    async send(items) {
      if (isAvailable) return items.map((item) => `sent ${item}`);
      failures += 1;
      throw connectionRefused;
    },
  });
  const first = lane.submit("first");
  await until("the first attempt has failed", () => failures > 0);
  const second = lane.submit("second");
  await until("there were further attempts", () => failures > 2);
  isAvailable = true;
  assert.deepEqual(await Promise.all([first, second]), ["sent first", "sent second"]);
});
