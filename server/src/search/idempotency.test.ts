import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { test } from "node:test";
import { makeClaim } from "./idempotency.ts";

const secret = createSecretKey(Buffer.alloc(32, 1));
const scope = { walletId: "wallet", mode: "live" };
const input = { query: "cats", n: 10 };
const body = Buffer.from(JSON.stringify({ query: "cats", n: 1, results: [{ title: "A cat" }] }));

test("an answer opens only with the same secret, wallet, mode and key", () => {
  const sealed = makeClaim(secret, scope, "once", input).seal(body);
  assert.deepEqual(makeClaim(secret, scope, "once", input).open(sealed), body);
  for (const claim of [
    makeClaim(createSecretKey(Buffer.alloc(32, 2)), scope, "once", input),
    makeClaim(secret, { ...scope, walletId: "other" }, "once", input),
    makeClaim(secret, { ...scope, mode: "test" }, "once", input),
    makeClaim(secret, scope, "Once", input),
  ]) {
    assert.throws(() => claim.open(sealed));
  }
});

test("an answer with any bit changed does not open", () => {
  const claim = makeClaim(secret, scope, "once", input);
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
  const prints = inputs.map((other) => makeClaim(secret, scope, "once", other).fingerprint.toString("hex"));
  assert.equal(new Set(prints).size, inputs.length);
});

test("the stored HMAC of a key depends on wallet, mode, key and secret", () => {
  const hmacs = [
    makeClaim(secret, scope, "once", input),
    makeClaim(secret, scope, "twice", input),
    makeClaim(secret, { ...scope, mode: "test" }, "once", input),
    makeClaim(secret, { ...scope, walletId: "other" }, "once", input),
    makeClaim(createSecretKey(Buffer.alloc(32, 2)), scope, "once", input),
  ].map((claim) => claim.keyHmac.toString("hex"));
  assert.equal(new Set(hmacs).size, hmacs.length);
  assert.deepEqual(makeClaim(secret, scope, "once", { query: "dogs", n: 1 }).keyHmac.toString("hex"), hmacs[0]);
});
