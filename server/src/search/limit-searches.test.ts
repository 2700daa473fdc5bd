import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { until } from "../../test/support/assertions/until.ts";
import type { Principal } from "../keys/keys.ts";
import { type AcquireSlot, createRequestLimits } from "../limits/request-limits.ts";
import { Problem } from "../problems/problems.ts";
import { createSearchLimits } from "./limit-searches.ts";

const caller: Principal = {
  keyId: "key",
  walletId: "wallet",
  mode: "live",
  scopes: ["search"],
  searchesPerSecond: 10,
  searchesInFlight: 10,
};

/** Logs what is occupied and freed. The limit of the given id is exceeded. */
function setUp(exceededId?: string) {
  const log: string[] = [];
  const occupy = (name: string) => {
    log.push(name);
    return () => void log.push(`-${name}`);
  };
  const acquireSlot: AcquireSlot = async ({ keyId, searchesPerSecond: remaining }) => {
    if (keyId === exceededId) throw new Problem("rate_limited");
    return { remaining, rateLimitPolicy: "", rateLimit: keyId, release: occupy(keyId) };
  };
  const limit = createSearchLimits({
    admission: { enter: (pool, owner) => occupy(`${pool} ${owner}`) },
    acquireSlot,
    limits: { walletRate: 20, walletInFlight: 20, walletTestRate: 2, walletTestInFlight: 2 },
    trackInFlight: () => occupy("metric"),
  });
  return { log, limit };
}

test("a search counts against the server's slots first, then against its key, then against its wallet", async () => {
  const { log, limit } = setUp();
  const slot = await limit(caller);
  assert.deepEqual(log, ["callers wallet", "key", "wallet wallet", "metric"]);
  assert.equal(slot.headers.ratelimit, "key", "the limit that is closest");
  log.length = 0;
  slot.release();
  assert.deepEqual(log, ["-callers wallet", "-key", "-wallet wallet", "-metric"]);
});

test("a test search counts against the slots and the limits of test searches", async () => {
  const { log, limit } = setUp();
  const slot = await limit({ ...caller, mode: "test" });
  assert.deepEqual(log, ["tests wallet", "key", "test requests wallet", "metric"]);
  assert.equal(slot.headers.ratelimit, "key");
  assert.equal((await slot.countValid?.())?.ratelimit, "test wallet", "2 of 10 and 20");
  slot.release();
  assert.equal(log.at(-1), "-test wallet");
});

test("invalid test requests have ten times the rate of test searches", async () => {
  const limit = createSearchLimits({
    admission: { enter: () => () => undefined },
    acquireSlot: createRequestLimits({ redis: undefined, servers: 1 }),
    limits: { walletRate: 20, walletInFlight: 20, walletTestRate: 2, walletTestInFlight: 100 },
    trackInFlight: () => () => undefined,
  });
  const testCaller = { ...caller, mode: "test" as const, searchesPerSecond: 100, searchesInFlight: 100 };
  const exceeded = async (count: number, request: () => Promise<unknown>) =>
    (await Promise.allSettled(Array.from({ length: count }, request))).flatMap((result) =>
      result.status === "rejected" ? [(result.reason as Problem).members["exceeded"]] : [],
    );
  const windowed = { applies_to: "wallet", window_seconds: 1, retry_after_seconds: 1 };
  await until("twenty invalid requests are accepted, and one more is not", async () => {
    const limits = await exceeded(21, () => limit(testCaller));
    return isDeepStrictEqual(limits, [{ limit: "wallet_test_requests", max: 20, ...windowed }]);
  });
  await until("two valid searches are accepted, and one more is not", async () => {
    const limits = await exceeded(3, async () => (await limit(testCaller)).countValid?.());
    return isDeepStrictEqual(limits, [{ limit: "wallet_test_rate", max: 2, ...windowed }]);
  });
});

test("a search that exceeds a limit frees everything it occupied", async () => {
  for (const [exceededId, occupied] of [
    ["key", ["callers wallet"]],
    ["wallet wallet", ["callers wallet", "key"]],
  ] as const) {
    const { log, limit } = setUp(exceededId);
    await assert.rejects(limit(caller), Problem);
    assert.deepEqual(log, [...occupied, ...occupied.map((name) => `-${name}`)]);
  }
});
