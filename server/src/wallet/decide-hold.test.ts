import assert from "node:assert/strict";
import { test } from "node:test";
import { createDatabase } from "../../test/fixture.ts";

// The decision of one item, without tables: the order of refusals, and the values that a refusal reports.

const { owner } = await createDatabase();
const walletId = "00000000-0000-7000-8000-000000000001";
const otherWalletId = "00000000-0000-7000-8000-000000000002";
const price = 10_000;

const acceptable = { wallet_id: walletId, mode: "live", balance_micros: price, owed_micros: 0, fingerprint: "\\x01" };

interface Input {
  facts?: Record<string, unknown>;
  claimed?: Buffer;
  held?: number;
  windows?: Record<string, unknown>[];
  runMax?: number;
}

async function decide({ facts = {}, claimed, held = 0, windows = [], runMax }: Input) {
  const spending = windows.map((window) => ({ subject: "", max_micros: price, taken_micros: 0, ...window }));
  const { rows } = await owner.query(
    `select d.* from jsonb_to_record($1) as i (
       wallet_id uuid, mode pb.key_mode, is_skewed boolean, holder uuid, is_held boolean, key_fault text,
       balance_micros bigint, owed_micros bigint, fingerprint bytea, stored_answer bytea
     ), lateral pb.decide_hold(
       i, $2::bytea, $3::bigint, array(select w from jsonb_populate_recordset(null::pb.spending, $4) w),
       array(select n::integer from generate_series(1, jsonb_array_length($4)) n), $5::bigint
     ) d`,
    [{ ...acceptable, ...facts }, claimed, held, JSON.stringify(spending), runMax],
  );
  return rows[0];
}

const own = Buffer.of(1);
const full = { taken_micros: price };
const unnamed = { kind: "end_user", subject: null };
const run = { kind: "run", ...full };

/** In the order of the API contract. Each case also has the faults of all later ones. */
const order: [string | null, Input][] = [
  ["clock_skewed", { facts: { is_skewed: true } }],
  ["id_taken", { facts: { holder: otherWalletId } }],
  ["lost", { facts: { holder: walletId, is_held: false } }],
  ["held", { facts: { holder: walletId, is_held: true } }],
  ["api_key_revoked", { facts: { key_fault: "api_key_revoked" } }],
  ["idempotency_key_reused", { claimed: Buffer.of(2) }],
  ["replayed", { facts: { stored_answer: "\\xff" }, claimed: own }],
  ["idempotency_in_progress", { claimed: own }],
  ["insufficient_balance", { facts: { balance_micros: 0 } }],
  ["balance_reserved", { held: price }],
  ["key_budget_spent", { windows: [{ kind: "day", ...full }, { kind: "end_user", ...full }, run] }],
  ["end_user_required", { windows: [unnamed, run] }],
  ["end_user_budget_spent", { windows: [{ kind: "end_user", ...full }, run] }],
  ["run_budget_spent", { windows: [run] }],
  [null, {}],
];

test("an item with several faults is refused for the first one of the contract", async () => {
  for (const [index, [outcome]] of order.entries()) {
    const input = order
      .slice(index)
      .reduceRight<Input>((later, [, own]) => ({ ...later, ...own, facts: { ...later.facts, ...own.facts } }), {});
    assert.equal((await decide(input)).outcome, outcome, `${outcome} ${JSON.stringify(input)}`);
  }
});

test("test searches need no balance, and money that a wallet owes is not available", async () => {
  assert.equal((await decide({ facts: { mode: "test", balance_micros: 0 } })).outcome, null);
  const owing = await decide({ facts: { owed_micros: 1 } });
  assert.deepEqual([owing.outcome, owing.owed_micros], ["insufficient_balance", 1n]);
  assert.equal(
    (await decide({ facts: { balance_micros: 2 * price, owed_micros: 1 }, held: price })).outcome,
    "balance_reserved",
  );
});

test("a window is full when the price no longer fits, and its amounts are reported", async () => {
  const resets_at = "2026-02-01T00:00:00.000Z";
  const window = { kind: "month", max_micros: 3 * price, taken_micros: 2 * price, resets_at };
  const end = "2026-02-01T00:00:00+00:00";
  const budget = { limit: "month", budgetId: null, max: "30000", spent: "20000", resetsAt: end };
  const last = await decide({ windows: [window] });
  assert.deepEqual([last.outcome, last.limit_micros, last.budgets], [null, null, [budget]]);
  const next = await decide({ windows: [{ ...window, taken_micros: 2 * price + 1 }] });
  assert.deepEqual(
    [next.outcome, next.limit_micros, next.spent_micros, next.resets_at.toISOString()],
    ["key_budget_spent", 30_000n, 20_001n, resets_at],
  );
});

test("the first full window is the budget that refuses, and only a shared one is named", async () => {
  const budget_id = "00000000-0000-7000-8000-000000000009";
  const own = { kind: "day", period: "day", budget_id: otherWalletId };
  const shared = { kind: "week", period: "week", budget_id, name: "research" };
  const ofEndUser = { ...shared, kind: "end_user", subject: "ada", name: "chat" };
  const spent = async (...windows: Record<string, unknown>[]) => {
    const { outcome, spent_budget: budget } = await decide({ windows });
    return [outcome, budget && `${budget.id} ${budget.name} ${budget.period}`];
  };
  assert.deepEqual(await spent({ ...own, ...full }, { ...shared, ...full }), ["key_budget_spent", "null null day"]);
  assert.deepEqual(await spent(own, { ...shared, ...full }, { ...ofEndUser, ...full }), [
    "key_budget_spent",
    `${budget_id} research week`,
  ]);
  assert.deepEqual(await spent(own, shared, { ...ofEndUser, ...full }, run), [
    "end_user_budget_spent",
    `${budget_id} chat week`,
  ]);
  assert.deepEqual(await spent(own, shared, run), ["run_budget_spent", null]);
});

test("a run without a window has the maximum that the search sets", async () => {
  const unopened = { kind: "run", max_micros: null };
  assert.equal((await decide({ windows: [unopened], runMax: price })).outcome, null);
  assert.equal((await decide({ windows: [unopened], runMax: price - 1 })).outcome, "run_budget_spent");
});

test("a hold that is sent again reports its budgets without itself", async () => {
  const again = await decide({ facts: { holder: walletId, is_held: true }, windows: [{ kind: "total", ...full }] });
  assert.deepEqual(
    [again.outcome, again.budgets],
    ["held", [{ limit: "total", budgetId: null, max: "10000", spent: "0", resetsAt: null }]],
  );
});
