import assert from "node:assert/strict";
import { test } from "node:test";
import type { BudgetState } from "../wallet/wallet.ts";
import { formatBudgetHeaders } from "./budget-headers.ts";

const now = Date.parse("2026-01-31T23:59:00.500Z");
const february = new Date("2026-02-01T00:00:00Z");
const run: BudgetState = { limit: "run", max: 500_000n, spent: 10_000n, resetsAt: february };
const total: BudgetState = { limit: "total", max: 1_005_000n, spent: 0n, resetsAt: null };
const day: BudgetState = { limit: "day", max: 20_000n, spent: 10_000n, resetsAt: february };

test("a paid search is included in the amounts of its run, a failed one is not", () => {
  const name = "team/nightly@2026";
  assert.deepEqual(formatBudgetHeaders([run], { run: name, charge: 10_000n, now }), {
    "search-run": "team/nightly@2026; spent=0.02; left=0.48",
  });
  assert.deepEqual(formatBudgetHeaders([run], { run: name, charge: 0n, now }), {
    "search-run": "team/nightly@2026; spent=0.01; left=0.49",
  });
});

test("a key budget has one item per limit, and a total does not reset", () => {
  assert.deepEqual(formatBudgetHeaders([total, day, run], { run: "r1", charge: 10_000n, now }), {
    "search-run": "r1; spent=0.02; left=0.48",
    "key-budget": "total; spent=0.01; left=0.995, day; spent=0.02; left=0.00; resets=60",
  });
});

test("amounts are never negative: not below a lowered limit, nor after the time of the reset", () => {
  const lowered = { ...day, max: 5_000n };
  assert.deepEqual(formatBudgetHeaders([lowered], { run: undefined, charge: 0n, now: february.getTime() + 1 }), {
    "key-budget": "day; spent=0.01; left=0.00; resets=0",
  });
});

test("a search without a run and without a key budget has neither header", () => {
  assert.deepEqual(formatBudgetHeaders([], { run: undefined, charge: 10_000n, now }), {});
});
