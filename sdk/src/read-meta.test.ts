import assert from "node:assert/strict";
import { test } from "node:test";
import { readMeta } from "./read-meta.ts";

const budgetsOf = (headers: Record<string, string>) => {
  const { run, keyBudgets } = readMeta(new Headers(headers), "a key");
  return { run, keyBudgets };
};

test("the run and every limit of the key are parsed", () => {
  const headers = {
    "search-run": "team/nightly@7:a; spent=0.02; left=0.485",
    "key-budget": "total; spent=0.02; left=4.98, day; spent=0.02; left=0.98; resets=41213",
  };
  assert.deepEqual(budgetsOf(headers), {
    run: { id: "team/nightly@7:a", spent: "0.02", left: "0.485" },
    keyBudgets: [
      { period: "total", spent: "0.02", left: "4.98", resetSeconds: undefined },
      { period: "day", spent: "0.02", left: "0.98", resetSeconds: 41_213 },
    ],
  });
});

test("parameters of later releases are ignored, and so are missing or malformed headers", () => {
  const next = { "search-run": "r1; spent=0.02; left=0.48; ttl=60", "key-budget": "day; spent=1.00; left=0.00; x=1" };
  assert.deepEqual(budgetsOf(next), {
    run: { id: "r1", spent: "0.02", left: "0.48" },
    keyBudgets: [{ period: "day", spent: "1.00", left: "0.00", resetSeconds: undefined }],
  });
  const none = { run: undefined, keyBudgets: [] };
  assert.deepEqual(budgetsOf({}), none);
  assert.deepEqual(budgetsOf({ "search-run": "r1", "key-budget": "year; spent=1; left=2, day" }), none);
});
