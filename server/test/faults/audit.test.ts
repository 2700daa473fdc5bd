import assert from "node:assert/strict";
import { randomUUID, randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer, type TestServer, type TestWallet } from "../support/services/server.ts";
import { audit } from "./audit.ts";
import { type Answered, Journal, type JournalEntry } from "./journal.ts";

// Who watches the watchman: each lie of a server, told by the journal, is found.

let db: TestDatabase;
let server: TestServer;
let wallet: TestWallet;
const journal = new Journal();

before(async () => {
  db = await createTestDatabase();
  server = await startTestServer(db);
  wallet = await createTestWallet(db, "1.00");
  // Without an upstream a live search fails; the database itself takes the place of a server that charges.
  for (const idempotencyKey of [undefined, randomUUID()]) await charge(idempotencyKey);
  assert.equal((await journal.search(server.url, { wallet, query: "cats" })).kind, "answered");
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
  await db.ledger.query("select pb.capture($1, $2, $3)", [[searchId], [wallet.walletId], [hmac]]);
  journal.entries.push({ walletId: wallet.walletId, idempotencyKey, seen: paidAnswer(searchId) });
}

function paidAnswer(requestId: string): Answered {
  const charge = "0.01;currency=usd";
  return { kind: "answered", status: 200, code: undefined, requestId, charge, isReplayed: false, text: "{}" };
}

/** The faults that are found when one entry is told differently. */
async function faultsOf(index: number, seen: JournalEntry["seen"], idempotencyKey?: string): Promise<string> {
  const entries = journal.entries.map((entry) => ({ ...entry }));
  const entry = entries[index];
  assert.ok(entry);
  entries[index] = { ...entry, seen, idempotencyKey: idempotencyKey ?? entry.idempotencyKey };
  return (await audit(db.ownerUrl, entries)).faults.join("\n");
}

function told(index: number): Answered {
  const seen = journal.entries[index]?.seen;
  assert.ok(seen?.kind === "answered");
  return seen;
}

test("what is right is found right, and a closed connection may have been charged", async () => {
  const { faults, counts } = await audit(db.ownerUrl, journal.entries);
  assert.deepEqual(faults, []);
  assert.deepEqual(counts, { charged: 2, replayed: 0, errors: 1, closedCharged: 0, closedFree: 0 });
  for (const index of [0, 1, 2]) assert.equal(await faultsOf(index, { kind: "closed" }), "");
});

test("a 200 that nobody paid, an error that somebody did, and a charge without a caller are found", async () => {
  assert.match(await faultsOf(2, paidAnswer(told(2).requestId)), /was charged 0 times/);
  const error = { ...told(0), status: 503, charge: "0.00;currency=usd" };
  assert.match(await faultsOf(0, error), /503 .* was charged/);
  assert.match(await faultsOf(0, { ...told(0), charge: "0.00;currency=usd" }), /says Wallet-Charge 0.00/);
  assert.match(await faultsOf(0, { kind: "refused" }), /1 charges for 0 closed connections/);
});

test("an Idempotency-Key that paid twice, or got two answers, or an answer for nothing, is found", async () => {
  const key = journal.entries[1]?.idempotencyKey ?? "";
  assert.match(await faultsOf(0, { ...told(0), text: "other" }, key), /paid\n.*got two answers/);
  const replay = { ...told(2), status: 200, isReplayed: true };
  assert.match(await faultsOf(2, replay, randomUUID()), /2 keys answered, 1 charged/);
});

const damages: [string, RegExp][] = [
  ["update pb.wallets set held_micros = 10000 where id = $1", /still holds 10000/],
  ["update pb.wallets set debited_micros = 30000 where id = $1", /debits 30000, its transfers 20000/],
  [
    "update pb.wallets set credited_micros = credited_micros + 1 where id = $1",
    /credits 1000001, its transfers 1000000/,
  ],
  ["delete from pb.transfers where kind = 'capture' and wallet_id = $1", /has not one charge/],
  [
    "update pb.searches set state = 'pending', settled_at = null where state = 'captured' and wallet_id = $1",
    /is still pending/,
  ],
];

// Last, since the damage is done for good.
test("a leaked hold, a wrong sum, a charge that is gone and a pending search are found", async () => {
  for (const [statement, words] of damages) {
    assert.doesNotMatch((await audit(db.ownerUrl, journal.entries)).faults.join("\n"), words);
    await db.owner.query(statement, [wallet.walletId]);
    assert.match((await audit(db.ownerUrl, journal.entries)).faults.join("\n"), words);
  }
});
