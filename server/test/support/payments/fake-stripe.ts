import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Stripe } from "stripe";
import { listen } from "../services/listen.ts";

// A stub of Stripe, because the emulator has no refunds, disputes, declines or idempotency keys. It is an HTTP server that
// implements as much of the API as the real SDK needs, and it keeps state. Fields and events are named as in
// https://docs.stripe.com/api.

export interface FakePayment {
  id: string;
  amount: number;
  currency: string;
  status: string;
  metadata: Record<string, string>;
  customer: string | null;
  created: number;
  /** The decline code. */
  failure: string | undefined;
}

interface FakeRefund {
  id: string;
  payment: string;
  amount: number;
  status: string;
  created: number;
}

type Json = Record<string, unknown>;
type Session = Json & { id: string; metadata: Record<string, string> };
type Answer = { status: number; body: Json };

export const fakeKey = "sk_test_fake_key_of_a_fake_stripe";

const newId = (prefix: string): string => `${prefix}_${randomBytes(12).toString("hex")}`;
const seconds = (): number => Math.floor(Date.now() / 1_000);
const missing: Answer = { status: 404, body: { error: { type: "invalid_request_error", code: "resource_missing" } } };
const ok = (body: Json | undefined): Answer => (body ? { status: 200, body } : missing);

const signer = new Stripe(fakeKey);

/** Signs an event as Stripe would, with the current time. */
export function signEvent(event: unknown, secret: string): { body: string; headers: Record<string, string> } {
  const body = JSON.stringify(event);
  const signature = signer.webhooks.generateTestHeaderString({ payload: body, secret });
  return { body, headers: { "content-type": "application/json; charset=utf-8", "stripe-signature": signature } };
}

export async function startFakeStripe(): Promise<FakeStripe> {
  const stripe = new FakeStripe();
  await stripe.listen();
  return stripe;
}

export class FakeStripe {
  url = "";
  close: () => Promise<void> = async () => undefined;
  /** All events so far, oldest first. */
  readonly events: Json[] = [];
  readonly payments = new Map<string, FakePayment>();
  /** Saved cards by customer. */
  readonly cards = new Map<string, string[]>();
  /** Decline code for the next charges of saved cards, if they are to be declined. */
  decline: string | undefined;
  /** Status with which a request for a single object fails, by the id of the object. */
  readonly broken = new Map<string, number>();
  /** While set, every request returns 500. */
  isDown = false;
  /** While set, a card is charged and the connection is closed without a response. */
  isMute = false;
  /** Number of charges made. Retries with the same idempotency key are not counted. */
  charges = 0;

  readonly #sessions = new Map<string, Session>();
  readonly #refunds = new Map<string, FakeRefund>();
  readonly #disputes = new Map<string, FakeRefund>();
  readonly #answered = new Map<string, Answer>();
  readonly #server: Server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });

  async listen(): Promise<void> {
    ({ url: this.url, close: this.close } = await listen(this.#server));
  }

  /** Pays on the checkout page of a top-up. */
  payCheckout(checkoutUrl: string): FakePayment {
    const session = this.#sessionAt(checkoutUrl);
    const customer = String(session["customer"]);
    const payment = this.#makePayment(Number(session["amount_total"]), session.metadata, { customer });
    if (session["saves_card"]) this.cards.set(customer, [newId("pm")]);
    Object.assign(session, { status: "complete", payment_status: "paid", payment_intent: payment.id });
    this.#emitPayment(payment);
    this.#emit("checkout.session.completed", session);
    return payment;
  }

  /** Starts a payment that takes days, such as a bank debit. It emits no event. */
  startPayment(checkoutUrl: string): FakePayment {
    const session = this.#sessionAt(checkoutUrl);
    const payment = this.#makePayment(Number(session["amount_total"]), session.metadata, { status: "processing" });
    Object.assign(session, { status: "complete", payment_status: "unpaid", payment_intent: payment.id });
    return payment;
  }

  expireCheckout(checkoutUrl: string): void {
    this.#emit("checkout.session.expired", Object.assign(this.#sessionAt(checkoutUrl), { status: "expired" }));
  }

  refund(paymentId: string, cents: number): string {
    const refund = { id: newId("re"), payment: paymentId, amount: cents, status: "succeeded", created: seconds() };
    this.#refunds.set(refund.id, refund);
    this.#emit("refund.created", toRefund(refund));
    this.#emit("charge.refunded", { ...toCharge(this.payments.get(paymentId)), amount_refunded: cents });
    return refund.id;
  }

  failRefund(refundId: string): void {
    const refund = this.#refunds.get(refundId);
    if (refund) this.#emit("refund.failed", toRefund(Object.assign(refund, { status: "failed" })));
  }

  dispute(paymentId: string, cents: number): string {
    const id = newId("dp");
    const dispute = { id, payment: paymentId, amount: cents, status: "needs_response", created: seconds() };
    this.#disputes.set(id, dispute);
    this.#emit("charge.dispute.created", toRefund(dispute));
    this.#emit("charge.dispute.funds_withdrawn", toRefund(dispute));
    return id;
  }

  closeDispute(disputeId: string, status: "won" | "lost"): void {
    const dispute = this.#disputes.get(disputeId);
    if (!dispute) throw new Error("there is no such dispute");
    this.#emit("charge.dispute.closed", toRefund(Object.assign(dispute, { status })));
    if (status === "won") this.#emit("charge.dispute.funds_reinstated", toRefund(dispute));
  }

  /** A payment without a checkout, with any metadata, for payments that must not be credited. */
  forgePayment(cents: number, metadata: Record<string, string>, currency = "usd"): FakePayment {
    const payment = this.#makePayment(cents, metadata, { currency });
    this.#emitPayment(payment);
    return payment;
  }

  #sessionAt(checkoutUrl: string): Session {
    const session = this.#sessions.get(checkoutUrl.split("/").at(-1) ?? "");
    if (!session) throw new Error("there is no such checkout");
    return session;
  }

  #makePayment(amount: number, metadata: Record<string, string>, more: Partial<FakePayment>): FakePayment {
    const defaults = { currency: "usd", status: "succeeded", customer: null, failure: undefined };
    const payment: FakePayment = { id: newId("pi"), amount, metadata, created: seconds(), ...defaults, ...more };
    this.payments.set(payment.id, payment);
    return payment;
  }

  /** Emits two events for one payment; a checkout adds a third. */
  #emitPayment(payment: FakePayment): void {
    this.#emit("payment_intent.succeeded", toPaymentIntent(payment, false));
    this.#emit("charge.succeeded", toCharge(payment));
  }

  #emit(type: string, object: Json): void {
    const event = { id: newId("evt"), object: "event", type, created: seconds(), data: { object } };
    this.events.push(structuredClone(event));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    const method = request.method ?? "";
    let text = "";
    for await (const chunk of request as AsyncIterable<Buffer>) text += chunk.toString();
    const input = method === "GET" ? url.searchParams : new URLSearchParams(text);
    const key = request.headers["idempotency-key"];
    const name = key === undefined ? undefined : `${url.pathname} ${String(key)}`;
    const isKnown = request.headers.authorization === `Bearer ${fakeKey}`;
    const reply =
      this.#refuse(isKnown, url.pathname) ??
      this.#answered.get(name ?? "") ??
      this.#answer(method, url.pathname, input);
    if (name !== undefined && reply.status < 500) this.#answered.set(name, reply);
    if (this.isMute && `${method} ${url.pathname}` === "POST /v1/payment_intents") return void response.destroy();
    response.writeHead(reply.status, { "content-type": "application/json" }).end(JSON.stringify(reply.body));
  }

  #refuse(isKnown: boolean, path: string): Answer | undefined {
    const status = this.broken.get(path.split("/").at(-1) ?? "");
    if (status === 404) return missing;
    if (status !== undefined) return { status, body: { error: { type: "api_error" } } };
    if (this.isDown) return { status: 500, body: { error: { type: "api_error" } } };
    return isKnown ? undefined : { status: 401, body: { error: { type: "invalid_request_error" } } };
  }

  #answer(method: string, path: string, input: URLSearchParams): Answer {
    const [noun = "", id = "", ...rest] = path.replace(/^\/v1\//, "").split("/");
    const payments = (): Json[] => [...this.payments.values()].map((payment) => toPaymentIntent(payment, true));
    switch (`${method} ${noun === "checkout" ? path.split("/").slice(2, 4).join("/") : noun}`) {
      case "POST customers":
        return ok({ id: newId("cus"), object: "customer" });
      case "GET customers":
        return ok(list((this.cards.get(id) ?? []).map((card) => ({ id: card }))));
      case "POST payment_methods":
        for (const cards of this.cards.values()) if (cards[0] === id) cards.length = 0;
        return ok({ id });
      case "POST checkout/sessions":
        return ok(this.#createSession(input));
      case "GET checkout/sessions":
        return ok(this.#sessions.get(rest[0] ?? ""));
      case "POST payment_intents":
        return this.#createCharge(input);
      case "GET payment_intents":
        return ok(id === "" ? list(payments(), input) : payments().find((payment) => payment["id"] === id));
      case "GET refunds":
      case "GET disputes": {
        const known = noun === "refunds" ? this.#refunds : this.#disputes;
        const one = known.get(id);
        return id === "" ? ok(list([...known.values()].map(toRefund), input)) : ok(one && toRefund(one));
      }
      default:
        return missing;
    }
  }

  #createSession(form: URLSearchParams): Session {
    const id = newId("cs");
    const session = {
      id,
      object: "checkout.session",
      status: "open",
      payment_status: "unpaid",
      amount_total: Number(form.get("line_items[0][price_data][unit_amount]")),
      currency: "usd",
      customer: form.get("customer"),
      metadata: readMetadata(form),
      payment_intent: null,
      url: `https://checkout.test/${id}`,
      created: seconds(),
      expires_at: seconds() + 86_400,
      saves_card: form.get("payment_intent_data[setup_future_usage]") === "off_session",
    };
    this.#sessions.set(id, session);
    return session;
  }

  #createCharge(form: URLSearchParams): Answer {
    this.charges += 1;
    const customer = form.get("customer");
    const declined = { status: "requires_payment_method", failure: this.decline };
    const more = { customer, ...(this.decline !== undefined && declined) };
    const payment = this.#makePayment(Number(form.get("amount")), readMetadata(form), more);
    if (this.decline === undefined) {
      this.#emitPayment(payment);
      return ok(toPaymentIntent(payment, true));
    }
    this.#emit("payment_intent.payment_failed", toPaymentIntent(payment, false));
    const error = { type: "card_error", code: "card_declined", decline_code: this.decline, message: "No." };
    return { status: 402, body: { error: { ...error, payment_intent: toPaymentIntent(payment, false) } } };
  }
}

function list(objects: Json[], query = new URLSearchParams()): Json {
  const since = Number(query.get("created[gte]") ?? 0);
  const newestFirst = objects.filter((object) => Number(object["created"] ?? since) >= since).toReversed();
  const after = query.get("starting_after");
  const from = after === null ? 0 : newestFirst.findIndex((object) => object["id"] === after) + 1;
  const limit = Number(query.get("limit") ?? 10);
  const hasMore = from + limit < newestFirst.length;
  return { object: "list", url: "/v1/list", data: newestFirst.slice(from, from + limit), has_more: hasMore };
}

function readMetadata(form: URLSearchParams): Record<string, string> {
  const entries = [...form].flatMap(([name, value]) => {
    const [, key] = /^metadata\[(\w+)\]$/.exec(name) ?? [];
    return key === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(entries);
}

function toPaymentIntent({ failure, ...payment }: FakePayment, isExpanded: boolean): Json {
  return {
    ...payment,
    object: "payment_intent",
    amount_received: payment.status === "succeeded" ? payment.amount : 0,
    latest_charge: isExpanded ? toCharge({ failure, ...payment }) : `ch_${payment.id}`,
    last_payment_error: failure === undefined ? null : { code: "card_declined", decline_code: failure },
  };
}

function toCharge(payment: FakePayment | undefined): Json {
  if (!payment) throw new Error("there is no such payment");
  const { id, amount, currency, metadata, created } = payment;
  const paid = payment.status === "succeeded";
  return {
    ...payment,
    id: `ch_${id}`,
    object: "charge",
    amount_captured: amount,
    currency,
    metadata,
    created,
    payment_intent: id,
    paid,
    status: paid ? "succeeded" : "failed",
    receipt_url: `https://receipts.test/${id}`,
  };
}

/** The fields that we read are the same for refunds and disputes. */
function toRefund({ payment, ...refund }: FakeRefund): Json {
  return { ...refund, payment_intent: payment, charge: `ch_${payment}`, currency: "usd" };
}
