import { randomUUID } from "node:crypto";
import { createTestDatabase, type TestDatabase } from "../services/database.ts";
import { createTestWallet, type Reply, startTestServer, type TestServer, type TestWallet } from "../services/server.ts";
import { type FakeStripe, fakeKey, signEvent, startFakeStripe } from "./fake-stripe.ts";

export const webhookSecret = "whsec_test_secret_of_the_endpoint";

/** The settings of a server or worker whose Stripe is at this address. */
export const stripeSettings = (url: string): Record<string, string> => ({
  PENNYBLACK_STRIPE_SECRET_KEY: fakeKey,
  PENNYBLACK_STRIPE_URL: url,
});

export const webhookSettings = (url: string): Record<string, string> => ({
  ...stripeSettings(url),
  PENNYBLACK_STRIPE_WEBHOOK_SECRET: `whsec_an_older_secret,${webhookSecret}`,
});

/** A server with payments, beside a Stripe that does as it is told. */
export interface PaymentFixture {
  db: TestDatabase;
  stripe: FakeStripe;
  server: TestServer;
  manage(
    wallet: TestWallet,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply>;
  /** Opens a top-up; its body is the answer. */
  openTopUp(wallet: TestWallet, amount: string): Promise<{ id: string; checkout_url: string }>;
  /** Delivers events, signed as of now; says what became of each. */
  deliver(events: readonly unknown[]): Promise<string[]>;
  /** Delivers what happened since the last time. */
  deliverNewEvents(): Promise<string[]>;
  /** A wallet that has been topped up and knows it. */
  createPaidWallet(amount: string): Promise<TestWallet & { topUpId: string; paymentId: string }>;
  close(): Promise<void>;
}

export async function openPaymentFixture(settings: Record<string, string> = {}): Promise<PaymentFixture> {
  const db = await createTestDatabase();
  const stripe = await startFakeStripe();
  const server = await startTestServer(db, { ...webhookSettings(stripe.url), ...settings });
  let delivered = 0;

  const fixture: PaymentFixture = {
    db,
    stripe,
    server,
    manage: (wallet, method, path, body, headers = {}) =>
      server.request(path, {
        method,
        headers: {
          "x-api-key": wallet.management,
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    async openTopUp(wallet, amount) {
      const headers = { "idempotency-key": randomUUID() };
      const { status, body } = await fixture.manage(wallet, "POST", "/v1/wallet/top-ups", { amount }, headers);
      if (status !== 201) throw new Error(`The top-up was answered ${status}: ${JSON.stringify(body)}`);
      return body;
    },
    async deliver(events) {
      const outcomes: string[] = [];
      for (const event of events) {
        const { status, body } = await server.request("/v1/payments/stripe/webhook", {
          method: "POST",
          ...signEvent(event, webhookSecret),
        });
        if (status !== 200) throw new Error(`An event was answered ${status}: ${JSON.stringify(body)}`);
        outcomes.push(body.outcome);
      }
      return outcomes;
    },
    async deliverNewEvents() {
      const news = stripe.events.slice(delivered);
      delivered = stripe.events.length;
      return fixture.deliver(news);
    },
    async createPaidWallet(amount) {
      const wallet = await createTestWallet(db, "0.00");
      const topUp = await fixture.openTopUp(wallet, amount);
      const payment = stripe.payCheckout(topUp.checkout_url);
      await fixture.deliverNewEvents();
      return { ...wallet, topUpId: topUp.id, paymentId: payment.id };
    },
    async close() {
      await server.close();
      await stripe.close();
      await db.drop();
    },
  };
  return fixture;
}
