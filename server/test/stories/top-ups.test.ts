import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { comparePayments } from "../../src/payments/compare-payments.ts";
import type { ProblemCode } from "../../src/problems/problems.ts";
import { reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { closeAfter } from "../support/close-after.ts";
import { signEvent } from "../support/payments/fake-stripe.ts";
import { createPaymentFixture, webhookSecret } from "../support/payments/payment-fixture.ts";
import { type Reply, startTestServer, type TestWallet } from "../support/services/server.ts";

// Top-ups: from the request to the balance, with everything that can go wrong.

const fixture = await createPaymentFixture({ PENNYBLACK_TOP_UP_MIN: "5.00", PENNYBLACK_TOP_UP_MAX: "500.00" });
const { db, stripe, processor, server, balanceOf, createWallet } = fixture;

const path = "/v1/wallet/top-ups";
const assertRejected = (reply: Reply, code: ProblemCode) => assertProblem(reply, code, reply.body.instance);
const open = (wallet: TestWallet, body: unknown, key: string = randomUUID()) =>
  fixture.manage(wallet, "POST", path, body, { "idempotency-key": key });

async function notices(subject: string): Promise<string[]> {
  const { rows } = await db.owner.query<{ reason: string }>(
    "select reason from pb.payment_notices where subject = $1 order by reason",
    [subject],
  );
  return rows.map((row) => row.reason);
}

test("a top-up is opened, paid and credited once, regardless of the events that report the payment", async () => {
  const wallet = await createWallet();
  const opened = await open(wallet, { amount: "20", success_url: "https://shop.test/done?id={CHECKOUT_SESSION_ID}" });
  assert.equal(opened.status, 201);
  assert.equal(opened.body.status, "pending");
  assert.equal(opened.body.amount, "20.00");
  assert.match(opened.body.checkout_url, /^https:\/\/checkout\.test\/cs_/);
  assert.equal(await balanceOf(wallet), "0.00");

  stripe.payCheckout(opened.body.checkout_url);
  assert.deepEqual(await fixture.deliverNewEvents(), ["credited", "repeated", "repeated"]);
  assert.equal(await balanceOf(wallet), "20.00");
  const read = await fixture.manage(wallet, "GET", `${path}/${opened.body.id}`);
  assert.equal(read.body.status, "succeeded");
  assert.equal(read.body.checkout_url, null);
  assert.match(read.body.receipt_url, /^https:\/\/receipts\.test\/pi_/);
  const entries = await fixture.manage(wallet, "GET", "/v1/wallet/entries");
  assert.deepEqual(pluck(entries.body.entries, "kind", "amount"), [["top_up", "20.00"]]);
});

test("the same key and body return the same top-up, another body 422, and no key 400", async () => {
  const wallet = await createWallet();
  const key = randomUUID();
  const replies = await Promise.all(Array.from({ length: 5 }, () => open(wallet, { amount: "20.00" }, key)));
  assert.deepEqual([...new Set(replies.map((reply) => reply.status))], [201]);
  assert.equal(new Set(replies.map((reply) => `${reply.body.id} ${reply.body.checkout_url}`)).size, 1);
  assert.equal(replies.filter((reply) => reply.headers.get("idempotent-replayed") === null).length, 1);
  assertRejected(await open(wallet, { amount: "21.00" }, key), "idempotency_key_reused");
  assertRejected(await fixture.manage(wallet, "POST", path, { amount: "20.00" }), "invalid_request");
  // Keys are scoped to a wallet.
  const other = await createWallet();
  assert.notEqual((await open(other, { amount: "20.00" }, key)).body.id, replies[0]?.body.id);
});

for (const [name, body] of Object.entries({
  "an amount below the minimum": { amount: "4.99" },
  "an amount above the maximum": { amount: "500.01" },
  "a fraction of a cent": { amount: "20.001" },
  "a number": { amount: 20 },
  "a negative amount": { amount: "-20.00" },
  "an http URL": { amount: "20.00", success_url: "http://shop.test" },
  "a URL with a password": { amount: "20.00", cancel_url: "https://a:b@shop.test" },
  "an unknown field": { amount: "20.00", currency: "eur" },
})) {
  test(`rejects ${name} without opening a top-up`, async () => {
    const wallet = await createWallet();
    assertRejected(await open(wallet, body), "invalid_request");
    assert.deepEqual((await fixture.manage(wallet, "GET", path)).body, { top_ups: [], next_cursor: null });
  });
}

test("top-ups are listed in pages, newest first, and another wallet's top-up is not found", async () => {
  const wallet = await createWallet();
  const ids: string[] = [];
  for (let made = 0; made < 3; made += 1) ids.unshift((await fixture.openTopUp(wallet, "10.00")).id);
  const first = (await fixture.manage(wallet, "GET", `${path}?limit=2`)).body;
  const second = (await fixture.manage(wallet, "GET", `${path}?limit=2&cursor=${first.next_cursor}`)).body;
  assert.deepEqual(pluck([...first.top_ups, ...second.top_ups], "id"), ids);
  assert.equal(second.next_cursor, null);
  const other = await createWallet();
  assertRejected(await fixture.manage(other, "GET", `${path}/${ids[0]}`), "not_found");
  assertRejected(await fixture.manage(other, "GET", `${path}/nonsense`), "not_found");
  assert.deepEqual((await fixture.manage(other, "GET", `${path}?cursor=${first.next_cursor}`)).body.top_ups, []);
});

test("an unavailable processor returns 502, and a retry with the same key continues", async () => {
  const wallet = await createWallet();
  const key = randomUUID();
  stripe.isDown = true;
  const failed = await open(wallet, { amount: "20.00" }, key);
  stripe.isDown = false;
  assertRejected(failed, "payment_processor_unavailable");
  const opened = await open(wallet, { amount: "20.00" }, key);
  assert.equal(opened.status, 201);
  const { top_ups: topUps } = (await fixture.manage(wallet, "GET", path)).body;
  assert.deepEqual(pluck(topUps, "id"), [opened.body.id]);
});

test("a 402 contains the request that opens a top-up", async () => {
  const poor = await createWallet();
  const { status, body } = await server.search(poor.live, { query: "cats" });
  assert.equal(status, 402);
  assert.deepEqual(body.top_up.create, {
    method: "POST",
    url: "http://search.test/v1/wallet/top-ups",
    required_scope: "wallet:write",
    body: { amount: "5.00" },
  });
  assert.equal(body.top_up.minimum, "5.00");
});

test("an invalid or old signature or a modified body returns 400 without a credit", async () => {
  const wallet = await createWallet();
  stripe.payCheckout((await fixture.openTopUp(wallet, "20.00")).checkout_url);
  const event = stripe.events.at(-1);
  const good = signEvent(event, webhookSecret);
  const hour = Math.floor(Date.now() / 1_000) - 3_600;
  const old = good.headers["stripe-signature"]?.replace(/t=\d+/, `t=${hour}`) ?? "";
  for (const attempt of [
    { ...good, headers: { ...good.headers, "stripe-signature": "" } },
    { ...good, headers: { ...good.headers, "stripe-signature": old } },
    { ...good, body: `${good.body} ` },
    signEvent(event, "whsec_somebody_else"),
  ]) {
    const reply = await server.request("/v1/payments/stripe/webhook", { method: "POST", ...attempt });
    assertRejected(reply, "invalid_request");
  }
  assert.equal(await balanceOf(wallet), "0.00");
  // The secret that is being replaced is accepted too.
  const older = signEvent(event, "whsec_an_older_secret");
  assert.equal((await server.request("/v1/payments/stripe/webhook", { method: "POST", ...older })).status, 200);
  assert.equal(await balanceOf(wallet), "20.00");
});

test("an event over 1 MiB returns 413, and unused events are ignored", async () => {
  const large = signEvent({ padding: "x".repeat(1_048_576) }, webhookSecret);
  const reply = await server.request("/v1/payments/stripe/webhook", { method: "POST", ...large });
  assertRejected(reply, "payload_too_large");
  assert.deepEqual(
    await fixture.deliver([
      { id: "evt_1", type: "price.created", data: { object: { id: "price_1" } } },
      { id: "evt_2", type: "payment_intent.succeeded", data: { object: { id: "pi_1", amount: 1, metadata: {} } } },
      { id: "evt_3", type: "charge.dispute.created", data: { object: { id: "dp_1", payment_intent: "pi_unknown" } } },
      { id: "evt_4", type: 7 },
      {},
    ]),
    ["ignored", "ignored", "ignored", "ignored", "ignored"],
  );
});

test("a payment with the wrong amount, wallet, currency or top-up is not credited and is reported to operators", async () => {
  const [wallet, other] = [await createWallet(), await createWallet()];
  const { id: topUpId } = await fixture.openTopUp(wallet, "20.00");
  const ours = { wallet_id: wallet.walletId, top_up_id: topUpId };
  await fixture.deliverNewEvents();
  const forged = {
    wrong_amount: stripe.forgePayment(2_001, ours),
    wrong_wallet: stripe.forgePayment(2_000, { ...ours, wallet_id: other.walletId }),
    unknown_wallet: stripe.forgePayment(2_000, { ...ours, wallet_id: randomUUID() }),
    unknown_top_up: stripe.forgePayment(2_000, { ...ours, top_up_id: randomUUID() }),
    other_currency: stripe.forgePayment(2_000, ours, "jpy"),
  };
  assert.deepEqual([...new Set(await fixture.deliverNewEvents())], ["conflicting"]);
  for (const payment of [forged.wrong_amount, forged.other_currency])
    assert.deepEqual(await notices(payment.id), ["wrong_amount"]);
  for (const payment of [forged.wrong_wallet, forged.unknown_wallet, forged.unknown_top_up])
    assert.deepEqual(await notices(payment.id), ["wrong_wallet"]);
  assert.deepEqual([await balanceOf(wallet), await balanceOf(other)], ["0.00", "0.00"]);

  // The correct payment is credited; a second one for the same top-up is not.
  stripe.forgePayment(2_000, ours);
  const second = stripe.forgePayment(2_000, ours);
  assert.deepEqual(await fixture.deliverNewEvents(), ["credited", "repeated", "conflicting", "conflicting"]);
  assert.deepEqual(await notices(second.id), ["second_payment"]);
  assert.equal(await balanceOf(wallet), "20.00");
});

test("an unpaid checkout expires, and a late payment is still credited", async () => {
  const wallet = await createWallet();
  const topUp = await fixture.openTopUp(wallet, "20.00");
  stripe.expireCheckout(topUp.checkout_url);
  assert.deepEqual(await fixture.deliverNewEvents(), ["expired"]);
  assert.equal((await fixture.manage(wallet, "GET", `${path}/${topUp.id}`)).body.status, "expired");
  stripe.payCheckout(topUp.checkout_url);
  await fixture.deliverNewEvents();
  assert.equal((await fixture.manage(wallet, "GET", `${path}/${topUp.id}`)).body.status, "succeeded");
  assert.equal(await balanceOf(wallet), "20.00");
});

test("the comparison credits payments whose webhooks were lost and reports unpaid ones", async () => {
  const wallet = await createWallet();
  for (let made = 0; made < 3; made += 1) stripe.payCheckout((await fixture.openTopUp(wallet, "10.00")).checkout_url);
  const found = await comparePayments(db.payments, processor);
  assert.equal(found.creditedNow, 3);
  assert.deepEqual(found.unpaid, []);
  assert.equal(await balanceOf(wallet), "30.00");
  assert.deepEqual(new Set(await fixture.deliverNewEvents()), new Set(["repeated"]));

  // A payment that the processor later reports as unpaid.
  const { topUpId, paymentId } = await fixture.createPaidWallet("10.00");
  const payment = stripe.payments.get(paymentId);
  assert.ok(payment);
  payment.status = "requires_payment_method";
  const second = await comparePayments(db.payments, processor);
  assert.equal(second.creditedNow, 0);
  assert.deepEqual(second.unpaid, [paymentId]);
  assert.deepEqual(await notices(paymentId), ["not_paid_there"]);
  await comparePayments(db.payments, processor);
  assert.deepEqual(await notices(paymentId), ["not_paid_there"], "reported once");
  payment.status = "succeeded";
  assert.ok(topUpId);
});

/** Moves the top-up and its payment into the past. */
async function makeOlder(topUpId: string, days: number): Promise<void> {
  await db.owner.query(
    `update pb.top_ups set created_at = created_at - $2 * interval '1 day', expires_at = expires_at - $2 * interval '1 day'
     where id = $1`,
    [topUpId, days],
  );
  for (const payment of stripe.payments.values())
    if (payment.metadata["top_up_id"] === topUpId) payment.created -= days * 86_400;
}

test("the comparison credits a payment that takes ten days, and only then does its checkout end", async () => {
  const [wallet, other] = [await createWallet(), await createWallet()];
  const [paid, failed, abandoned] = [
    await fixture.openTopUp(wallet, "10.00"),
    await fixture.openTopUp(wallet, "20.00"),
    await fixture.openTopUp(other, "30.00"),
  ];
  const [slow, declined] = [stripe.startPayment(paid.checkout_url), stripe.startPayment(failed.checkout_url)];
  for (const { id } of [paid, failed, abandoned]) await makeOlder(id, 10);
  const statuses = async () => {
    const read = (of: TestWallet, id: string) => fixture.manage(of, "GET", `${path}/${id}`);
    const replies = [await read(wallet, paid.id), await read(wallet, failed.id), await read(other, abandoned.id)];
    return replies.map(({ body }) => body.status);
  };
  await comparePayments(db.payments, processor);
  assert.deepEqual(await statuses(), ["pending", "pending", "pending"]);

  // All events are lost.
  slow.status = "succeeded";
  Object.assign(declined, { status: "requires_payment_method", failure: "debit_not_authorized" });
  stripe.expireCheckout(abandoned.checkout_url);
  stripe.events.length = 0;
  assert.equal((await comparePayments(db.payments, processor)).creditedNow, 1);
  assert.deepEqual(await statuses(), ["succeeded", "failed", "expired"]);
  assert.deepEqual([await balanceOf(wallet), await balanceOf(other)], ["10.00", "0.00"]);
});

test("the first comparison after an outage of the worker covers all of it", async () => {
  const wallet = await createWallet();
  // Without a checkout id, as if the server had crashed before it was stored.
  const topUp = await fixture.openTopUp(wallet, "10.00");
  await db.owner.query("update pb.top_ups set checkout_id = null where id = $1", [topUp.id]);
  stripe.payCheckout(topUp.checkout_url);
  stripe.events.length = 0;
  await makeOlder(topUp.id, 20);
  await comparePayments(db.payments, processor);
  assert.equal(await balanceOf(wallet), "0.00", "already compared");

  await db.owner.query("update pb.payment_comparison set compared_until = compared_until - interval '21 days'");
  const { checks } = await reconcile(db.worker);
  const sample = checks.find(({ name }) => name === "comparison")?.sample ?? [];
  assert.ok(sample.some(({ subject }) => subject === topUp.id));

  // A comparison that fails does not count.
  stripe.isDown = true;
  await assert.rejects(comparePayments(db.payments, processor));
  stripe.isDown = false;
  assert.equal((await comparePayments(db.payments, processor)).creditedNow, 1);
  assert.equal(await balanceOf(wallet), "10.00");
  assert.ok((await reconcile(db.worker)).isClean);
});

test("without a processor, opening a top-up and webhooks return 503, and reading works", async (t) => {
  const bare = closeAfter(await startTestServer(db), t);
  const wallet = await createWallet();
  const opened = await bare.manage(wallet.management, "POST", path, { amount: "20.00" }, { "idempotency-key": "1" });
  assertRejected(opened, "payments_not_configured");
  const signed = signEvent({ id: "evt", type: "price.created" }, webhookSecret);
  const webhook = await bare.request("/v1/payments/stripe/webhook", { method: "POST", ...signed });
  assertRejected(webhook, "payments_not_configured");
  assert.equal((await bare.manage(wallet.management, "GET", path)).status, 200);
});

test("no log or response contains a secret", async (t) => {
  const wallet = await createWallet();
  const wrong = await fixture.startServer({ PENNYBLACK_STRIPE_SECRET_KEY: "sk_test_wrong_but_secret" }, t);
  const headers = { "idempotency-key": "1" };
  const reply = await wrong.manage(wallet.management, "POST", path, { amount: "20.00" }, headers);
  assertRejected(reply, "payment_processor_unavailable");
  await wrong.close();
  for (const text of [reply.text, wrong.logged(), server.logged()]) {
    for (const secret of ["sk_test_", "whsec_", wallet.management]) assert.ok(!text.includes(secret), secret);
  }
});

test("the books balance after all of it", () => fixture.assertBooksBalance());
