import { createHash } from "node:crypto";
import type { Stripe } from "stripe";
import type { OpenCheckout, Reversal } from "../wallet/wallet.ts";
import {
  BadSignature,
  type Charge,
  type ChargeRequest,
  type Checkout,
  type CheckoutRequest,
  type Payment,
  type PaymentEvent,
  type PaymentProcessor,
  type PaymentUpdate,
  ProcessorFailed,
  type Unreadable,
} from "./payments.ts";
import { createStripeReader, idOf, readCharge, toCents, toPayment } from "./stripe-objects.ts";
import { isPlausibleSignature } from "./stripe-signature.ts";

// The only file that calls Stripe, through its SDK. Our ids are stored in the payment's metadata, and every request that
// creates something has an idempotency key derived from them. https://docs.stripe.com/api/idempotent_requests

export interface StripeSettings {
  secretKey: string;
  /** Any of them is accepted. There are two while a secret is being rotated. */
  webhookSecrets: readonly string[];
  url: string;
}

export function createStripe(settings: StripeSettings): PaymentProcessor {
  const load = createLoader(settings);

  async function call<Answer>(request: (stripe: Stripe) => Promise<Answer>): Promise<Answer> {
    try {
      return await request(await load());
    } catch (error) {
      throw describeFailure(error);
    }
  }

  async function readPayment(paymentId: string): Promise<Payment | undefined> {
    const options = { expand: ["latest_charge"] };
    const found = await call((stripe) => unlessMissing(stripe.paymentIntents.retrieve(paymentId, options)));
    return found && toPayment(found);
  }

  const readObject = createStripeReader({
    readPayment,
    readSession: (id) => call((stripe) => stripe.checkout.sessions.retrieve(id)),
  });

  return {
    name: "stripe",
    readPayment,

    async readCheckout(checkout) {
      const session = await call((stripe) => unlessMissing(stripe.checkout.sessions.retrieve(checkout.checkoutId)));
      return describeEnd(checkout, session, readPayment);
    },

    readReversal: async (reversal) => readObject(reversal.kind, await call((stripe) => findReversal(stripe, reversal))),

    async createCustomer(walletId) {
      const options = { idempotencyKey: `customer-${walletId}` };
      const customer = await call((stripe) => stripe.customers.create({ metadata: { wallet_id: walletId } }, options));
      return requireId(customer);
    },

    async createCheckout(request): Promise<Checkout> {
      const session = await call((stripe) =>
        stripe.checkout.sessions.create(describeCheckout(request), { idempotencyKey: `top-up-${request.topUpId}` }),
      );
      const { url, expires_at: end } = session;
      if (typeof url !== "string") throw new ProcessorFailed("stripe: checkout session without url");
      return { id: requireId(session), url, expiresAt: typeof end === "number" ? new Date(end * 1_000) : null };
    },

    async chargeSavedCard(request): Promise<Charge> {
      const cards = await call((stripe) => stripe.customers.listPaymentMethods(request.customerId, { limit: 1 }));
      const card = cards.data?.[0]?.id;
      if (card === undefined) return { outcome: "declined", reason: "no_card" };
      return call((stripe) =>
        stripe.paymentIntents
          .create(describeCharge(request, card), { idempotencyKey: `auto-${request.topUpId}` })
          .then(readCharge, readDecline),
      );
    },

    async detachCards(customerId) {
      await call(async (stripe) => {
        for await (const card of stripe.customers.listPaymentMethods(customerId)) {
          await stripe.paymentMethods.detach(card.id);
        }
      });
    },

    isPlausibleSignature: (signature) => isPlausibleSignature(signature, Date.now()),

    async readWebhook({ body, signature }): Promise<PaymentEvent> {
      const event = verify(await load(), settings.webhookSecrets, body, signature);
      // Without an id, the hash of the body identifies the event.
      const id = typeof event.id === "string" ? event.id : createHash("sha256").update(body).digest("hex");
      const type: string = event.type;
      const object = event.data?.object as unknown as Record<string, unknown> | undefined;
      const update: PaymentUpdate = object ? await readObject(type, object) : { about: "nothing" };
      return { id, type, update };
    },

    listUpdates: (since) => listUpdates(load, readObject, since),
  };
}

function unlessMissing<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  return answer.catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
}

async function describeEnd(
  { topUpId, walletId }: OpenCheckout,
  session: Stripe.Checkout.Session | undefined,
  readPayment: (paymentId: string) => Promise<Payment | undefined>,
): Promise<PaymentUpdate> {
  const ended = { about: "top-up", topUpId, walletId } as const;
  if (!session || session.status === "expired") return { ...ended, status: "expired" };
  const paymentId = idOf(session.payment_intent);
  const payment = paymentId === undefined ? undefined : await readPayment(paymentId);
  // Only a complete checkout cannot be paid with another card.
  if (session.status === "complete" && payment?.status === "failed") return { ...ended, status: "failed" };
  return payment ? { about: "payment", payment } : { about: "nothing" };
}

async function findReversal(stripe: Stripe, { id, kind }: Pick<Reversal, "id" | "kind">) {
  return kind === "refund" ? { ...(await stripe.refunds.retrieve(id)) } : { ...(await stripe.disputes.retrieve(id)) };
}

async function* listUpdates(
  load: () => Promise<Stripe>,
  readObject: ReturnType<typeof createStripeReader>,
  since: Date,
): AsyncGenerator<PaymentUpdate | Unreadable> {
  const read = (type: Reversal["kind"], object: { id: string }): Promise<PaymentUpdate | Unreadable> =>
    readObject(type, { ...object }).catch((cause: unknown) => ({ about: "unreadable", id: object.id, cause }));
  const query = { created: { gte: Math.floor(since.getTime() / 1_000) }, limit: 100 };
  const stripe = await load();
  try {
    for await (const intent of stripe.paymentIntents.list({ ...query, expand: ["data.latest_charge"] })) {
      const payment = toPayment(intent);
      if (payment) yield { about: "payment", payment };
    }
    for await (const refund of stripe.refunds.list(query)) yield await read("refund", refund);
    for await (const dispute of stripe.disputes.list(query)) yield await read("dispute", dispute);
  } catch (error) {
    throw describeFailure(error);
  }
}

/** Loads the SDK on first use, because that takes 200 ms. */
function createLoader({ secretKey, url }: StripeSettings): () => Promise<Stripe> {
  let loaded: Promise<Stripe> | undefined;
  async function load(): Promise<Stripe> {
    const sdk = await import("stripe");
    const { protocol, hostname: host, port } = new URL(url);
    const isPlain = protocol === "http:";
    return new sdk.Stripe(secretKey, {
      maxNetworkRetries: 2,
      timeout: 10_000,
      telemetry: false,
      host,
      port: port || (isPlain ? 80 : 443),
      protocol: isPlain ? "http" : "https",
    });
  }
  return () => (loaded ??= load());
}

function describeCheckout(request: CheckoutRequest): Stripe.Checkout.SessionCreateParams {
  const metadata = { wallet_id: request.walletId, top_up_id: request.topUpId };
  return {
    mode: "payment",
    customer: request.customerId,
    client_reference_id: request.walletId,
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: "usd",
          unit_amount: toCents(request.amount),
          product_data: { name: "Search wallet top-up" },
        },
      },
    ],
    // The amount and currency charged must be those of the top-up.
    adaptive_pricing: { enabled: false },
    metadata,
    payment_intent_data: {
      metadata,
      description: "Search wallet top-up",
      ...(request.savesCard && { setup_future_usage: "off_session" as const }),
    },
    success_url: request.successUrl,
    cancel_url: request.cancelUrl,
  };
}

function describeCharge(request: ChargeRequest, card: string): Stripe.PaymentIntentCreateParams {
  return {
    amount: toCents(request.amount),
    currency: "usd",
    customer: request.customerId,
    payment_method: card,
    confirm: true,
    off_session: true,
    description: "Search wallet automatic top-up",
    metadata: { wallet_id: request.walletId, top_up_id: request.topUpId },
    expand: ["latest_charge"],
  };
}

/** A card error is a decline. Any other error is rethrown. */
function readDecline(error: unknown): Charge {
  if (!isStripeError(error) || error.rawType !== "card_error") throw error;
  const code = error.decline_code ?? error.code ?? "declined";
  return { outcome: "declined", reason: /^\w{1,64}$/.test(code) ? code : "declined" };
}

function verify(stripe: Stripe, secrets: readonly string[], body: Buffer, signature: string): Stripe.Event {
  for (const secret of secrets) {
    try {
      return stripe.webhooks.constructEvent(body, signature, secret);
    } catch {
      // Signed with another secret, or not JSON.
    }
  }
  throw new BadSignature("signature matches none of the webhook secrets");
}

/** Stripe answers some invalid requests with success and an empty object. */
function requireId(made: { id?: unknown }): string {
  if (typeof made.id !== "string" || made.id === "") throw new ProcessorFailed("stripe: response without id");
  return made.id;
}

function isStripeError(error: unknown): error is Stripe.errors.StripeError {
  return error instanceof Error && "rawType" in error;
}

function isMissing(error: unknown): boolean {
  return isStripeError(error) && error.code === "resource_missing";
}

/** Keeps only codes and ids: the SDK's message and headers can contain request data, including keys. */
function describeFailure(error: unknown): ProcessorFailed {
  if (error instanceof ProcessorFailed) return error;
  if (!isStripeError(error)) return new ProcessorFailed("stripe: request failed");
  const { statusCode: status = 0 } = error;
  const codes = [error.type, error.code, status, error.requestId].filter(Boolean).map(String);
  // Without a status, Stripe was not reached.
  const isUnavailable = status === 0 || status >= 500 || [401, 403, 429].includes(status);
  return new ProcessorFailed(`stripe: ${codes.filter((code) => /^[\w.-]{1,64}$/.test(code)).join(" ")}`, isUnavailable);
}
