import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../support/assertions/until.ts";
import { createRandom } from "../random.ts";
import type { Answered, Outcome } from "../send-search.ts";
import { classifyErrors } from "./classify-errors.ts";
import { type Books, compareBooks } from "./compare-books.ts";
import { faultKinds, moveSteps, planFaults } from "./faults.ts";
import type { FleetAccount } from "./fleet.ts";
import type { LoadEntry } from "./fleet-load.ts";
import type { Move } from "./move-account.ts";
import { watchOwners } from "./watch-owners.ts";

// The auditors of `npm run chaos:cells` must find every kind of violation: each is planted here.

const wallet = "wallet-1";
const expected = () => ({ credited: 50_000n, debited: 0n });

/** An account that was charged in eu1, moved, and was charged in us2. */
function books(): [Books, Books] {
  return [
    {
      cell: "eu1",
      wallets: [{ id: wallet, balance: 0n, held: 0n }],
      searches: [{ id: "s1", walletId: wallet, state: "captured", keyHmac: "aa" }],
      captures: [{ id: "s1", walletId: wallet, amount: 10_000n }],
    },
    {
      cell: "us2",
      wallets: [{ id: wallet, balance: 30_000n, held: 0n }],
      searches: [{ id: "s2", walletId: wallet, state: "captured", keyHmac: null }],
      captures: [{ id: "s2", walletId: wallet, amount: 10_000n }],
    },
  ];
}

function answer(requestId: string, more: Partial<Answered> = {}): Answered {
  const charge = "0.01;currency=usd";
  return { kind: "answered", status: 200, requestId, charge, isReplayed: false, text: "{}", ...more };
}

const replay = answer("s3", { isReplayed: true, charge: "0.00;currency=usd" });
const entry = (outcome: Outcome, idempotencyKey?: string): Omit<LoadEntry, "account"> => ({
  walletId: wallet,
  idempotencyKey,
  outcome,
  sentAt: 0,
  endedAt: 1,
});
const journal = () => [entry(answer("s1"), "k1"), entry(answer("s2")), entry(replay, "k1"), entry({ kind: "refused" })];

test("a search that is charged once in any cell is not a violation", () => {
  assert.deepEqual(compareBooks(books(), journal(), expected), []);
  const [, ...rest] = journal();
  assert.deepEqual(compareBooks(books(), [entry({ kind: "closed" }, "k1"), ...rest], expected), []);
});

const faults: [string, (all: [Books, Books], entries: Omit<LoadEntry, "account">[]) => void, RegExp][] = [
  [
    "a search charged in two cells",
    ([eu1, us2]) => us2.captures.push(...eu1.captures),
    /s1 was charged 2 times: eu1, us2/,
  ],
  ["a search charged in no cell", ([eu1]) => eu1.captures.pop(), /s1 was charged 0 times/],
  [
    "an error that was charged",
    (_, list) => list.splice(1, 1, entry(answer("s2", { status: 503 }))),
    /503 .*was charged 1/,
  ],
  ["a charge without an answer", (_, list) => list.splice(1, 1), /1 charges without an answer/],
  [
    "a charge of another wallet",
    ([eu1]) => eu1.captures.splice(0, 1, { id: "s1", walletId: "other", amount: 10_000n }),
    /another wallet/,
  ],
  ["a wrong Wallet-Charge", (_, list) => list.splice(1, 1, entry(answer("s2", { charge: "" }))), /has Wallet-Charge/],
  ["an answer that appears twice", (_, list) => list.push(entry(answer("s2"))), /s2 was answered twice/],
  [
    "a key charged in two cells",
    ([, us2]) => us2.searches.splice(0, 1, { id: "s2", walletId: wallet, state: "captured", keyHmac: "aa" }),
    /charged 2 times/,
  ],
  ["a key that paid twice", (_, list) => list.splice(1, 1, entry(answer("s2"), "k1")), /2 times as paid/],
  [
    "a key with different answers",
    (_, list) => list.splice(2, 1, entry({ ...replay, text: "[]" }, "k1")),
    /different answers/,
  ],
  ["a replay without a charge", (_, list) => list.splice(2, 1, entry(replay, "k2")), /never paid/],
  [
    "a balance in both cells",
    ([eu1]) => eu1.wallets.splice(0, 1, { id: wallet, balance: 30_000n, held: 0n }),
    /sum to 60000, not 30000/,
  ],
  [
    "a lost balance",
    ([, us2]) => us2.wallets.splice(0, 1, { id: wallet, balance: 0n, held: 0n }),
    /sum to 0, not 30000/,
  ],
  [
    "a hold that was left",
    ([eu1]) => eu1.wallets.splice(0, 1, { id: wallet, balance: 0n, held: 10_000n }),
    /still holds/,
  ],
];

for (const [name, plant, message] of faults)
  test(`${name} is found`, () => {
    const [all, entries] = [books(), journal()];
    plant(all, entries);
    assert.match(compareBooks(all, entries, expected).join("\n"), message);
  });

test("an account that is active in two cells is found, one that moves between two reads is not", async () => {
  const places = { first: ["a", "b"], second: ["a"] };
  // The account b leaves the first cell after it was read there.
  const watch = watchOwners(
    new Map([
      ["eu1", async (ids: readonly string[]) => places.first.filter((id) => ids.includes(id))],
      ["us2", async () => [...places.second, ...(places.first = ["a"]).slice(1), "b"]],
    ]),
    ["a", "b"],
  );
  await until("the cells were compared", () => watch.snapshots() > 1);
  await watch.stop();
  assert.deepEqual(new Set(watch.violations), new Set(["account a was active in eu1 and us2"]));
});

test("an error is attributed to the move, to a kill, or to nothing", () => {
  const account = { walletId: wallet, home: "eu1" } as FleetAccount;
  const failed = { ...entry(answer("s1", { status: 503 })), account, sentAt: 10, endedAt: 20 };
  const move = { account, from: "eu1", to: "us2", startedAt: 15, endedAt: 30, fault: undefined } as Move;
  const outage = (cell: string) => ({ overlaps: (cells: readonly string[]) => cells.includes(cell) });
  const causeOf = (moves: Move[], cell = "none"): string | undefined =>
    Object.entries(classifyErrors([failed], moves, outage(cell))).find(([, found]) => found.length > 0)?.[0];
  assert.equal(causeOf([move]), "move");
  assert.equal(causeOf([{ ...move, fault: "mover" }]), "moverKilled");
  assert.equal(causeOf([move], "us2"), "outage");
  assert.equal(causeOf([{ ...move, endedAt: 9 }]), "unexplained");
  assert.equal(causeOf([{ ...move, startedAt: 0, endedAt: 9 }], "us2"), "outage");
});

test("forty faults contain every kind at every step, the first eight every step", () => {
  const planned = planFaults(40, createRandom(1, "test"));
  assert.equal(new Set(planned.map(({ kind, step }) => `${kind} ${step}`)).size, faultKinds.length * moveSteps.length);
  assert.deepEqual(
    planned.slice(0, 8).map(({ step }) => step),
    [...moveSteps],
  );
  assert.equal(new Set(planned.slice(0, 8).map(({ kind }) => kind)).size, faultKinds.length);
});
