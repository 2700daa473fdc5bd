import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { digestKey, keyPattern, mintKey, readKeyMode, startOfKey } from "./key-format.ts";
import { findKeys } from "./leaked-keys.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

test("a key is its mode, 30 random characters of base62 and a checksum of six", () => {
  for (const mode of ["live", "test", "mgmt"] as const) {
    const key = mintKey(mode);
    assert.match(key, new RegExp(`^pb_${mode}_[0-9A-Za-z]{36}$`));
    assert.equal(key.length, 44);
    assert.equal(readKeyMode(key), mode);
  }
});

test("no two keys are alike, and each character is as likely as any other", () => {
  const keys = Array.from({ length: 2_000 }, () => mintKey("live"));
  assert.equal(new Set(keys).size, keys.length);
  const counts = new Map<string, number>();
  for (const key of keys)
    for (const character of key.slice(8, 38)) counts.set(character, (counts.get(character) ?? 0) + 1);
  assert.equal(counts.size, alphabet.length);
  // 968 of each are expected; eight standard deviations to either side.
  for (const [character, count] of counts) assert.ok(Math.abs(count - 60_000 / 62) < 8 * 31, `${character}: ${count}`);
});

test("the checksum catches every typo of one character", () => {
  const key = mintKey("live");
  for (let place = 0; place < key.length; place += 1) {
    for (const character of `${alphabet}_- é`) {
      const typo = key.slice(0, place) + character + key.slice(place + 1);
      if (typo !== key) assert.equal(readKeyMode(typo), undefined, typo);
    }
  }
});

test("the checksum catches every transposition, missing and doubled character", () => {
  for (let round = 0; round < 50; round += 1) {
    const key = mintKey("live");
    for (let place = 0; place < key.length; place += 1) {
      const [here = "", next = ""] = key.slice(place, place + 2);
      const swapped = key.slice(0, place) + next + here + key.slice(place + 2);
      for (const typo of [
        swapped,
        key.slice(0, place) + key.slice(place + 1),
        key.slice(0, place) + here + key.slice(place),
      ]) {
        if (typo !== key) assert.equal(readKeyMode(typo), undefined, typo);
      }
    }
  }
});

test("a key of one mode cannot be passed off as another's", () => {
  for (const mode of ["test", "mgmt"]) assert.equal(readKeyMode(mintKey("live").replace("live", mode)), undefined);
});

test("what only looks like a key is none", () => {
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

test("the digest of a key differs per pepper, and is stable for one", () => {
  const key = mintKey("live");
  const [first, second] = [randomBytes(32), randomBytes(32)].map((bytes, index) => ({ version: index + 1, bytes }));
  assert.ok(first && second);
  const renumbered = { ...first, version: 9 };
  assert.deepEqual(digestKey(key, first), digestKey(key, renumbered));
  assert.notDeepEqual(digestKey(key, first), digestKey(key, second));
  assert.equal(digestKey(key, first).length, 32);
});

test("SECURITY.md tells secret scanners the pattern and the checksum as they are", () => {
  const page = readFileSync(new URL("../../../SECURITY.md", import.meta.url), "utf8");
  assert.ok(page.includes(`\n\`\`\`\n${keyPattern.source}\n\`\`\`\n`));
  const [example = ""] = page.match(new RegExp(keyPattern, "g")) ?? [];
  assert.equal(readKeyMode(example), "live");
  for (const mode of ["live", "test", "mgmt"] as const) {
    const key = mintKey(mode);
    assert.deepEqual(findKeys(`token=${key}&x=1 KEY_${key}_ "${key}" ${key.slice(0, -1)}!`), [key]);
  }
});

test("what is shown of a key in a list leaves the rest of it unguessable", () => {
  const key = mintKey("test");
  assert.equal(startOfKey(key), key.slice(0, 12));
});
