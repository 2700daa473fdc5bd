import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/services/database.ts";
import { type Micros, priceMicros } from "../lib/money.ts";
import { readWallet } from "./reads/read-wallet.ts";
import { reversePayment } from "./reversals.ts";
import { captureBatch, expireHolds, holdBatch, refundBatch, releaseBatch, topUpBatch } from "./statements.ts";
import { formatReport, reconcile } from "./upkeep/reconcile.ts";

// A refund at the processor while all money is on hold leaves debt. The debt must be settled whenever money becomes
// available, so that a wallet never owes and can spend.

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

interface Debtor {
  walletId: string;
  keyId: string;
  /** Pending searches, each with an Idempotency-Key. */
  holds: { searchId: string; walletId: string; keyId: string; idempotency: { keyHmac: Buffer; fingerprint: Buffer } }[];
}

/** A wallet with money for `searches` searches, all on hold, whose payment was refunded. */
async function seedDebtor(searches: number): Promise<Debtor> {
  const seed = await seedWallet(database.owner, { credit: BigInt(searches) * priceMicros });
  const holds = Array.from({ length: searches }, () => ({
    searchId: randomUUIDv7(),
    ...seed,
    idempotency: { keyHmac: randomBytes(32), fingerprint: randomBytes(32) },
  }));
  for (const { outcome } of await holdBatch(database.ledger, holds)) assert.equal(outcome, "held");
  await refundPayment(seed.walletId, BigInt(searches) * priceMicros);
  await assertState(seed, { balance: searches, held: searches, owed: searches });
  return { ...seed, holds };
}

async function refundPayment(walletId: string, amount: Micros): Promise<void> {
  const reversal = { id: `re ${walletId}`, kind: "refund", amount, state: "taken" } as const;
  assert.equal(await reversePayment(database.payments, walletId, { id: `seed ${walletId}` }, reversal), "taken");
}

/** In searches. */
async function assertState(
  { walletId }: { walletId: string },
  expected: { balance: number; held: number; owed: number },
): Promise<void> {
  const wallet = (await readWallet(database.tenant, walletId)) ?? assert.fail("no such wallet");
  const inSearches = (amount: Micros): number => Number(amount) / Number(priceMicros);
  const actual = { balance: inSearches(wallet.balance), held: inSearches(wallet.held), owed: inSearches(wallet.owed) };
  assert.deepEqual(actual, expected);
}

async function countSettlements(walletId: string): Promise<number> {
  const { rowCount } = await database.owner.query(
    "select from pb.transfers where wallet_id = $1 and kind = 'settlement'",
    [walletId],
  );
  return rowCount ?? 0;
}

test("released holds pay the debt, with one transfer per wallet and call", async () => {
  const [first, second] = [await seedDebtor(4), await seedDebtor(2)];
  const released = await releaseBatch(database.ledger, [...first.holds.slice(0, 3), ...second.holds.slice(0, 1)]);
  assert.deepEqual(
    released.map(({ balance }) => balance / priceMicros),
    [1n, 1n, 1n, 1n],
    "balances after the settlement",
  );
  await assertState(first, { balance: 1, held: 1, owed: 1 });
  await assertState(second, { balance: 1, held: 1, owed: 1 });
  assert.deepEqual([await countSettlements(first.walletId), await countSettlements(second.walletId)], [1, 1]);
  await releaseBatch(database.ledger, [...first.holds.slice(3), ...second.holds.slice(1)]);
  await assertState(first, { balance: 0, held: 0, owed: 0 });
});

test("holds that expire pay the debt", async () => {
  const debtor = await seedDebtor(3);
  await database.owner.query(
    "update pb.searches set expires_at = clock_timestamp() - interval '1 second' where wallet_id = $1",
    [debtor.walletId],
  );
  assert.equal((await expireHolds(database.owner, 100)).holds, 3);
  await assertState(debtor, { balance: 0, held: 0, owed: 0 });
});

test("a retry that takes over a stale claim does not spend the money of the expired hold", async () => {
  const debtor = await seedDebtor(2);
  await database.owner.query(
    "update pb.idempotency set claimed_at = clock_timestamp() - interval '16 seconds' where wallet_id = $1",
    [debtor.walletId],
  );
  const retry = { ...(debtor.holds[0] ?? assert.fail()), searchId: randomUUIDv7() };
  const [held] = await holdBatch(database.ledger, [retry]);
  assert.deepEqual(held && { outcome: held.outcome, owed: "owed" in held && held.owed }, {
    outcome: "insufficient_balance",
    owed: priceMicros,
  });
  await assertState(debtor, { balance: 1, held: 1, owed: 1 });
  await releaseBatch(database.ledger, debtor.holds);
});

test("a refunded search pays the debt", async () => {
  const seed = await seedWallet(database.owner, { credit: priceMicros });
  const search = { searchId: randomUUIDv7(), ...seed };
  await holdBatch(database.ledger, [search]);
  await captureBatch(database.ledger, [search]);
  await refundPayment(seed.walletId, priceMicros);
  await assertState(seed, { balance: 0, held: 0, owed: 1 });
  assert.deepEqual(await refundBatch(database.owner, [{ ...search, reason: "a test" }]), ["refunded"]);
  await assertState(seed, { balance: 0, held: 0, owed: 0 });
});

test("a promotional credit pays the debt", async () => {
  const debtor = await seedDebtor(2);
  const credit = { paymentId: randomUUIDv7(), walletId: debtor.walletId, amount: 3n * priceMicros };
  await topUpBatch(database.owner, "credit", [credit]);
  await assertState(debtor, { balance: 3, held: 2, owed: 0 });
  await releaseBatch(database.ledger, debtor.holds);
});

test("a captured search is paid while the wallet owes", async () => {
  const debtor = await seedDebtor(2);
  await captureBatch(
    database.ledger,
    debtor.holds.map((hold) => ({ ...hold, answer: Buffer.from("an answer") })),
  );
  await assertState(debtor, { balance: 0, held: 0, owed: 2 });
});

test("the amount owed is not available for a hold on any path", async () => {
  // The state that settlement prevents, so that only the condition of the hold is tested.
  const seed = await seedWallet(database.owner, { credit: 4n * priceMicros });
  await database.owner.query("update pb.wallets set owed_micros = $2 where id = $1", [seed.walletId, 3n * priceMicros]);
  const hold = async (count: number, isResend: boolean): Promise<string[]> => {
    const items = Array.from({ length: count }, () => ({ searchId: randomUUIDv7(), ...seed }));
    const outcomes = await holdBatch(database.ledger, items, isResend);
    await releaseHeld(seed.walletId);
    return outcomes.map(({ outcome }) => outcome);
  };
  // All but the first of a batch wait for money on hold that would be available after its release.
  assert.deepEqual(await hold(1, false), ["held"], "a single search");
  assert.deepEqual(await hold(2, false), ["held", "balance_reserved"], "a batch");
  assert.deepEqual(await hold(2, true), ["held", "balance_reserved"], "a batch that is sent again");
  await database.owner.query("update pb.wallets set owed_micros = $2 where id = $1", [seed.walletId, 4n * priceMicros]);
  for (const count of [1, 2])
    assert.deepEqual(new Set(await hold(count, false)), new Set(["insufficient_balance"]), `a batch of ${count}`);
  await database.owner.query("update pb.wallets set owed_micros = 0 where id = $1", [seed.walletId]);
});

/** Undoes the holds without a settlement. */
async function releaseHeld(walletId: string): Promise<void> {
  await database.owner.query(
    "update pb.searches set state = 'released', settled_at = clock_timestamp() where wallet_id = $1 and state = 'pending'",
    [walletId],
  );
  await database.owner.query("update pb.wallets set held_micros = 0 where id = $1", [walletId]);
}

test("the books balance after all of it", async () => {
  const report = await reconcile(database.owner);
  assert.ok(report.isClean, formatReport(report));
});
