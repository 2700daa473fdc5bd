import assert from "node:assert/strict";
import { test } from "node:test";
import type { Principal } from "../keys/keys.ts";
import type { AcquireSlot } from "../limits/request-limits.ts";
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
    return { remaining, rateLimitPolicy: keyId, rateLimit: keyId, release: occupy(keyId) };
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
  assert.equal(slot.rateLimitPolicy, "key", "the limit that is closest");
  log.length = 0;
  slot.release();
  assert.deepEqual(log, ["-callers wallet", "-key", "-wallet wallet", "-metric"]);
});

test("a test search counts against the slots and the limits of test searches", async () => {
  const { log, limit } = setUp();
  const slot = await limit({ ...caller, mode: "test" });
  assert.deepEqual(log, ["tests wallet", "key", "test wallet", "metric"]);
  assert.equal(slot.rateLimitPolicy, "test wallet");
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
