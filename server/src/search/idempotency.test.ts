import assert from "node:assert/strict";
import { test } from "node:test";
import { openDataKey, sealNewDataKey } from "../lib/data-key.ts";
import { createSecrets } from "../lib/secrets.ts";
import { makeClaim } from "./idempotency.ts";

const secrets = createSecrets([Buffer.alloc(32, 1)]);
const newDataKey = () => openDataKey(secrets, "wallet", sealNewDataKey(secrets, "wallet"));
const [dataKey, otherDataKey] = [newDataKey(), newDataKey()];
const input = { query: "cats", n: 10 };
const body = Buffer.from(JSON.stringify({ query: "cats", n: 1, results: [{ title: "A cat" }] }));

test("an answer opens only with the same data key, mode and Idempotency-Key", () => {
  const sealed = makeClaim(dataKey, "live", "once", input).seal(body);
  assert.deepEqual(makeClaim(dataKey, "live", "once", input).open(sealed), body);
  for (const claim of [
    makeClaim(otherDataKey, "live", "once", input),
    makeClaim(dataKey, "test", "once", input),
    makeClaim(dataKey, "live", "Once", input),
  ]) {
    assert.throws(() => claim.open(sealed));
  }
});

test("an answer with any bit changed does not open", () => {
  const claim = makeClaim(dataKey, "live", "once", input);
  const sealed = claim.seal(body);
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
    assert.throws(() => claim.open(changed), `byte ${index}`);
  }
  for (const length of [0, 5, 12, 28, sealed.length - 1]) assert.throws(() => claim.open(sealed.subarray(0, length)));
});

test("the fingerprint distinguishes similar inputs", () => {
  const inputs = [
    { query: "cats", n: 10 },
    { query: "cats", n: 1 },
    { query: "cats1", n: 0 },
    { query: 'cats",10', n: 10 },
    { query: "cats", n: 10, category: "gov" as const },
    { query: "cats,gov", n: 10 },
  ];
  const prints = inputs.map((other) => makeClaim(dataKey, "live", "once", other).fingerprint.toString("hex"));
  assert.equal(new Set(prints).size, inputs.length);
});

test("the stored HMAC of an Idempotency-Key depends on the data key, the mode and itself", () => {
  const hmacs = [
    makeClaim(dataKey, "live", "once", input),
    makeClaim(dataKey, "live", "twice", input),
    makeClaim(dataKey, "test", "once", input),
    makeClaim(otherDataKey, "live", "once", input),
  ].map((claim) => claim.keyHmac.toString("hex"));
  assert.equal(new Set(hmacs).size, hmacs.length);
  assert.deepEqual(makeClaim(dataKey, "live", "once", { query: "dogs", n: 1 }).keyHmac.toString("hex"), hmacs[0]);
});

test("the fingerprint depends on the Idempotency-Key, the data key and the mode", () => {
  const prints = [
    makeClaim(dataKey, "live", "once", input),
    makeClaim(dataKey, "live", "twice", input),
    makeClaim(dataKey, "test", "once", input),
    makeClaim(otherDataKey, "live", "once", input),
  ].map((claim) => claim.fingerprint.toString("hex"));
  assert.equal(new Set(prints).size, prints.length);
});
