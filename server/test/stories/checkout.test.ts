import assert from "node:assert/strict";
import { after, test } from "node:test";
import { formatReport, reconcile } from "../../src/wallet/wallet.ts";
import { startEmulatedStripe } from "../support/payments/emulated-stripe.ts";
import { webhookSecret, webhookSettings } from "../support/payments/payment-fixture.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer } from "../support/services/server.ts";

// The whole way through a Stripe that others wrote, with Stripe's own SDK: wish, page, payment, signed webhook, balance.

const db = await createTestDatabase();
const stripe = await startEmulatedStripe();
const server = await startTestServer(db, webhookSettings(stripe.url));
await stripe.announceTo(`${server.url}/v1/payments/stripe/webhook`, webhookSecret);

after(async () => {
  await server.close();
  await stripe.close();
  await db.drop();
});

test("an owner tops up through the emulator and searches with the money", async () => {
  const wallet = await createTestWallet(db, "0.00");
  const headers = { "x-api-key": wallet.management, "content-type": "application/json", "idempotency-key": "first" };
  const body = JSON.stringify({ amount: "20.00", success_url: "https://shop.test/done" });
  const opened = await server.request("/v1/wallet/top-ups", { method: "POST", headers, body });
  assert.equal(opened.status, 201, opened.text);
  assert.equal(opened.body.status, "pending");
  const page = await (await fetch(opened.body.checkout_url)).text();
  assert.match(page, /Search wallet top-up/);
  assert.match(page, /20\.00/);

  await stripe.pay(opened.body.checkout_url);
  const paid = await server.request(`/v1/wallet/top-ups/${opened.body.id}`, { headers });
  assert.equal(paid.body.status, "succeeded");
  assert.equal((await server.readMoney(wallet.management)).balance, "20.00");

  // The page is spent: pressing the button again pays nothing.
  await stripe.pay(opened.body.checkout_url);
  assert.equal((await server.readMoney(wallet.management)).balance, "20.00");
  const report = await reconcile(db.owner);
  assert.ok(report.isClean, formatReport(report));
});
