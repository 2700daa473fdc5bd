import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { seedOldDay } from "../../../test/support/data/seed-old-day.ts";
import { seedWallet } from "../../../test/support/data/seed-wallet.ts";
import { uuidOf } from "../../../test/support/data/uuid-of.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/support/services/database.ts";
import { type Micros, priceMicros } from "../../lib/money.ts";
import { creditManually } from "../manual-credit.ts";
import { readWallet } from "../reads/read-wallet.ts";
import { reversePayment } from "../reversals.ts";
import { captureBatch, holdBatch } from "../statements.ts";
import { beginTopUp, bookPayment } from "../top-ups.ts";
import { formatReport, reconcile } from "../upkeep/reconcile.ts";
import { saveReport } from "../upkeep/save-report.ts";
import { type AdjustmentRequest, decideAdjustment, requestAdjustment } from "./adjustments.ts";
import { closeMonth, readTrialBalance } from "./months.ts";

// Runs as the operator's role, which can call only the two functions.

let database: TestDatabase;
let old: { day: string };
before(async () => {
  database = await createTestDatabase();
  old = await seedOldDay(database.owner, 60);
});
after(() => database.drop());

const usd = 1_000_000n;

async function credit(walletId: string, amount: Micros, kind: "promotion" | "invoice" = "promotion"): Promise<string> {
  const reference = randomUUIDv7();
  const booked = { reference, walletId, kind, amount, reason: "a test", operator: "ada" };
  assert.equal((await creditManually(database.operator, booked)).outcome, "credited");
  const { rows } = await database.owner.query<{ id: string }>(
    "select transfer_id as id from pb.payments where payment_id = $1",
    [`manual:${reference}`],
  );
  return rows[0]?.id ?? assert.fail("no payment");
}

/** The outcome, and the id if there is one. */
function adjust(request: Partial<AdjustmentRequest> & Pick<AdjustmentRequest, "kind">) {
  return requestAdjustment(database.operator, {
    // A new operator each time, so that the limit counts each request alone.
    operator: `operator ${randomUUIDv7()}`,
    reason: "a test",
    reference: randomUUIDv7(),
    ...request,
  });
}

async function outcomeOf(request: Parameters<typeof adjust>[0]): Promise<string> {
  return (await adjust(request)).outcome;
}

async function assertMoney(walletId: string, expected: { balance: Micros; owed: Micros }): Promise<void> {
  const { balance, owed } = (await readWallet(database.tenant, walletId)) ?? assert.fail("no such wallet");
  assert.deepEqual({ balance, owed }, expected);
}

/** A wallet that spent its only payment, which was then refunded. */
async function seedDebtor(): Promise<string> {
  const seed = await seedWallet(database.owner, { credit: priceMicros });
  const search = { searchId: randomUUIDv7(), ...seed };
  await holdBatch(database.ledger, [search]);
  await captureBatch(database.ledger, [search]);
  const reversal = { id: `re ${seed.walletId}`, kind: "refund", amount: priceMicros, state: "taken" } as const;
  await reversePayment(database.payments, seed.walletId, { id: `seed ${seed.walletId}` }, reversal);
  return seed.walletId;
}

test("a credit is corrected once, and the rest that was spent is owed", async () => {
  for (const kind of ["promotion", "invoice"] as const) {
    const { walletId, keyId } = await seedWallet(database.owner);
    const reference = await credit(walletId, 3n * priceMicros, kind);
    const search = { searchId: randomUUIDv7(), walletId, keyId };
    await holdBatch(database.ledger, [search]);
    await captureBatch(database.ledger, [search]);
    assert.equal(await outcomeOf({ kind: "correction", reference }), "booked");
    await assertMoney(walletId, { balance: 0n, owed: priceMicros });
    assert.equal(await outcomeOf({ kind: "correction", reference }), "repeated");
    assert.equal(await outcomeOf({ kind: "correction", reference, walletId: randomUUIDv7() }), "unknown_transfer");
    await assertMoney(walletId, { balance: 0n, owed: priceMicros });
  }
});

test("concurrent requests with the same reference book once", async () => {
  const { walletId } = await seedWallet(database.owner);
  const reference = await credit(walletId, 5n * usd);
  const payout = { kind: "payout", walletId, amount: usd, reference: "wire 1" } as const;
  for (const request of [payout, { kind: "correction", reference } as const]) {
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => outcomeOf(request)));
    assert.deepEqual(outcomes.toSorted(), ["booked", ...Array.from({ length: 5 }, () => "repeated")]);
  }
  await assertMoney(walletId, { balance: 0n, owed: usd });
});

test("a payment through the processor, a search and an unknown transfer cannot be corrected", async () => {
  const seed = await seedWallet(database.owner);
  const { walletId } = seed;
  const request = { amount: usd, keyHmac: Buffer.alloc(32, 1), fingerprint: Buffer.alloc(32, 2) };
  const { id: topUpId } = await beginTopUp(database.tenant, walletId, request);
  const paymentId = `pi_${walletId}`;
  await bookPayment(database.payments, walletId, { paymentId, topUpId, amount: usd, receiptUrl: null });
  const { rows } = await database.owner.query<{ id: string }>(
    "select transfer_id as id from pb.payments where payment_id = $1",
    [paymentId],
  );
  assert.equal(await outcomeOf({ kind: "correction", reference: rows[0]?.id ?? "" }), "refund_at_processor");
  const search = { searchId: randomUUIDv7(), ...seed };
  await holdBatch(database.ledger, [search]);
  await captureBatch(database.ledger, [search]);
  assert.equal(await outcomeOf({ kind: "correction", reference: search.searchId }), "not_correctable");
  assert.equal(await outcomeOf({ kind: "correction", reference: randomUUIDv7() }), "unknown_transfer");
  await assertMoney(walletId, { balance: usd - priceMicros, owed: 0n });
});

test("a payout or breakage takes at most what is available, and its correction returns it", async () => {
  for (const kind of ["payout", "breakage"] as const) {
    const { walletId } = await seedWallet(database.owner, { credit: 2n * usd });
    assert.equal(await outcomeOf({ kind, walletId, amount: 2n * usd + 1n }), "insufficient_balance");
    const reference = randomUUIDv7();
    assert.equal(await outcomeOf({ kind, walletId, amount: 2n * usd, reference }), "booked");
    await assertMoney(walletId, { balance: 0n, owed: 0n });
    assert.equal(await outcomeOf({ kind, walletId, amount: usd, reference }), "conflicting");
    assert.equal(await outcomeOf({ kind: "correction", reference: await readTransferId(kind, reference) }), "booked");
    await assertMoney(walletId, { balance: 2n * usd, owed: 0n });
    assert.equal(await outcomeOf({ kind, walletId: randomUUIDv7(), amount: usd }), "unknown_wallet");
  }
});

test("a write-off reduces what is owed, and its correction restores it", async () => {
  const walletId = await seedDebtor();
  assert.equal(await outcomeOf({ kind: "write_off", walletId, amount: priceMicros + 1n }), "exceeds_debt");
  const reference = randomUUIDv7();
  assert.equal(await outcomeOf({ kind: "write_off", walletId, amount: priceMicros, reference }), "booked");
  await assertMoney(walletId, { balance: 0n, owed: 0n });
  const corrected = await readTransferId("write_off", reference);
  await credit(walletId, priceMicros / 2n);
  assert.equal(await outcomeOf({ kind: "correction", reference: corrected }), "booked");
  // The available money paid half of it.
  await assertMoney(walletId, { balance: 0n, owed: priceMicros / 2n });
});

test("a processor fee is booked once per payment and does not change the wallet", async () => {
  const { walletId } = await seedWallet(database.owner, { credit: usd });
  const reference = `seed ${walletId}`;
  assert.equal(await outcomeOf({ kind: "fee", amount: 59_000n, reference }), "booked");
  assert.equal(await outcomeOf({ kind: "fee", amount: 59_000n, reference }), "repeated");
  assert.equal(await outcomeOf({ kind: "fee", amount: 60_000n, reference }), "conflicting");
  assert.equal(await outcomeOf({ kind: "fee", amount: 1n, reference: "pi_unknown" }), "unknown_payment");
  await assertMoney(walletId, { balance: usd, owed: 0n });
  assert.equal(await outcomeOf({ kind: "correction", reference: await readTransferId("fee", reference) }), "booked");
});

async function readTransferId(kind: string, reference: string): Promise<string> {
  const { rows } = await database.owner.query<{ id: string }>(
    "select transfer_id as id from pb.adjustments where kind = $1 and reference = $2",
    [kind, reference],
  );
  return rows[0]?.id ?? assert.fail("no adjustment");
}

test("above the limit, money moves only after another operator has approved", async () => {
  const { walletId } = await seedWallet(database.owner, { credit: 500n * usd });
  const payout = { kind: "payout", walletId, amount: 100n * usd + 1n, operator: "ada", reference: "wire 2" } as const;
  const { outcome, id } = await adjust(payout);
  assert.equal(outcome, "requested");
  assert.equal(await outcomeOf(payout), "requested");
  await assertMoney(walletId, { balance: 500n * usd, owed: 0n });
  const decide = (operator: string, isApproved: boolean) =>
    decideAdjustment(database.operator, { operator, reason: "a test", id: id ?? "", isApproved });
  assert.equal(await decide("ada", true), "own_request");
  await assertMoney(walletId, { balance: 500n * usd, owed: 0n });
  assert.deepEqual(await Promise.all([decide("bob", true), decide("cleo", true)]).then((both) => both.toSorted()), [
    "booked",
    "repeated",
  ]);
  assert.equal(await decide("bob", false), "already_booked");
  await assertMoney(walletId, { balance: 400n * usd - 1n, owed: 0n });
  const { rows } = await database.owner.query(
    "select operator, act, outcome from pb.audit_log where wallet_id = $1 and subject = 'wire 2' order by number limit 3",
    [walletId],
  );
  assert.deepEqual(rows, [
    { operator: "ada", act: "adjustment.request", outcome: "requested" },
    { operator: "ada", act: "adjustment.request", outcome: "requested" },
    { operator: "ada", act: "adjustment.approve", outcome: "own_request" },
  ]);
});

test("the limit counts the adjustments of an operator within a day", async () => {
  const { walletId } = await seedWallet(database.owner, { credit: 500n * usd });
  const part = { kind: "payout", walletId, amount: 60n * usd, operator: "dora" } as const;
  assert.equal(await outcomeOf(part), "booked");
  const { outcome, id } = await adjust({ ...part, reference: "wire 3" });
  assert.equal(outcome, "requested");
  const rejection = { operator: "dora", reason: "a test", id: id ?? "", isApproved: false };
  assert.equal(await decideAdjustment(database.operator, rejection), "rejected");
  assert.equal(await decideAdjustment(database.operator, { ...rejection, isApproved: true }), "already_rejected");
  assert.equal(await outcomeOf({ ...part, amount: 40n * usd, reference: "wire 3" }), "booked");
  await assertMoney(walletId, { balance: 400n * usd, owed: 0n });
});

test("credits and other adjustments have one limit, and a fee is compared with it alone", async () => {
  const { walletId } = await seedWallet(database.owner, { credit: 500n * usd });
  const act = { operator: "emil", reason: "a test", walletId };
  const creditOf = async (amount: Micros, kind: "invoice" | "promotion" | "payment"): Promise<string> =>
    (await creditManually(database.operator, { ...act, kind, amount, reference: randomUUIDv7() })).outcome;
  assert.equal(await creditOf(60n * usd, "promotion"), "credited");
  for (const kind of ["invoice", "promotion", "payment"] as const)
    assert.equal(await creditOf(41n * usd, kind), "requested");
  assert.equal(await outcomeOf({ ...act, kind: "payout", amount: 41n * usd }), "requested");
  assert.equal(await outcomeOf({ ...act, kind: "payout", amount: 40n * usd }), "booked");
  const fee = { ...act, kind: "fee", reference: `seed ${walletId}` } as const;
  const { outcome, id } = await adjust({ ...fee, amount: 101n * usd });
  assert.equal(outcome, "requested");
  await decideAdjustment(database.operator, { operator: "emil", reason: "a test", id: id ?? "", isApproved: false });
  assert.equal(await outcomeOf({ ...fee, amount: 100n * usd }), "booked");
  await assertMoney(walletId, { balance: 520n * usd, owed: 0n });
});

test("the table rejects an approver who is the operator, and amounts without transfers", async () => {
  const changes = ["approver = operator", "transfer_id = null", "owed_micros = 1", "state = 'requested'"];
  for (const change of [...changes, "approver = null, limit_micros = 0"]) {
    const update = database.owner.query(
      `update pb.adjustments set ${change} where kind = 'payout' and state = 'booked'`,
    );
    await assert.rejects(update, { code: "23514" }, change);
  }
});

test("the chart of accounts lists every account of the ledger", async () => {
  const { rows } = await database.owner.query(
    `select a.account, e.account from pb.ledger_accounts a
     full join unnest(enum_range(null::pb.ledger_account)::text[]) e (account) on e.account = a.account
     where a.account is null or e.account is null`,
  );
  assert.deepEqual(rows, []);
});

test("the trial balance of the current month contains every transfer, and debits equal credits", async () => {
  const { accounts } = await readTrialBalance(database.owner, new Date().toISOString().slice(0, 7));
  const sum = (side: "debit" | "credit"): Micros => accounts.reduce((total, each) => total + each[side], 0n);
  assert.equal(sum("debit"), sum("credit"));
  const { rows } = await database.owner.query<{ transfers: Micros; wallets: Micros; owed: Micros }>(
    `select (select sum(amount_micros)::bigint from pb.transfers) as transfers,
       sum(credited_micros - debited_micros)::bigint as wallets, sum(owed_micros)::bigint as owed from pb.wallets`,
  );
  const balanceOf = (account: string): Micros => {
    const found = accounts.find((each) => each.account === account) ?? assert.fail(account);
    return found.debit - found.credit;
  };
  const actual = { transfers: sum("debit"), wallets: -balanceOf("wallet"), owed: balanceOf("receivable") };
  assert.deepEqual(actual, rows[0]);
});

test("a month is closed after its end, after a clean reconciliation, in order, and once", async () => {
  const { owner } = database;
  const month = old.day.slice(0, 7);
  const close = (of: string) => closeMonth(owner, { operator: "ada", reason: "a test", month: of });
  assert.equal(await close(new Date().toISOString().slice(0, 7)), "not_over");
  assert.equal(await close(month), "not_reconciled");
  const report = await reconcile(owner);
  assert.ok(report.isClean, formatReport(report));
  await saveReport(owner, report);
  assert.equal(await close(month), "closed");
  assert.equal(await close(month), "repeated");
  assert.equal(await close("2020-01"), "out_of_order");
  const { accounts, closedAt } = await readTrialBalance(owner, month);
  assert.ok(closedAt);
  const totals = accounts.filter(({ debit, credit }) => debit + credit > 0n);
  assert.deepEqual(
    totals.map(({ account, debit, credit }) => [account, debit, credit]),
    [
      ["cash", 1_000_000n, 0n],
      ["wallet", 50_000n, 1_000_000n],
      ["revenue", 0n, 50_000n],
    ],
  );
});

test("reconciliation reports an entry that was added to a closed month", async () => {
  const { owner } = database;
  const at = new Date(`${old.day}T13:00:00Z`);
  const differing = async (): Promise<number | undefined> =>
    (await reconcile(owner)).checks.find(({ name }) => name === "closed months")?.differing;
  assert.equal(await differing(), 0);
  const { walletId } = await seedWallet(owner);
  await owner.query(
    `insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
     values ($1, $2, 'top_up', 'cash', 'wallet', 1, $3)`,
    [uuidOf(at.getTime()), walletId, at],
  );
  assert.equal(await differing(), 2);
});
