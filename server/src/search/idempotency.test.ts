import assert from "node:assert/strict";
import { test } from "node:test";
import { createSecrets } from "../lib/secrets.ts";
import { makeClaim } from "./idempotency.ts";

const versions = [1, 2, 3].map((version) => ({ version, bytes: Buffer.alloc(32, version) }));
const secrets = createSecrets(versions.slice(0, 1));
const otherSecrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 2) }]);
const scope = { walletId: "wallet", mode: "live" };
const input = { query: "cats", n: 10 };
const body = Buffer.from(JSON.stringify({ query: "cats", n: 1, results: [{ title: "A cat" }] }));

test("an answer opens only with the same secret, wallet, mode and key", () => {
  const sealed = makeClaim(secrets, scope, "once", input).seal(body);
  assert.deepEqual(makeClaim(secrets, scope, "once", input).open(sealed), body);
  for (const claim of [
    makeClaim(otherSecrets, scope, "once", input),
    makeClaim(secrets, { ...scope, walletId: "other" }, "once", input),
    makeClaim(secrets, { ...scope, mode: "test" }, "once", input),
    makeClaim(secrets, scope, "Once", input),
  ]) {
    assert.throws(() => claim.open(sealed));
  }
});

test("an answer with any bit changed does not open", () => {
  const claim = makeClaim(secrets, scope, "once", input);
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
  const prints = inputs.map((other) => makeClaim(secrets, scope, "once", other).fingerprint.toString("hex"));
  assert.equal(new Set(prints).size, inputs.length);
});

test("the stored HMAC of a key depends on wallet, mode, key and secret", () => {
  const hmacs = [
    makeClaim(secrets, scope, "once", input),
    makeClaim(secrets, scope, "twice", input),
    makeClaim(secrets, { ...scope, mode: "test" }, "once", input),
    makeClaim(secrets, { ...scope, walletId: "other" }, "once", input),
    makeClaim(otherSecrets, scope, "once", input),
  ].map((claim) => claim.keyHmac.toString("hex"));
  assert.equal(new Set(hmacs).size, hmacs.length);
  assert.deepEqual(makeClaim(secrets, scope, "once", { query: "dogs", n: 1 }).keyHmac.toString("hex"), hmacs[0]);
});

test("the fingerprint depends on the Idempotency-Key, the wallet and the mode", () => {
  const prints = [
    makeClaim(secrets, scope, "once", input),
    makeClaim(secrets, scope, "twice", input),
    makeClaim(secrets, { ...scope, mode: "test" }, "once", input),
    makeClaim(secrets, { ...scope, walletId: "other" }, "once", input),
  ].map((claim) => claim.fingerprint.toString("hex"));
  assert.equal(new Set(prints).size, prints.length);
});

test("an answer opens under every listed version, and the claim of each other version is sent for look-up", () => {
  assert.equal(makeClaim(secrets, scope, "once", input).otherClaims, undefined);
  for (const writer of [1, 2, 3]) {
    const rotated = createSecrets(versions);
    assert.ok(rotated.use(writer));
    const claim = makeClaim(rotated, scope, "once", input);
    const expected = versions.flatMap(({ version, bytes }) => {
      const own = makeClaim(createSecrets([{ version, bytes }]), scope, "once", input);
      assert.deepEqual(claim.open(own.seal(body)), body);
      return version === writer ? [] : [Buffer.concat([Buffer.of(version), own.keyHmac, own.fingerprint])];
    });
    assert.deepEqual([claim.secretVersion, claim.otherClaims], [writer, Buffer.concat(expected)]);
    const own = makeClaim(createSecrets(versions.slice(writer - 1, writer)), scope, "once", input);
    assert.deepEqual([claim.keyHmac, claim.fingerprint], [own.keyHmac, own.fingerprint]);
    assert.deepEqual(own.open(claim.seal(body)), body);
  }
});
