import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { closeAfter } from "../support/close-after.ts";
import { startEmulatedStripe } from "../support/payments/emulated-stripe.ts";
import { webhookSecret, webhookSettings } from "../support/payments/payment-fixture.ts";

// A complete top-up with a third-party Stripe emulator and Stripe's SDK: request, page, payment, signed webhook, balance.

const stripe = closeAfter(await startEmulatedStripe());
const { server, createWallet, assertBooksBalance } = await createFixture(webhookSettings(stripe.url));
await stripe.sendEventsTo(`${server.url}/v1/payments/stripe/webhook`, webhookSecret);

test("a top-up through the emulator is credited once", async () => {
  const wallet = await createWallet("0.00");
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

  // The session is complete, so a second click pays nothing.
  await stripe.pay(opened.body.checkout_url);
  assert.equal((await server.readMoney(wallet.management)).balance, "20.00");
  await assertBooksBalance();
});
