import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { type CachedKey, createKeyCache } from "./key-cache.ts";

const good = { keyId: "a", hasExpiry: false };
let changed: string[] = [];
let isDown = false;
let lookUps = 0;
let cache: ReturnType<typeof createKeyCache<CachedKey>>;
let now = 0;

beforeEach(() => {
  [changed, isDown, lookUps, now] = [[], false, 0, 0];
  mock.timers.enable({ apis: ["setTimeout"] });
  mock.method(performance, "now", () => now);
  cache = createKeyCache(async () => {
    if (isDown) throw new Error("the database is down");
    return changed;
  });
});

afterEach(() => {
  cache.close();
  mock.reset();
});

test("looks up an unchanged key once", async () => {
  await find(good);
  await pass(30_000);
  await find(good);
  assert.equal(lookUps, 1);
});

test("looks up a key again after a change, even if the change happened during the look-up", async () => {
  const late = Promise.withResolvers<CachedKey>();
  const first = cache.find("name", () => late.promise);
  changed = ["a"];
  await pass(500);
  late.resolve(good);
  await first;
  await pass(500);
  await find(good);
  assert.equal(lookUps, 1, "the result from before the change was discarded");
});

test("caches a key for one second while polls fail", async () => {
  await pass(500);
  await find(good);
  isDown = true;
  await pass(900);
  await find(good);
  assert.equal(lookUps, 1);
  await pass(600);
  await find(good);
  assert.equal(lookUps, 2);
});

test("clears the cache if polls fail for longer than changes are retained", async () => {
  await pass(500);
  await find(good);
  isDown = true;
  await pass(12_000);
  isDown = false;
  await pass(500);
  await find(good);
  assert.equal(lookUps, 2);
});

test("looks up expiring keys, unknown keys and failed look-ups again", async () => {
  await pass(500);
  await find({ keyId: "b", hasExpiry: true }, "expiring");
  await find(undefined, "unknown");
  await pass(1_250);
  await find({ keyId: "b", hasExpiry: true }, "expiring");
  await find(undefined, "unknown");
  assert.equal(lookUps, 4);
  await assert.rejects(cache.find("broken", () => Promise.reject(new Error("down"))));
  await find(good, "broken");
  assert.equal(lookUps, 5);
});

function find(key: CachedKey | undefined, name = "name"): Promise<CachedKey | undefined> {
  return cache.find(name, async () => {
    lookUps += 1;
    return key;
  });
}

/** In steps of the poll interval; each poll finishes before the next. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 250) {
    now += Math.min(left, 250);
    mock.timers.tick(Math.min(left, 250));
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
}
