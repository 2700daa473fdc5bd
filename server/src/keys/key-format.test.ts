import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { describeInvalidKey } from "./describe-invalid-key.ts";
import { digestKey, keyPattern, mintKey, readKeyMode, startOfKey } from "./key-format.ts";
import { findKeys } from "./leaked-keys.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

test("a key consists of its mode, 30 random base62 characters and a checksum of six", () => {
  for (const mode of ["live", "test", "mgmt"] as const) {
    const key = mintKey(mode);
    assert.match(key, new RegExp(`^pb_${mode}_[0-9A-Za-z]{36}$`));
    assert.equal(key.length, 44);
    assert.equal(readKeyMode(key), mode);
  }
});

test("the label of an account is part of its keys and of their checksum", () => {
  const key = mintKey("live", "eu1k3v9x2a");
  assert.match(key, /^pb_live_eu1k3v9x2a_[0-9A-Za-z]{36}$/);
  assert.deepEqual([readKeyMode(key), startOfKey(key)], ["live", key.slice(0, 23)]);
  for (const other of ["us1k3v9x2a_", "eu1k3v9x2_", "EU1k3v9x2a_", "_", ""])
    assert.equal(readKeyMode(key.replace("eu1k3v9x2a_", other)), undefined, other);
  assert.match(describeInvalidKey(key.slice(0, -1)), /has 54 characters instead of 55/);
});

test("keys are unique, and their characters uniformly distributed", () => {
  const keys = Array.from({ length: 2_000 }, () => mintKey("live"));
  assert.equal(new Set(keys).size, keys.length);
  const counts = new Map<string, number>();
  for (const key of keys)
    for (const character of key.slice(8, 38)) counts.set(character, (counts.get(character) ?? 0) + 1);
  assert.equal(counts.size, alphabet.length);
  // 968 of each are expected, within eight standard deviations.
  for (const [character, count] of counts) assert.ok(Math.abs(count - 60_000 / 62) < 8 * 31, `${character}: ${count}`);
});

test("the checksum catches every typo of one character", () => {
  const key = mintKey("live");
  for (let index = 0; index < key.length; index += 1) {
    for (const character of `${alphabet}_- é`) {
      const typo = key.slice(0, index) + character + key.slice(index + 1);
      if (typo !== key) assert.equal(readKeyMode(typo), undefined, typo);
    }
  }
});

test("the checksum catches every transposed, missing and doubled character", () => {
  for (let round = 0; round < 50; round += 1) {
    const key = mintKey("live");
    for (let index = 0; index < key.length; index += 1) {
      const [here = "", next = ""] = key.slice(index, index + 2);
      const swapped = key.slice(0, index) + next + here + key.slice(index + 2);
      for (const typo of [
        swapped,
        key.slice(0, index) + key.slice(index + 1),
        key.slice(0, index) + here + key.slice(index),
      ]) {
        if (typo !== key) assert.equal(readKeyMode(typo), undefined, typo);
      }
    }
  }
});

test("changing the mode of a key invalidates it", () => {
  for (const mode of ["test", "mgmt"]) assert.equal(readKeyMode(mintKey("live").replace("live", mode)), undefined);
});

test("rejects text that is not exactly a key", () => {
  const key = mintKey("live");
  for (const text of [
    "",
    "pb_live_",
    key.toLowerCase(),
    ` ${key}`,
    `${key}\n`,
    `${key}0`,
    key.slice(3),
    "x".repeat(1_000_000),
  ]) {
    assert.equal(readKeyMode(text), undefined);
  }
});

test("the digest of a key depends on the pepper but not on its version", () => {
  const key = mintKey("live");
  const [first, second] = [randomBytes(32), randomBytes(32)].map((bytes, index) => ({ version: index + 1, bytes }));
  assert.ok(first && second);
  const renumbered = { ...first, version: 9 };
  assert.deepEqual(digestKey(key, first), digestKey(key, renumbered));
  assert.notDeepEqual(digestKey(key, first), digestKey(key, second));
  assert.equal(digestKey(key, first).length, 32);
});

test("SECURITY.md documents the pattern and an example with a valid checksum", () => {
  const page = readFileSync(new URL("../../../SECURITY.md", import.meta.url), "utf8");
  assert.ok(page.includes(`\n\`\`\`\n${keyPattern.source}\n\`\`\`\n`));
  const [example = ""] = page.match(new RegExp(keyPattern, "g")) ?? [];
  assert.equal(readKeyMode(example), "live");
  for (const mode of ["live", "test", "mgmt"] as const) {
    const key = mintKey(mode, mode === "test" ? "eu1k3v9x2a" : undefined);
    assert.deepEqual(findKeys(`token=${key}&x=1 KEY_${key}_ "${key}" ${key.slice(0, -1)}!`), [key]);
  }
});

test("the visible start of a key has twelve characters", () => {
  const key = mintKey("test");
  assert.equal(startOfKey(key), key.slice(0, 12));
});
