import assert from "node:assert/strict";
import { test } from "node:test";
import { comparePayments } from "../../src/payments/compare-payments.ts";
import { until } from "../support/assertions/until.ts";
import { createPaymentFixture } from "../support/payments/payment-fixture.ts";
import type { TestWallet } from "../support/services/server.ts";

// Refunds and disputes may take back money that is already spent. The balance never becomes negative; the rest is owed.

const fixture = await createPaymentFixture();
const { db, upstream, stripe, processor, server } = fixture;

/** Balance, amount owed, whether the wallet is suspended, and the status of the top-up. */
type WalletState = [balance: string, owed: string, isSuspended: boolean, status: string];

/** Read from the tables, because a suspended owner cannot use the API. */
async function stateOf(wallet: { walletId: string; topUpId: string }): Promise<WalletState> {
  const { rows } = await db.owner.query<{ state: WalletState }>(
    `select json_build_array(((w.credited_micros - w.debited_micros) / 1e6)::numeric(12, 2)::text,
       (w.owed_micros / 1e6)::numeric(12, 2)::text, w.suspended_at is not null, t.status) as state
     from pb.wallets w join pb.top_ups t on t.id = $2
     where w.id = $1`,
    [wallet.walletId, wallet.topUpId],
  );
  return rows[0]?.state ?? assert.fail("no such wallet");
}

async function spend(wallet: TestWallet, searches: number): Promise<void> {
  for (let done = 0; done < searches; done += 1)
    assert.equal((await server.search(wallet.live, { query: "cats" })).status, 200);
}

test("a refund takes the available balance, and the next top-up first settles the amount owed", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  await spend(wallet, 10);
  stripe.refund(wallet.paymentId, 500);
  assert.deepEqual(await fixture.deliverNewEvents(), ["taken", "ignored"]);
  assert.deepEqual(await stateOf(wallet), ["0.00", "0.10", false, "refunded"]);
  assert.equal((await fixture.manage(wallet, "GET", "/v1/wallet")).body.owed, "0.10");
  const { status, body } = await server.search(wallet.live, { query: "cats" });
  assert.deepEqual([status, body.code, body.owed], [402, "insufficient_balance", "0.10"]);
  assert.match(body.detail, /^The wallet owes 0\.10 USD /);

  stripe.payCheckout((await fixture.openTopUp(wallet, "5.00")).checkout_url);
  await fixture.deliverNewEvents();
  assert.deepEqual(await stateOf(wallet), ["4.90", "0.00", false, "refunded"]);
  const { entries } = (await fixture.manage(wallet, "GET", "/v1/wallet/entries?limit=4")).body;
  assert.deepEqual(
    entries.map((entry: { kind: string; amount: string }) => `${entry.kind} ${entry.amount}`).toSorted(),
    ["reversal -4.90", "search -0.01", "settlement -0.10", "top_up 5.00"],
  );
});

test("partial refunds are applied once each, and a failed one is returned", async () => {
  const wallet = await fixture.createPaidWallet("10.00");
  stripe.refund(wallet.paymentId, 300);
  const second = stripe.refund(wallet.paymentId, 200);
  await fixture.deliverNewEvents();
  await fixture.deliver(stripe.events.slice(-4).toReversed());
  assert.deepEqual(await stateOf(wallet), ["5.00", "0.00", false, "succeeded"]);
  assert.equal((await fixture.manage(wallet, "GET", `/v1/wallet/top-ups/${wallet.topUpId}`)).body.refunded, "5.00");
  stripe.failRefund(second);
  await fixture.deliverNewEvents();
  assert.deepEqual(await stateOf(wallet), ["7.00", "0.00", false, "succeeded"]);
});

test("a dispute suspends the wallet; when it is won the money is returned and the wallet resumed", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  await spend(wallet, 20);
  const dispute = stripe.dispute(wallet.paymentId, 500);
  assert.deepEqual(await fixture.deliverNewEvents(), ["taken", "repeated"]);
  assert.deepEqual(await stateOf(wallet), ["0.00", "0.20", true, "disputed"]);
  assert.equal((await server.search(wallet.live, { query: "cats" })).body.code, "account_suspended");

  stripe.closeDispute(dispute, "won");
  assert.deepEqual(await fixture.deliverNewEvents(), ["returned", "repeated"]);
  assert.deepEqual(await stateOf(wallet), ["4.80", "0.00", false, "succeeded"]);
});

test("a lost dispute leaves the wallet suspended", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  stripe.closeDispute(stripe.dispute(wallet.paymentId, 500), "lost");
  assert.deepEqual(await fixture.deliverNewEvents(), ["taken", "repeated", "lost"]);
  assert.deepEqual(await stateOf(wallet), ["0.00", "0.00", true, "disputed"]);
});

test("an inquiry or an unfinished refund changes nothing", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  const object = { id: "dp_inquiry", payment_intent: wallet.paymentId, amount: 500, currency: "usd" };
  assert.deepEqual(
    await fixture.deliver([
      {
        id: "evt_a",
        type: "charge.dispute.created",
        data: { object: { ...object, status: "warning_needs_response" } },
      },
      { id: "evt_b", type: "charge.dispute.closed", data: { object: { ...object, status: "warning_closed" } } },
      { id: "evt_c", type: "refund.created", data: { object: { ...object, id: "re_1", status: "requires_action" } } },
    ]),
    ["ignored", "ignored", "ignored"],
  );
  assert.deepEqual(await stateOf(wallet), ["5.00", "0.00", false, "succeeded"]);
});

test("the events of a won dispute in reverse order change nothing", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  stripe.closeDispute(stripe.dispute(wallet.paymentId, 500), "won");
  assert.deepEqual(await fixture.deliver(stripe.events.slice(-4).toReversed()), [
    "returned",
    "repeated",
    "repeated",
    "repeated",
  ]);
  await fixture.deliverNewEvents();
  assert.deepEqual(await stateOf(wallet), ["5.00", "0.00", false, "succeeded"]);
});

test("a wallet is resumed after its last open dispute, but not if an operator suspended it", async () => {
  const wallet = await fixture.createPaidWallet("10.00");
  const first = stripe.dispute(wallet.paymentId, 300);
  const second = stripe.dispute(wallet.paymentId, 200);
  stripe.closeDispute(first, "won");
  await fixture.deliverNewEvents();
  assert.deepEqual(await stateOf(wallet), ["8.00", "0.00", true, "disputed"]);
  stripe.closeDispute(second, "won");
  await fixture.deliverNewEvents();
  assert.deepEqual(await stateOf(wallet), ["10.00", "0.00", false, "succeeded"]);

  await db.owner.query("select pb.suspend_wallet($1, true)", [wallet.walletId]);
  stripe.closeDispute(stripe.dispute(wallet.paymentId, 100), "won");
  await fixture.deliverNewEvents();
  assert.deepEqual(await stateOf(wallet), ["10.00", "0.00", true, "succeeded"]);
});

test("a refund event that arrives before its payment credits the payment first", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  const topUp = await fixture.openTopUp(wallet, "10.00");
  const payment = stripe.payCheckout(topUp.checkout_url);
  stripe.refund(payment.id, 400);
  const [refunded] = stripe.events.slice(-2);
  assert.deepEqual(await fixture.deliver([refunded]), ["taken"]);
  assert.deepEqual(await stateOf({ ...wallet, topUpId: topUp.id }), ["11.00", "0.00", false, "succeeded"]);
  await fixture.deliverNewEvents();
  assert.deepEqual(await stateOf({ ...wallet, topUpId: topUp.id }), ["11.00", "0.00", false, "succeeded"]);
});

test("the comparison applies refunds and disputes whose webhooks were lost", async () => {
  const [refunded, disputed] = [await fixture.createPaidWallet("5.00"), await fixture.createPaidWallet("5.00")];
  stripe.refund(refunded.paymentId, 500);
  stripe.dispute(disputed.paymentId, 500);
  assert.equal((await comparePayments(db.payments, processor)).reversedNow, 2);
  assert.deepEqual(await stateOf(refunded), ["0.00", "0.00", false, "refunded"]);
  assert.deepEqual(await stateOf(disputed), ["0.00", "0.00", true, "disputed"]);
  assert.equal((await comparePayments(db.payments, processor)).reversedNow, 0);
});

test("an old dispute is checked until it is decided, even if its webhooks were lost", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  const dispute = stripe.dispute(wallet.paymentId, 500);
  await comparePayments(db.payments, processor);
  stripe.closeDispute(dispute, "won");
  // Three weeks later, the dispute is too old for the lists.
  const later = new Date(Date.now() + 21 * 86_400_000);
  assert.equal((await comparePayments(db.payments, processor, later)).reversedNow, 1);
  assert.deepEqual(await stateOf(wallet), ["5.00", "0.00", false, "succeeded"]);
});

test("a wallet that an operator suspended during a dispute stays suspended when it is won", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  const dispute = stripe.dispute(wallet.paymentId, 500);
  await fixture.deliverNewEvents();
  await db.owner.query("select pb.suspend_wallet($1, true)", [wallet.walletId]);
  stripe.closeDispute(dispute, "won");
  await fixture.deliverNewEvents();
  assert.deepEqual(await stateOf(wallet), ["5.00", "0.00", true, "succeeded"]);
});

test("a refund does not take money held for searches in flight", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  await upstream.behave("ok_when_released");
  const calls = upstream.requests.length;
  const search = server.search(wallet.live, { query: "cats" });
  await until("the upstream is called", () => upstream.requests.length > calls);
  stripe.refund(wallet.paymentId, 500);
  await fixture.deliverNewEvents();
  upstream.release();
  assert.equal((await search).status, 200);
  await upstream.behave("ok");
  assert.deepEqual(await stateOf(wallet), ["0.00", "0.01", false, "refunded"]);
});

test("the hold of a failed search pays what the wallet owes, and the next search gets a 402", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  await upstream.behave("slow_headers");
  const calls = upstream.requests.length;
  const search = server.search(wallet.live, { query: "cats" }, { prefer: "wait=4" });
  await until("the upstream is called", () => upstream.requests.length > calls);
  stripe.refund(wallet.paymentId, 500);
  await fixture.deliverNewEvents();
  assert.deepEqual(await stateOf(wallet), ["0.01", "0.01", false, "refunded"]);
  assert.notEqual((await search).status, 200);
  await upstream.behave("ok");
  assert.deepEqual(await stateOf(wallet), ["0.00", "0.00", false, "refunded"]);
  assert.equal((await server.search(wallet.live, { query: "cats" })).status, 402);
});

test("the books balance after all of it", () => fixture.assertBooksBalance());
