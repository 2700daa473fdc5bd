import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "ioredis";
import { Problem } from "../problems/problems.ts";
import { createUnpaidLimit, type UnpaidLimit } from "./unpaid-limit.ts";

const unpaid = { isPaid: false, unpaidCalls: 1 };
const paid = { isPaid: true, unpaidCalls: 0 };
const failed = { isPaid: false, unpaidCalls: 0 };

function createClock({ servers = 1 } = {}) {
  let nowMs = 1_900_000_000_000;
  const limit = createUnpaidLimit({ redis: undefined, servers, now: () => nowMs });
  return { limit, pass: (ms: number) => void (nowMs += ms) };
}

/** Runs a search, and returns the seconds in Retry-After if it was rejected. */
async function search(limit: UnpaidLimit, result: typeof unpaid, wallet = "wallet"): Promise<number | undefined> {
  try {
    (await limit.enter(wallet))(result);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Problem && error.code === "unpaid_calls_limited");
    return error.retryAfterSeconds;
  }
}

async function searchTimes(times: number, limit: UnpaidLimit, result: typeof unpaid, wallet?: string) {
  let accepted = 0;
  for (let count = 0; count < times; count += 1) if ((await search(limit, result, wallet)) === undefined) accepted += 1;
  return accepted;
}

test("20 unpaid calls, then at most 5 in any minute", async () => {
  const { limit, pass } = createClock();
  assert.equal(await searchTimes(50, limit, unpaid), 20);
  const acceptedAt: number[] = [];
  for (let second = 1; second <= 600; second += 1) {
    pass(1_000);
    if (await searchTimes(3, limit, unpaid)) acceptedAt.push(second);
  }
  assert.equal(acceptedAt.length, 50);
  for (const start of acceptedAt)
    assert.ok(acceptedAt.filter((second) => second >= start && second < start + 60).length <= 5);
});

test("other wallets are not affected, and the allowance refills", async () => {
  const { limit, pass } = createClock();
  await searchTimes(50, limit, unpaid);
  assert.equal(await searchTimes(50, limit, unpaid, "another"), 20);
  pass(240_000);
  assert.equal(await searchTimes(50, limit, unpaid), 20);
});

test("Retry-After is the time until the next search is accepted", async () => {
  const { limit, pass } = createClock();
  await searchTimes(20, limit, unpaid);
  pass(3_000);
  assert.equal(await search(limit, unpaid), 9);
  pass(8_999);
  assert.equal(await search(limit, unpaid), 1);
  pass(1);
  assert.equal(await search(limit, unpaid), undefined);
  assert.equal(await search(limit, unpaid), 12);
});

test("a wallet that pays for every second search is never limited", async () => {
  const { limit } = createClock();
  for (let count = 0; count < 500; count += 1) {
    assert.equal(await search(limit, paid), undefined);
    assert.equal(await search(limit, unpaid), undefined);
  }
});

test("paid searches earn unpaid calls, at most 1,000 and for at most an hour or so", async () => {
  const { limit, pass } = createClock();
  await searchTimes(1_500, limit, paid);
  assert.equal(await searchTimes(1_100, limit, unpaid), 1_020);
  await searchTimes(100, limit, paid, "old");
  pass(3_600_001);
  assert.equal(await searchTimes(200, limit, unpaid, "old"), 20);
});

test("failures that are not the caller's doing do not count", async () => {
  const { limit } = createClock();
  await searchTimes(19, limit, unpaid);
  assert.equal(await searchTimes(100, limit, failed), 100);
  assert.equal(await searchTimes(2, limit, unpaid), 1);
});

test("a limited wallet recovers as soon as its searches succeed", async () => {
  const { limit, pass } = createClock();
  await searchTimes(20, limit, unpaid);
  pass(12_000);
  assert.equal(await searchTimes(100, limit, paid), 100);
});

test("concurrent searches cannot exceed the allowance of a wallet with unpaid calls", async () => {
  const { limit } = createClock();
  await search(limit, unpaid);
  const entered = await Promise.allSettled(Array.from({ length: 100 }, () => limit.enter("wallet")));
  assert.equal(entered.filter(({ status }) => status === "fulfilled").length, 19);
});

test("concurrent searches that are abandoned count in full, and the wallet may search every 12 seconds meanwhile", async () => {
  const { limit, pass } = createClock();
  const ends = await Promise.all(Array.from({ length: 1_000 }, () => limit.enter("wallet")));
  for (const end of ends) end(unpaid);
  assert.equal(await search(limit, unpaid), 12);
  pass(12_000);
  assert.equal(await searchTimes(10, limit, unpaid), 1);
  // The level is 1,000 again, of which 980 have to fall.
  pass(979 * 12_000);
  assert.equal(await searchTimes(10, limit, unpaid), 1);
  pass(4 * 12_000);
  assert.equal(await searchTimes(10, limit, unpaid), 2);
});

test("a wallet with many unpaid calls recovers while it pays", async () => {
  const { limit, pass } = createClock();
  const ends = await Promise.all(Array.from({ length: 1_000 }, () => limit.enter("wallet")));
  for (const end of ends) end(unpaid);
  pass(12_000);
  assert.equal(await searchTimes(1_500, limit, paid), 1_500);
  assert.equal(await searchTimes(1_500, limit, unpaid), 500 + 1 + 20);
});

test("a wallet that pays may start any number of concurrent searches, and one that is limited only one", async () => {
  const { limit, pass } = createClock();
  const start = async (size: number) => {
    const started = await Promise.allSettled(Array.from({ length: size }, () => limit.enter("wallet")));
    return started.filter((entered) => entered.status === "fulfilled").map(({ value }) => value);
  };
  const first = await start(2_000);
  assert.equal(first.length, 2_000);
  for (const end of first.slice(0, 40)) end(unpaid);
  pass(12_000);
  const [probe, ...others] = await start(100);
  assert.deepEqual([typeof probe, others.length], ["function", 0]);
  // Other searches that end do not allow another one, only the last that started.
  for (const end of first.slice(40, 50)) end(failed);
  assert.equal((await start(100)).length, 0);
  probe?.(failed);
  assert.equal((await start(100)).length, 1);
});

/** Starts as many searches as it can, abandons them, and returns their number. */
async function abandon(limit: UnpaidLimit, inFlight: number): Promise<number> {
  const ends = [];
  while (ends.length < inFlight) {
    const end = await limit.enter("wallet").catch(() => undefined);
    if (!end) break;
    ends.push(end);
  }
  for (const end of ends) end(unpaid);
  return ends.length;
}

for (const inFlight of [1, 100, 1_000, 2_000]) {
  const name = `${inFlight} in flight`;
  test(`${name}: a wallet that never pays causes at most these and 5 unpaid calls a minute`, async () => {
    const greedy = createClock();
    let calls = 0;
    for (let seconds = 0; seconds < 4 * 3_600; seconds += 12) {
      calls += await abandon(greedy.limit, inFlight);
      greedy.pass(12_000);
    }
    assert.ok(calls <= 4 * 300 + Math.max(inFlight, 20), `${calls} calls in four hours`);

    // Waits, so that it can again start as many as possible concurrently.
    const patient = createClock();
    calls = 0;
    for (let minutes = 0; minutes < 4 * 1_440; minutes += 65) {
      calls += await abandon(patient.limit, inFlight);
      patient.pass(65 * 60_000);
    }
    assert.ok(calls <= 4 * 7_200 + Math.max(inFlight, 20), `${calls} calls in four days`);
  });
}

test("a search that called two upstreams counts twice", async () => {
  const { limit } = createClock();
  assert.equal(await searchTimes(20, limit, { isPaid: false, unpaidCalls: 2 }), 10);
});

test("without Redis each server has its share of the limit", async () => {
  const closed = new Redis({ lazyConnect: true });
  closed.disconnect();
  const limit = createUnpaidLimit({ redis: closed, servers: 2, now: () => 1_900_000_000_000 });
  assert.equal(await searchTimes(40, limit, unpaid), 10);
  assert.equal(await search(limit, unpaid), 24);
});
