import assert from "node:assert/strict";
import { test } from "node:test";
import { createBoundedCache } from "./bounded-cache.ts";

test("the cache never holds more bytes than its limit, regardless of the size of its entries", () => {
  const cache = createBoundedCache<number>({ maxBytes: 10_000, bytesOf: (key) => key.length });
  for (let index = 0; index < 1_000; index += 1) {
    const key = `${index}`.padEnd(1 + ((index * 37) % 2_000), "x");
    cache.set(key, index);
    assert.ok(cache.bytes() <= 10_000);
    assert.equal(cache.get(key), index);
  }
});

test("an entry larger than the limit is not cached, and a replaced one is counted once", () => {
  const cache = createBoundedCache<number>({ maxBytes: 100, bytesOf: (key) => key.length });
  cache.set("a".repeat(101), 1);
  assert.deepEqual([cache.get("a".repeat(101)), cache.bytes()], [undefined, 0]);
  cache.set("b".repeat(60), 1);
  cache.set("b".repeat(60), 2);
  assert.deepEqual([cache.get("b".repeat(60)), cache.bytes()], [2, 60]);
});
