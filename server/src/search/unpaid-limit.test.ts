import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "ioredis";
import { Problem } from "../problems/problems.ts";
import { createUnpaidLimit, type UnpaidLimit } from "./unpaid-limit.ts";

const unpaid = { isPaid: false, unpaidCalls: 1 };
const paid = { isPaid: true, unpaidCalls: 0 };
const failed = { isPaid: false, unpaidCalls: 0 };

function createClock({ servers = 1, callsAtOnce = 1 } = {}) {
  let nowMs = 1_900_000_000_000;
  const limit = createUnpaidLimit({ redis: undefined, servers, callsAtOnce, now: () => nowMs });
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

test("searches that call two upstreams at once reserve both calls, so that many at once stay within the limit", async () => {
  const both = { isPaid: false, unpaidCalls: 2 };
  const { limit, pass } = createClock({ callsAtOnce: 2 });
  assert.equal(await searchTimes(50, limit, both), 10);
  pass(240_000);
  await search(limit, both);
  const entered = await Promise.allSettled(Array.from({ length: 50 }, () => limit.enter("wallet")));
  const ends = entered.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  assert.equal(ends.length, 9);
  for (const end of ends) end(both);
  assert.equal(await search(limit, both), 24, "the time in which two calls become available");
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
  await search(limit, paid, "rotates the counts");
  pass(3_600_001);
  await search(limit, paid, "rotates the counts");
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

test("searches at once cannot exceed the allowance of a wallet with unpaid calls", async () => {
  const { limit } = createClock();
  await search(limit, unpaid);
  const entered = await Promise.allSettled(Array.from({ length: 100 }, () => limit.enter("wallet")));
  assert.equal(entered.filter(({ status }) => status === "fulfilled").length, 19);
});

test("searches abandoned at once count in full, and the wallet waits an hour at most", async () => {
  const { limit, pass } = createClock();
  const wave = async (size: number, wallet: string) => {
    const ends = await Promise.all(Array.from({ length: size }, () => limit.enter(wallet)));
    for (const end of ends) end(unpaid);
  };
  await wave(100, "some");
  assert.equal(await search(limit, unpaid, "some"), (100 - 19) * 12);
  await wave(1_000, "many");
  assert.equal(await search(limit, unpaid, "many"), 3_612);
  pass(3_612_000);
  assert.equal(await searchTimes(10, limit, unpaid, "many"), 1);
});

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
