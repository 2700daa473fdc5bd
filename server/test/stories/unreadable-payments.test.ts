import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { afterEach, test } from "node:test";
import { chargeCards } from "../../src/payments/charge-cards.ts";
import { comparePayments } from "../../src/payments/compare-payments.ts";
import { createPaymentFixture } from "../support/payments/payment-fixture.ts";

// A payment, refund or dispute that cannot be read or booked must not stop the checks of all others.

const fixture = await createPaymentFixture();
const { db, stripe, processor, createWallet, balanceOf } = fixture;

afterEach(() => stripe.broken.clear());

/** Closes the notices and returns their subjects. */
async function unreadable(): Promise<string[]> {
  const { rows } = await db.owner.query<{ subject: string }>(
    `update pb.payment_notices set closed_at = clock_timestamp(), closed_by = 'test'
     where reason = 'unreadable' and closed_at is null returning subject`,
  );
  return rows.map(({ subject }) => subject).toSorted();
}

/** A pending top-up whose checkout ended eight days ago. */
async function addExpiredTopUp(walletId: string): Promise<string> {
  const id = randomUUIDv7();
  await db.owner.query(
    `insert into pb.top_ups (id, wallet_id, kind, amount_micros, saves_card, key_hmac, fingerprint, created_at, expires_at)
     select $1, $2, 'checkout', 10000, false, $3, $3, now_at - interval '9 days', now_at - interval '8 days'
     from clock_timestamp() now_at`,
    [id, walletId, randomBytes(32)],
  );
  return id;
}

async function statusOf(topUpId: string): Promise<string | undefined> {
  const { rows } = await db.owner.query<{ status: string }>("select status from pb.top_ups where id = $1", [topUpId]);
  return rows[0]?.status;
}

/** Work for the checks at the start, in the middle and at the end of a comparison. */
async function leaveWork(): Promise<() => Promise<void>> {
  const wallet = await createWallet();
  stripe.payCheckout((await fixture.openTopUp(wallet, "10.00")).checkout_url);
  const disputed = await fixture.createPaidWallet("10.00");
  const dispute = stripe.dispute(disputed.paymentId, 1_000);
  await fixture.deliverNewEvents();
  stripe.closeDispute(dispute, "won");
  const expired = await addExpiredTopUp(wallet.walletId);
  return async () => {
    assert.equal(await balanceOf(wallet), "10.00");
    assert.equal(await balanceOf(disputed), "10.00");
    assert.equal(await statusOf(expired), "expired");
  };
}

test("unreadable disputes, refunds and payments open notices, and all other checks run", async () => {
  const wallet = await fixture.createPaidWallet("10.00");
  const dispute = stripe.dispute(wallet.paymentId, 100);
  await fixture.deliverNewEvents();
  const refunded = await fixture.createPaidWallet("10.00");
  const refund = stripe.refund(refunded.paymentId, 100);
  // Not in the list of recent payments, so it is looked up by its id.
  const early = await fixture.createPaidWallet("10.00");
  const payment = stripe.payments.get(early.paymentId);
  assert.ok(payment);
  payment.created -= 10 * 86_400;
  stripe.broken.set(dispute, 404).set(refunded.paymentId, 400).set(early.paymentId, 400);
  const assertDone = await leaveWork();

  const found = await comparePayments(db.payments, processor);
  await assertDone();
  const expected = [dispute, refund, early.paymentId].toSorted();
  assert.deepEqual(found.unreadable.toSorted(), expected);
  assert.deepEqual(found.unpaid, []);
  await comparePayments(db.payments, processor);
  assert.deepEqual(await unreadable(), expected, "one notice each");
});

test("if the processor fails for some items, all other checks run before the comparison fails", async () => {
  const wallet = await fixture.createPaidWallet("10.00");
  stripe.broken.set(stripe.dispute(wallet.paymentId, 100), 503);
  await fixture.deliverNewEvents();
  const assertDone = await leaveWork();
  await assert.rejects(comparePayments(db.payments, processor), /stripe: StripeAPIError 503/);
  await assertDone();
  assert.deepEqual(await unreadable(), []);
});

test("while the processor is unavailable, unpaid top-ups still expire", async () => {
  const { walletId } = await createWallet();
  const expired = await addExpiredTopUp(walletId);
  stripe.isDown = true;
  await assert.rejects(comparePayments(db.payments, processor), /stripe: StripeAPIError 500/);
  stripe.isDown = false;
  assert.equal(await statusOf(expired), "expired");
});

test("if the processor fails for several items in a row, no more are requested", async () => {
  const wallet = await fixture.createPaidWallet("10.00");
  const disputes = Array.from({ length: 8 }, () => stripe.dispute(wallet.paymentId, 1));
  await fixture.deliverNewEvents();
  const requested: string[] = [];
  const failing = {
    ...processor,
    async *listUpdates() {},
    async readReversal({ id }: { id: string }) {
      requested.push(id);
      stripe.broken.set(id, 503);
      return processor.readReversal({ id, kind: "dispute" });
    },
  };
  await assert.rejects(comparePayments(db.payments, failing), /stripe: StripeAPIError 503/);
  assert.ok(disputes.length > 5);
  assert.equal(requested.length, 5);
});

test("an unreadable refund does not stop automatic top-ups", async () => {
  const wallet = await createWallet();
  const limits = { threshold: "5.01", amount: "20.00", daily_cap: "20.00", monthly_cap: "20.00" };
  assert.equal((await fixture.manage(wallet, "PUT", "/v1/wallet/auto-top-up", limits)).status, 200);
  stripe.payCheckout((await fixture.openTopUp(wallet, "5.00")).checkout_url);
  const refunded = await fixture.createPaidWallet("10.00");
  stripe.refund(refunded.paymentId, 100);
  stripe.broken.set(refunded.paymentId, 400);
  // A worker crashed after it opened the top-up. The next run looks for its payment in the processor's list.
  await db.payments.query("select pb.begin_auto_top_ups($1)", [[randomUUIDv7()]]);
  await db.owner.query(
    "update pb.top_ups set created_at = created_at - interval '10 minutes' where wallet_id = $1 and kind = 'automatic'",
    [wallet.walletId],
  );
  const report = await chargeCards(db.payments, processor, () => undefined);
  assert.deepEqual(report, { started: 0, paid: 1, declined: 0, undecided: 0 });
});

test("an update that cannot be booked opens a notice, and all other checks run", async () => {
  const wallet = await fixture.createPaidWallet("10.00");
  const assertDone = await leaveWork();
  // An amount that a reversal cannot have. The stub keeps it, so this test is the last one.
  const refund = stripe.refund(wallet.paymentId, -100);
  const found = await comparePayments(db.payments, processor);
  await assertDone();
  assert.deepEqual(found.unreadable, [refund]);
  assert.deepEqual(await unreadable(), [refund]);
});
