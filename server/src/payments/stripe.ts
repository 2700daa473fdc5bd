import { createHash } from "node:crypto";
import type { Stripe } from "stripe";
import type { Reversal } from "../wallet/wallet.ts";
import {
  BadSignature,
  type Charge,
  type ChargeWish,
  type Checkout,
  type CheckoutWish,
  type Payment,
  type PaymentEvent,
  type PaymentNews,
  type PaymentProcessor,
  ProcessorFailed,
} from "./payments.ts";
import { createStripeReader, readCharge, toCents, toPayment } from "./stripe-objects.ts";

// The only file that talks to Stripe, through its own SDK. Our ids travel as metadata of the payment, and every request
// that makes something bears an idempotency key made from them, so that asking twice makes it once.
// https://docs.stripe.com/api/idempotent_requests

export interface StripeSettings {
  secretKey: string;
  /** Any of them may sign: while a secret is replaced there are two. */
  webhookSecrets: readonly string[];
  /** Elsewhere than at Stripe: a proxy, or a stand-in for tests. */
  url?: string | undefined;
}

export function createStripe(settings: StripeSettings): PaymentProcessor {
  const load = createLoader(settings);

  async function ask<Answer>(request: (stripe: Stripe) => Promise<Answer>): Promise<Answer> {
    try {
      return await request(await load());
    } catch (error) {
      throw describeFailure(error);
    }
  }

  async function readPayment(paymentId: string): Promise<Payment | undefined> {
    const expand = ["latest_charge"];
    const found = await ask((stripe) =>
      stripe.paymentIntents.retrieve(paymentId, { expand }).catch((error: unknown) => {
        if (isMissing(error)) return undefined;
        throw error;
      }),
    );
    return found && toPayment(found);
  }

  const readObject = createStripeReader({
    readPayment,
    readSession: (id) => ask((stripe) => stripe.checkout.sessions.retrieve(id)),
  });

  return {
    name: "stripe",
    readPayment,

    readReversal: async (reversal) => readObject(reversal.kind, await ask((stripe) => findReversal(stripe, reversal))),

    async createCustomer(walletId) {
      const options = { idempotencyKey: `customer-${walletId}` };
      const customer = await ask((stripe) => stripe.customers.create({ metadata: { wallet_id: walletId } }, options));
      return named(customer);
    },

    async createCheckout(wanted): Promise<Checkout> {
      const session = await ask((stripe) =>
        stripe.checkout.sessions.create(describeCheckout(wanted), { idempotencyKey: `top-up-${wanted.topUpId}` }),
      );
      const { url, expires_at: end } = session;
      if (typeof url !== "string") throw new ProcessorFailed("stripe: the checkout has no address");
      return { id: named(session), url, expiresAt: typeof end === "number" ? new Date(end * 1_000) : null };
    },

    async chargeSavedCard(wanted): Promise<Charge> {
      const cards = await ask((stripe) => stripe.customers.listPaymentMethods(wanted.customerId, { limit: 1 }));
      const card = cards.data?.[0]?.id;
      if (card === undefined) return { outcome: "declined", reason: "no_card" };
      return ask((stripe) =>
        stripe.paymentIntents
          .create(describeCharge(wanted, card), { idempotencyKey: `auto-${wanted.topUpId}` })
          .then(readCharge, readDecline),
      );
    },

    async forgetCards(customerId) {
      await ask(async (stripe) => {
        for await (const card of stripe.customers.listPaymentMethods(customerId)) {
          await stripe.paymentMethods.detach(card.id);
        }
      });
    },

    async readWebhook({ body, signature }): Promise<PaymentEvent> {
      const event = verify(await load(), settings.webhookSecrets, body, signature);
      // Another version of a processor may leave the id out; the bytes name the event as well.
      const id = typeof event.id === "string" ? event.id : createHash("sha256").update(body).digest("hex");
      const type: string = event.type;
      const object = event.data?.object as unknown as Record<string, unknown> | undefined;
      const news: PaymentNews = object ? await readObject(type, object) : { about: "nothing" };
      return { id, type, news };
    },

    listNews: (since) => listNews(load, readObject, since),
  };
}

async function findReversal(stripe: Stripe, { id, kind }: Pick<Reversal, "id" | "kind">) {
  return kind === "refund" ? { ...(await stripe.refunds.retrieve(id)) } : { ...(await stripe.disputes.retrieve(id)) };
}

async function* listNews(
  load: () => Promise<Stripe>,
  readObject: ReturnType<typeof createStripeReader>,
  since: Date,
): AsyncGenerator<PaymentNews> {
  const all = { created: { gte: Math.floor(since.getTime() / 1_000) }, limit: 100 };
  const stripe = await load();
  try {
    for await (const intent of stripe.paymentIntents.list({ ...all, expand: ["data.latest_charge"] })) {
      const payment = toPayment(intent);
      if (payment) yield { about: "payment", payment };
    }
    for await (const refund of stripe.refunds.list(all)) yield await readObject("refund", { ...refund });
    for await (const dispute of stripe.disputes.list(all)) yield await readObject("dispute", { ...dispute });
  } catch (error) {
    throw describeFailure(error);
  }
}

/** The SDK takes a fifth of a second to load: only when payments are used, and once. */
function createLoader({ secretKey, url }: StripeSettings): () => Promise<Stripe> {
  let loaded: Promise<Stripe> | undefined;
  async function load(): Promise<Stripe> {
    const sdk = await import("stripe");
    const at = url === undefined ? undefined : new URL(url);
    const isPlain = at?.protocol === "http:";
    return new sdk.Stripe(secretKey, {
      maxNetworkRetries: 2,
      timeout: 10_000,
      telemetry: false,
      ...(at && { host: at.hostname, port: at.port || (isPlain ? 80 : 443), protocol: isPlain ? "http" : "https" }),
    });
  }
  return () => (loaded ??= load());
}

function describeCheckout(wanted: CheckoutWish): Stripe.Checkout.SessionCreateParams {
  const metadata = { wallet_id: wanted.walletId, top_up_id: wanted.topUpId };
  return {
    mode: "payment",
    customer: wanted.customerId,
    client_reference_id: wanted.walletId,
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: "usd",
          unit_amount: toCents(wanted.amount),
          product_data: { name: "Search wallet top-up" },
        },
      },
    ],
    // What is charged must be what was asked for, in the same currency.
    adaptive_pricing: { enabled: false },
    metadata,
    payment_intent_data: {
      metadata,
      description: "Search wallet top-up",
      ...(wanted.savesCard && { setup_future_usage: "off_session" as const }),
    },
    success_url: wanted.successUrl,
    cancel_url: wanted.cancelUrl,
  };
}

function describeCharge(wanted: ChargeWish, card: string): Stripe.PaymentIntentCreateParams {
  return {
    amount: toCents(wanted.amount),
    currency: "usd",
    customer: wanted.customerId,
    payment_method: card,
    confirm: true,
    off_session: true,
    description: "Search wallet automatic top-up",
    metadata: { wallet_id: wanted.walletId, top_up_id: wanted.topUpId },
    expand: ["latest_charge"],
  };
}

/** A refused card is an answer. Anything else is a failure to get one. */
function readDecline(error: unknown): Charge {
  if (!isStripeError(error) || error.rawType !== "card_error") throw error;
  const word = error.decline_code ?? error.code ?? "declined";
  return { outcome: "declined", reason: /^\w{1,64}$/.test(word) ? word : "declined" };
}

function verify(stripe: Stripe, secrets: readonly string[], body: Buffer, signature: string): Stripe.Event {
  for (const secret of secrets) {
    try {
      return stripe.webhooks.constructEvent(body, signature, secret);
    } catch {
      // Not signed with this one, or not JSON.
    }
  }
  throw new BadSignature("no secret of ours made this signature");
}

/** Stripe answers some mistakes with an empty object and success. */
function named(made: { id?: unknown }): string {
  if (typeof made.id !== "string" || made.id === "") throw new ProcessorFailed("stripe: the answer has no id");
  return made.id;
}

function isStripeError(error: unknown): error is Stripe.errors.StripeError {
  return error instanceof Error && "rawType" in error;
}

function isMissing(error: unknown): boolean {
  return isStripeError(error) && error.code === "resource_missing";
}

/** Its message and headers may repeat what was sent, keys included. These words cannot. */
function describeFailure(error: unknown): ProcessorFailed {
  if (error instanceof ProcessorFailed) return error;
  if (!isStripeError(error)) return new ProcessorFailed("stripe: could not be asked");
  const words = [error.type, error.code, error.statusCode, error.requestId].filter(Boolean).map(String);
  return new ProcessorFailed(`stripe: ${words.filter((word) => /^[\w.-]{1,64}$/.test(word)).join(" ")}`);
}
