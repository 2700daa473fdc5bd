import assert from "node:assert/strict";
import { after, test } from "node:test";
import { comparePayments } from "../../src/payments/compare-payments.ts";
import { createStripe } from "../../src/payments/stripe.ts";
import { formatReport, reconcile } from "../../src/wallet/wallet.ts";
import { until } from "../support/assertions/until.ts";
import { fakeKey } from "../support/payments/fake-stripe.ts";
import { openPaymentFixture } from "../support/payments/payment-fixture.ts";
import type { TestWallet } from "../support/services/server.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// The processor takes money back that may be spent already. A balance is never negative, and nothing is forgotten.

const upstream = await startHostileUpstream();
const fixture = await openPaymentFixture({ PENNYBLACK_SEARXNG_URL: upstream.url });
const { db, stripe, server } = fixture;

after(async () => {
  const report = await reconcile(db.owner);
  await fixture.close();
  await upstream.close();
  assert.ok(report.isClean, formatReport(report));
});

interface Standing {
  balance: string;
  owed: string;
  isSuspended: boolean;
  status: string;
}

/** As the operator sees it: a suspended owner cannot ask. */
async function standingOf(wallet: { walletId: string; topUpId: string }): Promise<Standing> {
  const { rows } = await db.owner.query<Standing>(
    `select ((w.credited_micros - w.debited_micros) / 1e6)::numeric(12, 2)::text as balance,
       (coalesce(r.owed_micros, 0) / 1e6)::numeric(12, 2)::text as owed, w.suspended_at is not null as "isSuspended", t.status
     from pb.wallets w left join pb.receivables r on r.wallet_id = w.id join pb.top_ups t on t.id = $2
     where w.id = $1`,
    [wallet.walletId, wallet.topUpId],
  );
  return rows[0] ?? assert.fail("no such wallet");
}

const standing = (balance: string, owed: string, isSuspended: boolean, status: string): Standing => ({
  balance,
  owed,
  isSuspended,
  status,
});

async function spend(wallet: TestWallet, searches: number): Promise<void> {
  for (let done = 0; done < searches; done += 1)
    assert.equal((await server.search(wallet.live, { query: "cats" })).status, 200);
}

test("a refund takes what is there and leaves the rest owing; the next top-up settles that first", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  await spend(wallet, 10);
  stripe.refund(wallet.paymentId, 500);
  assert.deepEqual(await fixture.deliverNewEvents(), ["taken", "ignored"]);
  assert.deepEqual(await standingOf(wallet), standing("0.00", "0.10", false, "refunded"));
  assert.equal((await fixture.manage(wallet, "GET", "/v1/wallet")).body.owed, "0.10");
  assert.equal((await server.search(wallet.live, { query: "cats" })).status, 402);

  stripe.payCheckout((await fixture.openTopUp(wallet, "5.00")).checkout_url);
  await fixture.deliverNewEvents();
  assert.deepEqual(await standingOf(wallet), standing("4.90", "0.00", false, "refunded"));
  const { entries } = (await fixture.manage(wallet, "GET", "/v1/wallet/entries?limit=4")).body;
  assert.deepEqual(
    entries.map((entry: { kind: string; amount: string }) => `${entry.kind} ${entry.amount}`).toSorted(),
    ["reversal -4.90", "search -0.01", "settlement -0.10", "top_up 5.00"],
  );
});

test("parts of a payment are refunded each once, and one that fails comes back", async () => {
  const wallet = await fixture.createPaidWallet("10.00");
  stripe.refund(wallet.paymentId, 300);
  const second = stripe.refund(wallet.paymentId, 200);
  await fixture.deliverNewEvents();
  await fixture.deliver(stripe.events.slice(-4).toReversed());
  assert.deepEqual(await standingOf(wallet), standing("5.00", "0.00", false, "succeeded"));
  assert.equal((await fixture.manage(wallet, "GET", `/v1/wallet/top-ups/${wallet.topUpId}`)).body.refunded, "5.00");
  stripe.failRefund(second);
  await fixture.deliverNewEvents();
  assert.deepEqual(await standingOf(wallet), standing("7.00", "0.00", false, "succeeded"));
});

test("a dispute freezes the wallet, and when it is won the money comes back and the wallet thaws", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  await spend(wallet, 20);
  const dispute = stripe.dispute(wallet.paymentId, 500);
  assert.deepEqual(await fixture.deliverNewEvents(), ["taken", "repeated"]);
  assert.deepEqual(await standingOf(wallet), standing("0.00", "0.20", true, "disputed"));
  assert.equal((await server.search(wallet.live, { query: "cats" })).body.code, "account_suspended");

  stripe.closeDispute(dispute, "won");
  assert.deepEqual(await fixture.deliverNewEvents(), ["returned", "repeated"]);
  assert.deepEqual(await standingOf(wallet), standing("4.80", "0.00", false, "succeeded"));
});

test("a dispute that is lost keeps the wallet frozen until an operator says otherwise", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  stripe.closeDispute(stripe.dispute(wallet.paymentId, 500), "lost");
  assert.deepEqual(await fixture.deliverNewEvents(), ["taken", "repeated", "lost"]);
  assert.deepEqual(await standingOf(wallet), standing("0.00", "0.00", true, "disputed"));
});

test("an inquiry takes no money and freezes nobody, and a refund that waits for the owner's bank takes none yet", async () => {
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
  assert.deepEqual(await standingOf(wallet), standing("5.00", "0.00", false, "succeeded"));
});

test("told in the wrong order, a dispute that was won takes nothing and freezes nobody", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  stripe.closeDispute(stripe.dispute(wallet.paymentId, 500), "won");
  assert.deepEqual(await fixture.deliver(stripe.events.slice(-4).toReversed()), [
    "returned",
    "repeated",
    "repeated",
    "repeated",
  ]);
  await fixture.deliverNewEvents();
  assert.deepEqual(await standingOf(wallet), standing("5.00", "0.00", false, "succeeded"));
});

test("two disputes thaw with the second, and an operator's suspension with neither", async () => {
  const wallet = await fixture.createPaidWallet("10.00");
  const first = stripe.dispute(wallet.paymentId, 300);
  const second = stripe.dispute(wallet.paymentId, 200);
  stripe.closeDispute(first, "won");
  await fixture.deliverNewEvents();
  assert.deepEqual(await standingOf(wallet), standing("8.00", "0.00", true, "disputed"));
  stripe.closeDispute(second, "won");
  await fixture.deliverNewEvents();
  assert.deepEqual(await standingOf(wallet), standing("10.00", "0.00", false, "succeeded"));

  await db.owner.query("select pb.suspend_wallet($1, true)", [wallet.walletId]);
  stripe.closeDispute(stripe.dispute(wallet.paymentId, 100), "won");
  await fixture.deliverNewEvents();
  assert.deepEqual(await standingOf(wallet), standing("10.00", "0.00", true, "succeeded"));
});

test("a refund that is told before its payment credits the payment first", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  const topUp = await fixture.openTopUp(wallet, "10.00");
  const payment = stripe.payCheckout(topUp.checkout_url);
  stripe.refund(payment.id, 400);
  const [refunded] = stripe.events.slice(-2);
  assert.deepEqual(await fixture.deliver([refunded]), ["taken"]);
  assert.deepEqual(await standingOf({ ...wallet, topUpId: topUp.id }), standing("11.00", "0.00", false, "succeeded"));
  await fixture.deliverNewEvents();
  assert.deepEqual(await standingOf({ ...wallet, topUpId: topUp.id }), standing("11.00", "0.00", false, "succeeded"));
});

test("refunds and disputes whose webhooks were lost are found by the comparison", async () => {
  const [refunded, disputed] = [await fixture.createPaidWallet("5.00"), await fixture.createPaidWallet("5.00")];
  stripe.refund(refunded.paymentId, 500);
  stripe.dispute(disputed.paymentId, 500);
  const processor = createStripe({ secretKey: fakeKey, webhookSecrets: [], url: stripe.url });
  assert.equal((await comparePayments(db.owner, processor)).reversedNow, 2);
  assert.deepEqual(await standingOf(refunded), standing("0.00", "0.00", false, "refunded"));
  assert.deepEqual(await standingOf(disputed), standing("0.00", "0.00", true, "disputed"));
  assert.equal((await comparePayments(db.owner, processor)).reversedNow, 0);
});

test("a dispute of long ago is asked about until it is decided, whatever webhooks were lost", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  const dispute = stripe.dispute(wallet.paymentId, 500);
  const processor = createStripe({ secretKey: fakeKey, webhookSecrets: [], url: stripe.url });
  await comparePayments(db.owner, processor);
  stripe.closeDispute(dispute, "won");
  // Seen from three weeks on, it was begun too long ago to be in any list.
  const later = new Date(Date.now() + 21 * 86_400_000);
  assert.equal((await comparePayments(db.owner, processor, later)).reversedNow, 1);
  assert.deepEqual(await standingOf(wallet), standing("5.00", "0.00", false, "succeeded"));
});

test("what an operator suspended while a dispute ran stays suspended when it is won", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  const dispute = stripe.dispute(wallet.paymentId, 500);
  await fixture.deliverNewEvents();
  await db.owner.query("select pb.suspend_wallet($1, true)", [wallet.walletId]);
  stripe.closeDispute(dispute, "won");
  await fixture.deliverNewEvents();
  assert.deepEqual(await standingOf(wallet), standing("5.00", "0.00", true, "succeeded"));
});

test("money held for searches in flight is not taken from under them", async () => {
  const wallet = await fixture.createPaidWallet("5.00");
  await upstream.behave("slow_headers", { everyMs: 400 });
  const asked = upstream.requests.length;
  const search = server.search(wallet.live, { query: "cats" });
  await until("the upstream is asked", () => upstream.requests.length > asked);
  stripe.refund(wallet.paymentId, 500);
  await fixture.deliverNewEvents();
  assert.equal((await search).status, 200);
  await upstream.behave("ok");
  assert.deepEqual(await standingOf(wallet), standing("0.00", "0.01", false, "refunded"));
});
