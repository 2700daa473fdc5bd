import assert from "node:assert/strict";
import { test } from "node:test";
import type { Summary } from "../../api/wallet.ts";
import { warn } from "./warn.ts";

const summary: Summary = {
  balance: "5.00",
  held: "0.00",
  available: "5.00",
  owed: "0.00",
  burn_per_day: "0.10",
  runway_days: 50,
  today: { searches: 0, charged: "0.00", usual_searches_by_now: null },
  last_24h: { searches: 0, ok: 0, success_rate: null, p50_ms: null, p95_ms: null },
  hours: [],
};
const titles = (change: Partial<Summary>, isSuspended = false): string[] =>
  warn({ summary: { ...summary, ...change }, price: "0.01", isSuspended }).map(({ title }) => title);

test("a wallet that is well is left in peace", () => {
  assert.deepEqual(titles({}), []);
  assert.deepEqual(titles({ runway_days: null }), []);
});

test("the balance is warned of while there is still time, and told apart from one that is empty", () => {
  assert.deepEqual(titles({ runway_days: 2.5 }), ["The balance is low."]);
  assert.deepEqual(titles({ available: "0.24", runway_days: null }), ["The balance is low."]);
  assert.deepEqual(titles({ available: "0.009", runway_days: 0 }), ["The balance is empty."]);
  const [low] = warn({
    summary: { ...summary, available: "0.01", runway_days: 0.1 },
    price: "0.01",
    isSuspended: false,
  });
  assert.equal(low?.text, "$0.01 is enough for 1 search, about 2 hours at your usual pace.");
});

test("a wallet that nothing was ever paid into is no emergency", () => {
  const tone = (runway: number | null): string | undefined =>
    warn({ summary: { ...summary, available: "0.00", runway_days: runway }, price: "0.01", isSuspended: false })[0]
      ?.tone;
  assert.equal(tone(null), "warning");
  assert.equal(tone(0), "danger");
});

test("what is set aside for searches in flight is not spent", () => {
  assert.deepEqual(titles({ available: "0.00", held: "0.05" }), ["The balance is low."]);
});

test("the worst is said first, and a top-up is offered only where it helps", () => {
  const all = warn({ summary: { ...summary, owed: "1.50", available: "0.00" }, price: "0.01", isSuspended: true });
  assert.deepEqual(
    all.map(({ title, mayTopUp }) => [title, mayTopUp]),
    [
      ["This account is suspended.", false],
      ["This wallet owes $1.50.", true],
      ["The balance is empty.", true],
    ],
  );
});
