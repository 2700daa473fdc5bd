import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Stripe } from "stripe";

// A stand-in for Stripe, because the emulator knows no refunds, disputes, declines or idempotency keys. It is a real HTTP
// server that speaks just enough for the real SDK, and it keeps state: what it answers follows from what was done to it.
// Fields and events are named as in https://docs.stripe.com/api.

export interface FakePayment {
  id: string;
  amount: number;
  currency: string;
  status: string;
  metadata: Record<string, string>;
  customer: string | null;
  created: number;
  /** The word it was declined with. */
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

/** Signs an event as Stripe would, at this moment. */
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
  /** Every event so far, in the order in which they happened. */
  readonly events: Json[] = [];
  readonly payments = new Map<string, FakePayment>();
  /** What each customer has saved. */
  readonly cards = new Map<string, string[]>();
  /** The word that the next charges of saved cards are declined with, or nothing. */
  decline: string | undefined;
  /** Every request is answered 500 while it is set. */
  isDown = false;
  /** Set, a card is charged and the answer is not sent: the asker cannot know what became of its request. */
  isMute = false;
  /** How many payments its API made. Those asked for again with the same key are made once. */
  charges = 0;

  readonly #sessions = new Map<string, Session>();
  readonly #refunds = new Map<string, FakeRefund>();
  readonly #disputes = new Map<string, FakeRefund>();
  readonly #answered = new Map<string, Answer>();
  readonly #server: Server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** The owner pays on the page of a top-up. */
  payCheckout(checkoutUrl: string): FakePayment {
    const session = this.#sessionAt(checkoutUrl);
    const customer = String(session["customer"]);
    const payment = this.#makePayment(Number(session["amount_total"]), session.metadata, { customer });
    if (session["saves_card"]) this.cards.set(customer, [newId("pm")]);
    Object.assign(session, { status: "complete", payment_status: "paid", payment_intent: payment.id });
    this.#announce(payment);
    this.#say("checkout.session.completed", session);
    return payment;
  }

  expireCheckout(checkoutUrl: string): void {
    this.#say("checkout.session.expired", Object.assign(this.#sessionAt(checkoutUrl), { status: "expired" }));
  }

  refund(paymentId: string, cents: number): string {
    const refund = { id: newId("re"), payment: paymentId, amount: cents, status: "succeeded", created: seconds() };
    this.#refunds.set(refund.id, refund);
    this.#say("refund.created", showRefund(refund));
    this.#say("charge.refunded", { ...showCharge(this.payments.get(paymentId)), amount_refunded: cents });
    return refund.id;
  }

  failRefund(refundId: string): void {
    const refund = this.#refunds.get(refundId);
    if (refund) this.#say("refund.failed", showRefund(Object.assign(refund, { status: "failed" })));
  }

  dispute(paymentId: string, cents: number): string {
    const id = newId("dp");
    const dispute = { id, payment: paymentId, amount: cents, status: "needs_response", created: seconds() };
    this.#disputes.set(id, dispute);
    this.#say("charge.dispute.created", showRefund(dispute));
    this.#say("charge.dispute.funds_withdrawn", showRefund(dispute));
    return id;
  }

  closeDispute(disputeId: string, status: "won" | "lost"): void {
    const dispute = this.#disputes.get(disputeId);
    if (!dispute) throw new Error("there is no such dispute");
    this.#say("charge.dispute.closed", showRefund(Object.assign(dispute, { status })));
    if (status === "won") this.#say("charge.dispute.funds_reinstated", showRefund(dispute));
  }

  /** A payment that came from nowhere, with whatever metadata: for what must not be credited. */
  forgePayment(cents: number, metadata: Record<string, string>, currency = "usd"): FakePayment {
    const payment = this.#makePayment(cents, metadata, { currency });
    this.#announce(payment);
    return payment;
  }

  #sessionAt(checkoutUrl: string): Session {
    const session = this.#sessions.get(checkoutUrl.split("/").at(-1) ?? "");
    if (!session) throw new Error("there is no such checkout");
    return session;
  }

  #makePayment(amount: number, metadata: Record<string, string>, more: Partial<FakePayment>): FakePayment {
    const usual = { currency: "usd", status: "succeeded", customer: null, failure: undefined };
    const payment: FakePayment = { id: newId("pi"), amount, metadata, created: seconds(), ...usual, ...more };
    this.payments.set(payment.id, payment);
    return payment;
  }

  /** One payment, told twice; a checkout tells it a third time. */
  #announce(payment: FakePayment): void {
    this.#say("payment_intent.succeeded", showPayment(payment, false));
    this.#say("charge.succeeded", showCharge(payment));
  }

  #say(type: string, object: Json): void {
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
    const reply = this.#refuse(isKnown) ?? this.#answered.get(name ?? "") ?? this.#answer(method, url.pathname, input);
    if (name !== undefined && reply.status < 500) this.#answered.set(name, reply);
    if (this.isMute && `${method} ${url.pathname}` === "POST /v1/payment_intents") return void response.destroy();
    response.writeHead(reply.status, { "content-type": "application/json" }).end(JSON.stringify(reply.body));
  }

  #refuse(isKnown: boolean): Answer | undefined {
    if (this.isDown) return { status: 500, body: { error: { type: "api_error" } } };
    return isKnown ? undefined : { status: 401, body: { error: { type: "invalid_request_error" } } };
  }

  #answer(method: string, path: string, input: URLSearchParams): Answer {
    const [noun = "", id = "", ...rest] = path.replace(/^\/v1\//, "").split("/");
    const payments = (): Json[] => [...this.payments.values()].map((payment) => showPayment(payment, true));
    switch (`${method} ${noun === "checkout" ? path.split("/").slice(2, 4).join("/") : noun}`) {
      case "POST customers":
        return ok({ id: newId("cus"), object: "customer" });
      case "GET customers":
        return ok(
          list(
            (this.cards.get(id) ?? []).map((card) => ({ id: card })),
            new URLSearchParams(),
          ),
        );
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
        return id === "" ? ok(list([...known.values()].map(showRefund), input)) : ok(one && showRefund(one));
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
      this.#announce(payment);
      return ok(showPayment(payment, true));
    }
    this.#say("payment_intent.payment_failed", showPayment(payment, false));
    const error = { type: "card_error", code: "card_declined", decline_code: this.decline, message: "No." };
    return { status: 402, body: { error: { ...error, payment_intent: showPayment(payment, false) } } };
  }
}

function list(objects: Json[], query: URLSearchParams): Json {
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

function showPayment({ failure, ...payment }: FakePayment, isExpanded: boolean): Json {
  return {
    ...payment,
    object: "payment_intent",
    amount_received: payment.status === "succeeded" ? payment.amount : 0,
    latest_charge: isExpanded ? showCharge({ failure, ...payment }) : `ch_${payment.id}`,
    last_payment_error: failure === undefined ? null : { code: "card_declined", decline_code: failure },
  };
}

function showCharge(payment: FakePayment | undefined): Json {
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

/** Refunds and disputes have in common what we look at. */
function showRefund({ payment, ...refund }: FakeRefund): Json {
  return { ...refund, payment_intent: payment, charge: `ch_${payment}`, currency: "usd" };
}
