import assert from "node:assert/strict";
import { test } from "node:test";
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
