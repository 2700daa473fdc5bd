import assert from "node:assert/strict";
import { test } from "node:test";
import type { WalletSummary } from "@pennyblack/sdk";
import { getWarnings } from "./get-warnings.ts";

const summary: WalletSummary = {
  mode: "live",
  currency: "usd",
  as_of: "2030-01-31T12:00:00Z",
  balance: "5.00",
  held: "0.00",
  available: "5.00",
  owed: "0.00",
  burn_per_day: "0.10",
  runway_days: 50,
  today: { searches: 0, replays: 0, refusals: 0, charged: "0.00", usual_searches_by_now: null },
  last_24h: {
    searches: 0,
    succeeded: 0,
    replays: 0,
    refusals: 0,
    at_least: false,
    success_rate: null,
    p50_ms: null,
    p95_ms: null,
  },
  hours: [],
};
const warningsOf = (change: Partial<WalletSummary>, isSuspended = false) =>
  getWarnings({ summary: { ...summary, ...change }, price: "0.01", isSuspended });
const titles = (change: Partial<WalletSummary>): string[] => warningsOf(change).map(({ title }) => title);

test("a healthy wallet has no warnings", () => {
  assert.deepEqual(titles({}), []);
  assert.deepEqual(titles({ runway_days: null }), []);
});

test("warns before the balance runs out, and separately when it is empty", () => {
  assert.deepEqual(titles({ runway_days: 2.5 }), ["Your balance is low."]);
  assert.deepEqual(titles({ available: "0.24", runway_days: null }), ["Your balance is low."]);
  assert.deepEqual(titles({ available: "0.009", runway_days: 0 }), ["Your balance is empty."]);
  const [low] = warningsOf({ available: "0.01", runway_days: 0.1 });
  assert.equal(low?.text, "$0.01 is enough for 1 search, about 2 hours at your current rate.");
});

test("a wallet that has never spent anything gets a warning, not an alarm", () => {
  assert.equal(warningsOf({ available: "0.00", runway_days: null, burn_per_day: "0.00" })[0]?.tone, "warning");
  assert.equal(warningsOf({ available: "0.00", runway_days: 0 })[0]?.tone, "danger");
});

test("a balance on hold for searches in progress is not empty", () => {
  assert.deepEqual(titles({ available: "0.00", held: "0.05" }), ["Your balance is low."]);
});

test("the most severe warning comes first, and top-up is offered only where it helps", () => {
  assert.deepEqual(
    warningsOf({ owed: "1.50", available: "0.00" }, true).map(({ title, canTopUp }) => [title, canTopUp]),
    [
      ["This account is suspended.", false],
      ["This wallet owes $1.50.", true],
      ["Your balance is empty.", true],
    ],
  );
});
