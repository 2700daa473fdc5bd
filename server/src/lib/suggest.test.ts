import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import { editDistance, suggest } from "./suggest.ts";

const fields = ["query", "n", "category", "grace_seconds", "expires_at", "wallet:read", "wallet:write"];

test("suggests the field that was probably meant", () => {
  for (const [word, expected] of [
    ["qurey", "query"],
    ["Query", "query"],
    ["quer", "query"],
    ["catgory", "category"],
    ["categories", "category"],
    ["cat", "category"],
    ["graceSeconds", "grace_seconds"],
    ["expiry_at", "expires_at"],
    ["wallet_read", "wallet:read"],
    ["N", "n"],
  ] as const)
    assert.equal(suggest(word, fields), expected, word);
});

test("suggests nothing for a word that resembles none", () => {
  for (const word of ["", "_", "q", "x", "language", "safe_search", "🙂", "q".repeat(65), "category".repeat(9)])
    assert.equal(suggest(word, fields), undefined, word);
});

test("counts a swap of two letters as one edit", () => {
  assert.equal(editDistance("", ""), 0);
  assert.equal(editDistance("", "abc"), 3);
  assert.equal(editDistance("abc", ""), 3);
  assert.equal(editDistance("serach", "search"), 1);
  assert.equal(editDistance("kitten", "sitting"), 3);
});

test("a limit does not change a distance within it", () => {
  const words = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 12 });
  fc.assert(
    fc.property(words, words, fc.nat({ max: 12 }), (left, right, max) => {
      const distance = editDistance(left, right);
      assert.equal(editDistance(left, right, max), distance <= max ? distance : Infinity);
    }),
  );
});

test("a long word is compared with a hundred others in little time", () => {
  const known = Array.from({ length: 150 }, (_, index) => `include_parameter_${index}`);
  const words = Array.from({ length: 200 }, (_, index) => `${index}`.padEnd(64, "abcde"));
  const micros = Array.from({ length: 5 }, () => {
    const before = process.threadCpuUsage();
    for (const word of words) assert.equal(suggest(word, known), undefined);
    return process.threadCpuUsage(before).user;
  });
  // It takes a few milliseconds. Comparing every pair of letters takes a second.
  assert.ok(Math.min(...micros) < 200_000, `${Math.min(...micros)}`);
});
