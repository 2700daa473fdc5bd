import { randomUUID } from "node:crypto";
import { createStripe } from "../../../src/payments/stripe.ts";
import { createFixture, type Fixture } from "../../fixture.ts";
import { closeAfter } from "../close-after.ts";
import { replaceConstants } from "../replace-constants.ts";
import type { ManageRequest, Reply, TestWallet } from "../services/server.ts";
import { type FakeStripe, fakeKey, signEvent, startFakeStripe } from "./fake-stripe.ts";

export const webhookSecret = "whsec_test_secret_of_the_endpoint";

/** Settings of a server or worker that uses Stripe at this URL. */
export const stripeSettings = (url: string): Record<string, string> => ({
  PENNYBLACK_STRIPE_SECRET_KEY: fakeKey,
  ...replaceConstants({ stripeUrl: url }),
});

export const webhookSettings = (url: string): Record<string, string> => ({
  ...stripeSettings(url),
  PENNYBLACK_STRIPE_WEBHOOK_SECRET: `whsec_an_older_secret,${webhookSecret}`,
});

/** A fixture whose server takes payments through a Stripe stub. */
export interface PaymentFixture extends Fixture {
  stripe: FakeStripe;
  /** The client that the worker uses. */
  processor: ReturnType<typeof createStripe>;
  manage(wallet: TestWallet, ...request: ManageRequest): Promise<Reply>;
  balanceOf: (wallet: TestWallet) => Promise<string>;
  /** Opens a top-up and returns the body of the response. */
  openTopUp(wallet: TestWallet, amount: string): Promise<{ id: string; checkout_url: string }>;
  /** Delivers events, signed with the current time, and returns the outcome of each. */
  deliver(events: readonly unknown[]): Promise<string[]>;
  /** Delivers the events since the last call. */
  deliverNewEvents(): Promise<string[]>;
  /** A wallet with a paid top-up. */
  createPaidWallet(amount: string): Promise<TestWallet & { topUpId: string; paymentId: string }>;
}

export async function createPaymentFixture(settings: Record<string, string> = {}): Promise<PaymentFixture> {
  const stripe = closeAfter(await startFakeStripe());
  const base = await createFixture({ ...webhookSettings(stripe.url), ...settings });
  const { server } = base;
  let delivered = 0;

  const fixture: PaymentFixture = {
    ...base,
    stripe,
    processor: createStripe({ secretKey: fakeKey, webhookSecrets: [], url: stripe.url }),
    manage: (wallet, ...request) => server.manage(wallet.management, ...request),
    balanceOf: async (wallet) => (await server.readMoney(wallet.management)).balance,
    async openTopUp(wallet, amount) {
      const headers = { "idempotency-key": randomUUID() };
      const { status, body } = await fixture.manage(wallet, "POST", "/v1/wallet/top-ups", { amount }, headers);
      if (status !== 201) throw new Error(`The top-up returned ${status}: ${JSON.stringify(body)}`);
      return body;
    },
    async deliver(events) {
      const outcomes: string[] = [];
      for (const event of events) {
        const { status, body } = await server.request("/v1/payments/stripe/webhook", {
          method: "POST",
          ...signEvent(event, webhookSecret),
        });
        if (status !== 200) throw new Error(`The event returned ${status}: ${JSON.stringify(body)}`);
        outcomes.push(body.outcome);
      }
      return outcomes;
    },
    async deliverNewEvents() {
      const events = stripe.events.slice(delivered);
      delivered = stripe.events.length;
      return fixture.deliver(events);
    },
    async createPaidWallet(amount) {
      const wallet = await base.createWallet();
      const topUp = await fixture.openTopUp(wallet, amount);
      const payment = stripe.payCheckout(topUp.checkout_url);
      await fixture.deliverNewEvents();
      return { ...wallet, topUpId: topUp.id, paymentId: payment.id };
    },
  };
  return fixture;
}
