import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { comparePayments } from "../../src/payments/compare-payments.ts";
import { createStripe } from "../../src/payments/stripe.ts";
import type { ProblemCode } from "../../src/problems/problems.ts";
import { formatReport, reconcile } from "../../src/wallet/wallet.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { fakeKey, signEvent } from "../support/payments/fake-stripe.ts";
import { openPaymentFixture, webhookSecret } from "../support/payments/payment-fixture.ts";
import { createTestWallet, type Reply, startTestServer, type TestWallet } from "../support/services/server.ts";

// An owner adds money: from the wish to the balance, and everything that may go wrong between them.

const fixture = await openPaymentFixture({ PENNYBLACK_TOP_UP_MIN: "5.00", PENNYBLACK_TOP_UP_MAX: "500.00" });
const { db, stripe, server } = fixture;
const processor = createStripe({ secretKey: fakeKey, webhookSecrets: [], url: stripe.url });

after(async () => {
  const report = await reconcile(db.owner);
  await fixture.close();
  assert.ok(report.isClean, formatReport(report));
});

const path = "/v1/wallet/top-ups";
const refused = (reply: Reply, code: ProblemCode) => assertProblem(reply, code, reply.body.instance);
const balanceOf = async (wallet: TestWallet): Promise<string> => (await server.readMoney(wallet.management)).balance;
const open = (wallet: TestWallet, body: unknown, key: string = randomUUID()) =>
  fixture.manage(wallet, "POST", path, body, { "idempotency-key": key });

async function notices(subject: string): Promise<string[]> {
  const { rows } = await db.owner.query<{ reason: string }>(
    "select reason from pb.payment_notices where subject = $1 order by reason",
    [subject],
  );
  return rows.map((row) => row.reason);
}

test("a top-up is opened, paid and credited once, however its payment is announced", async () => {
  const wallet = await createTestWallet(db, "0.00");
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
  assert.deepEqual(
    entries.body.entries.map((entry: { kind: string; amount: string }) => [entry.kind, entry.amount]),
    [["top_up", "20.00"]],
  );
});

test("the same key and body answer the same top-up, another body 422, and no key 400", async () => {
  const wallet = await createTestWallet(db, "0.00");
  const key = randomUUID();
  const asked = await Promise.all(Array.from({ length: 5 }, () => open(wallet, { amount: "20.00" }, key)));
  assert.deepEqual([...new Set(asked.map((reply) => reply.status))], [201]);
  assert.equal(new Set(asked.map((reply) => `${reply.body.id} ${reply.body.checkout_url}`)).size, 1);
  assert.equal(asked.filter((reply) => reply.headers.get("idempotent-replayed") === null).length, 1);
  refused(await open(wallet, { amount: "21.00" }, key), "idempotency_key_reused");
  refused(await fixture.manage(wallet, "POST", path, { amount: "20.00" }), "invalid_request");
  // The key is another one in another wallet.
  const other = await createTestWallet(db, "0.00");
  assert.notEqual((await open(other, { amount: "20.00" }, key)).body.id, asked[0]?.body.id);
});

for (const [name, body] of Object.entries({
  "less than the least": { amount: "4.99" },
  "more than the most": { amount: "500.01" },
  "a part of a cent": { amount: "20.001" },
  "a number": { amount: 20 },
  "a negative amount": { amount: "-20.00" },
  "plain http": { amount: "20.00", success_url: "http://shop.test" },
  "a page with a password": { amount: "20.00", cancel_url: "https://a:b@shop.test" },
  "an unknown field": { amount: "20.00", currency: "eur" },
})) {
  test(`${name} is refused and opens nothing`, async () => {
    const wallet = await createTestWallet(db, "0.00");
    refused(await open(wallet, body), "invalid_request");
    assert.deepEqual((await fixture.manage(wallet, "GET", path)).body, { top_ups: [], next_cursor: null });
  });
}

test("lists come newest first in pages, and another wallet's top-up is not found", async () => {
  const wallet = await createTestWallet(db, "0.00");
  const ids: string[] = [];
  for (let made = 0; made < 3; made += 1) ids.unshift((await fixture.openTopUp(wallet, "10.00")).id);
  const first = (await fixture.manage(wallet, "GET", `${path}?limit=2`)).body;
  const second = (await fixture.manage(wallet, "GET", `${path}?limit=2&cursor=${first.next_cursor}`)).body;
  assert.deepEqual(
    [...first.top_ups, ...second.top_ups].map((topUp: { id: string }) => topUp.id),
    ids,
  );
  assert.equal(second.next_cursor, null);
  const other = await createTestWallet(db, "0.00");
  refused(await fixture.manage(other, "GET", `${path}/${ids[0]}`), "not_found");
  refused(await fixture.manage(other, "GET", `${path}/nonsense`), "not_found");
  assert.deepEqual((await fixture.manage(other, "GET", `${path}?cursor=${first.next_cursor}`)).body.top_ups, []);
});

test("a processor that is away is 502, and the same key goes on where it stopped", async () => {
  const wallet = await createTestWallet(db, "0.00");
  const key = randomUUID();
  stripe.isDown = true;
  const away = await open(wallet, { amount: "20.00" }, key);
  stripe.isDown = false;
  refused(away, "payment_processor_unavailable");
  const opened = await open(wallet, { amount: "20.00" }, key);
  assert.equal(opened.status, 201);
  const { top_ups: topUps } = (await fixture.manage(wallet, "GET", path)).body;
  assert.deepEqual(
    topUps.map((topUp: { id: string }) => topUp.id),
    [opened.body.id],
  );
});

test("a 402 says how a program opens a top-up", async () => {
  const poor = await createTestWallet(db, "0.00");
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

test("a bad signature, an old one and a body that was touched are 400 and move nothing", async () => {
  const wallet = await createTestWallet(db, "0.00");
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
    refused(reply, "invalid_request");
  }
  assert.equal(await balanceOf(wallet), "0.00");
  // Signed with the secret that is being replaced, it counts.
  const older = signEvent(event, "whsec_an_older_secret");
  assert.equal((await server.request("/v1/payments/stripe/webhook", { method: "POST", ...older })).status, 200);
  assert.equal(await balanceOf(wallet), "20.00");
});

test("a message over 1 MiB is 413, and events that we do not use are accepted", async () => {
  const large = signEvent({ padding: "x".repeat(1_048_576) }, webhookSecret);
  const reply = await server.request("/v1/payments/stripe/webhook", { method: "POST", ...large });
  refused(reply, "payload_too_large");
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

test("a payment with the wrong amount, wallet, currency or top-up is credited to nobody and waits for a person", async () => {
  const [wallet, other] = [await createTestWallet(db, "0.00"), await createTestWallet(db, "0.00")];
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
  assert.deepEqual(await notices(forged.wrong_amount.id), ["wrong_amount"]);
  assert.deepEqual(await notices(forged.wrong_wallet.id), ["wrong_wallet"]);
  assert.deepEqual(await notices(forged.unknown_wallet.id), ["wrong_wallet"]);
  assert.deepEqual(await notices(forged.unknown_top_up.id), ["wrong_wallet"]);
  assert.deepEqual(await notices(forged.other_currency.id), ["wrong_amount"]);
  assert.deepEqual([await balanceOf(wallet), await balanceOf(other)], ["0.00", "0.00"]);

  // The true payment still counts; a second one for the same top-up does not.
  stripe.forgePayment(2_000, ours);
  const second = stripe.forgePayment(2_000, ours);
  assert.deepEqual(await fixture.deliverNewEvents(), ["credited", "repeated", "conflicting", "conflicting"]);
  assert.deepEqual(await notices(second.id), ["second_payment"]);
  assert.equal(await balanceOf(wallet), "20.00");
});

test("a checkout that ends unpaid is expired, and a payment that was on its way still wins", async () => {
  const wallet = await createTestWallet(db, "0.00");
  const topUp = await fixture.openTopUp(wallet, "20.00");
  stripe.expireCheckout(topUp.checkout_url);
  assert.deepEqual(await fixture.deliverNewEvents(), ["expired"]);
  assert.equal((await fixture.manage(wallet, "GET", `${path}/${topUp.id}`)).body.status, "expired");
  stripe.payCheckout(topUp.checkout_url);
  await fixture.deliverNewEvents();
  assert.equal((await fixture.manage(wallet, "GET", `${path}/${topUp.id}`)).body.status, "succeeded");
  assert.equal(await balanceOf(wallet), "20.00");
});

test("lost webhooks are harmless: the comparison credits what was paid and reports what was not", async () => {
  const wallet = await createTestWallet(db, "0.00");
  for (let made = 0; made < 3; made += 1) stripe.payCheckout((await fixture.openTopUp(wallet, "10.00")).checkout_url);
  const found = await comparePayments(db.owner, processor);
  assert.equal(found.creditedNow, 3);
  assert.deepEqual(found.unpaid, []);
  assert.equal(await balanceOf(wallet), "30.00");
  assert.deepEqual(new Set(await fixture.deliverNewEvents()), new Set(["repeated"]));

  // A payment that the processor takes for unpaid after all.
  const { topUpId, paymentId } = await fixture.createPaidWallet("10.00");
  const payment = stripe.payments.get(paymentId);
  assert.ok(payment);
  payment.status = "requires_payment_method";
  const second = await comparePayments(db.owner, processor);
  assert.equal(second.creditedNow, 0);
  assert.deepEqual(second.unpaid, [paymentId]);
  assert.deepEqual(await notices(paymentId), ["not_paid_there"]);
  await comparePayments(db.owner, processor);
  assert.deepEqual(await notices(paymentId), ["not_paid_there"], "told once");
  payment.status = "succeeded";
  assert.ok(topUpId);
});

test("without payments the addresses answer 503, and reading still works", async () => {
  const bare = await startTestServer(db);
  const wallet = await createTestWallet(db, "0.00");
  const headers = { "x-api-key": wallet.management, "idempotency-key": "1", "content-type": "application/json" };
  const body = JSON.stringify({ amount: "20.00" });
  refused(await bare.request(path, { method: "POST", headers, body }), "payments_not_configured");
  const signed = signEvent({ id: "evt", type: "price.created" }, webhookSecret);
  const webhook = await bare.request("/v1/payments/stripe/webhook", { method: "POST", ...signed });
  refused(webhook, "payments_not_configured");
  assert.equal((await bare.request(path, { headers })).status, 200);
  await bare.close();
});

test("no secret is in a log or an answer", async () => {
  const wallet = await createTestWallet(db, "0.00");
  const wrong = await startTestServer(db, {
    PENNYBLACK_STRIPE_SECRET_KEY: "sk_test_wrong_but_secret",
    PENNYBLACK_STRIPE_URL: stripe.url,
    PENNYBLACK_STRIPE_WEBHOOK_SECRET: webhookSecret,
  });
  const headers = { "x-api-key": wallet.management, "idempotency-key": "1", "content-type": "application/json" };
  const reply = await wrong.request(path, { method: "POST", headers, body: JSON.stringify({ amount: "20.00" }) });
  refused(reply, "payment_processor_unavailable");
  await wrong.close();
  for (const text of [reply.text, wrong.logged(), server.logged()]) {
    for (const secret of ["sk_test_", "whsec_", wallet.management]) assert.ok(!text.includes(secret), secret);
  }
});
