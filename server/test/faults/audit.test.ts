import assert from "node:assert/strict";
import { randomUUID, randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { withoutTriggers } from "../support/data/without-triggers.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer, type TestServer, type TestWallet } from "../support/services/server.ts";
import { audit } from "./audit.ts";
import type { SearchRecord } from "./journal.ts";
import { type Answered, type Outcome, sendSearch } from "./send-search.ts";

// The audit must find every kind of violation: each is planted in the journal or in the ledger.

let db: TestDatabase;
let server: TestServer;
let wallet: TestWallet;
const journal: SearchRecord[] = [];

before(async () => {
  db = await createTestDatabase();
  server = await startTestServer(db);
  wallet = await createTestWallet(db, "1.00");
  // The server has no upstream, so its searches fail. Charged searches are written to the database directly.
  for (const idempotencyKey of [undefined, randomUUID()]) await charge(idempotencyKey);
  const outcome = await sendSearch(server.url, { wallet, query: "cats" });
  assert.equal(outcome.kind, "answered");
  journal.push({ walletId: wallet.walletId, outcome });
});

after(async () => {
  await server.close();
  await db.drop();
});

async function charge(idempotencyKey: string | undefined): Promise<void> {
  const searchId = randomUUIDv7();
  const hmac = idempotencyKey === undefined ? null : Buffer.alloc(32, idempotencyKey);
  await db.ledger.query("select pb.hold($1, $2, $3, $4, $4, '{null}', '{null}', '{null}')", [
    [searchId],
    [wallet.walletId],
    [wallet.liveKeyId],
    [hmac],
  ]);
  await db.ledger.query("select pb.capture($1, $2, $3, $4)", [[searchId], [wallet.walletId], hmac, [32]]);
  journal.push({ walletId: wallet.walletId, idempotencyKey, outcome: paidAnswer(searchId) });
}

function paidAnswer(requestId: string): Answered {
  const charge = "0.01;currency=usd";
  return { kind: "answered", status: 200, code: undefined, requestId, charge, isReplayed: false, text: "{}" };
}

/** The violations found when one entry is replaced. */
async function violationsWith(index: number, outcome: Outcome, idempotencyKey?: string): Promise<string> {
  const changed = journal.map((entry, at) =>
    at === index ? { ...entry, outcome, idempotencyKey: idempotencyKey ?? entry.idempotencyKey } : entry,
  );
  return (await audit(db.ownerUrl, changed)).violations.join("\n");
}

function answerOf(index: number): Answered {
  const outcome = journal[index]?.outcome;
  assert.ok(outcome?.kind === "answered");
  return outcome;
}

test("a correct journal has no violations, and a closed connection may have been charged", async () => {
  const { violations, counts } = await audit(db.ownerUrl, journal);
  assert.deepEqual(violations, []);
  assert.deepEqual(counts, { charged: 2, lost: 0, replayed: 0, errors: 1, closedCharged: 0, closedFree: 0 });
  for (const index of [0, 1, 2]) assert.equal(await violationsWith(index, { kind: "closed" }), "");
});

test("a 200 without a charge, an error with one, and a charge without a caller are found", async () => {
  assert.match(await violationsWith(2, paidAnswer(answerOf(2).requestId)), /was charged 0 times/);
  const error = { ...answerOf(0), status: 503, charge: "0.00;currency=usd" };
  assert.match(await violationsWith(0, error), /503 .* was charged/);
  assert.match(await violationsWith(0, { ...answerOf(0), charge: "0.00;currency=usd" }), /has Wallet-Charge 0.00/);
  assert.match(await violationsWith(0, { kind: "refused" }), /1 charges for 0 closed connections/);
});

test("a 402 for a wallet that has the money is found", async () => {
  for (const code of ["insufficient_balance", "balance_reserved"])
    assert.match(
      await violationsWith(2, { ...answerOf(2), status: 402, code }),
      new RegExp(`402 ${code} .* was rejected, and wallet .* has 980000 micro-USD left`),
    );
});

test("an Idempotency-Key that paid twice, got different answers, or got an answer without a charge is found", async () => {
  const key = journal[1]?.idempotencyKey ?? "";
  assert.match(
    await violationsWith(0, { ...answerOf(0), text: "other" }, key),
    /2 times as paid\n.*got different answers/,
  );
  const replay = { ...answerOf(2), status: 200, isReplayed: true };
  assert.match(await violationsWith(2, replay, randomUUID()), /2 keys answered, 1 charged/);
});

const damages: [string, RegExp][] = [
  // Found only by reconciliation.
  ["update pb.usage_watermark set counted_before = now() + interval '1 hour' where $1::uuid is not null", /✗ usage/],
  ["update pb.wallets set held_micros = 10000 where id = $1", /still holds 10000/],
  ["update pb.wallets set debited_micros = 30000 where id = $1", /debits 30000, its transfers 20000/],
  [
    "update pb.wallets set credited_micros = credited_micros + 1 where id = $1",
    /credits 1000001, its transfers 1000000/,
  ],
  ["delete from pb.transfers where kind = 'capture' and wallet_id = $1", /does not have exactly one charge/],
  [
    "update pb.searches set state = 'pending', settled_at = null where state = 'captured' and wallet_id = $1",
    /search \S+ is still pending/,
  ],
];

// Last, because the damage is not repaired.
test("searches missing in usage, a leaked hold, a wrong sum, a missing charge and a pending search are found", async () => {
  const findViolations = async (): Promise<string> => (await audit(db.ownerUrl, journal)).violations.join("\n");
  for (const [statement, words] of damages) {
    assert.doesNotMatch(await findViolations(), words);
    await db.owner.query(withoutTriggers(statement.replaceAll("$1", `'${wallet.walletId}'`)));
    assert.match(await findViolations(), words);
  }
});
