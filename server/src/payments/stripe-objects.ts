import type { Stripe } from "stripe";
import type { Micros } from "../lib/money.ts";
import type { Reversal } from "../wallet/wallet.ts";
import type { Charge, Payment, PaymentUpdate } from "./payments.ts";

// Maps Stripe objects to payment updates. Only the object's current state counts, not the event type, so events may
// arrive twice, late, out of order or not at all.

type Fields = Record<string, unknown>;

export interface StripeLookUps {
  readPayment: (paymentId: string) => Promise<Payment | undefined>;
  readSession: (id: string) => Promise<object>;
}

const nothing: PaymentUpdate = { about: "nothing" };

/** Maps the object of an event or a list to an update. Event types: https://docs.stripe.com/api/events/types */
export function createStripeReader(lookUps: StripeLookUps): (type: string, object: Fields) => Promise<PaymentUpdate> {
  return async function readObject(type, object) {
    switch (type) {
      case "checkout.session.completed":
      case "checkout.session.async_payment_succeeded":
        return readPaidSession(object, lookUps);
      case "checkout.session.async_payment_failed":
        return readEndedSession(object, "failed");
      case "checkout.session.expired":
        return readEndedSession(object, "expired");
      // Whether a decline is final depends on the kind of top-up; applyPaymentUpdate decides.
      case "payment_intent.succeeded":
      case "payment_intent.payment_failed":
      case "payment_intent.canceled":
        return aboutPayment(toPayment(object));
      case "charge.succeeded":
        return aboutPayment(chargeToPayment(object));
      case "refund":
      case "refund.created":
      case "refund.updated":
      case "refund.failed":
        return readReversal("refund", object, refundState(object["status"]), lookUps);
      case "dispute":
      case "charge.dispute.created":
      case "charge.dispute.updated":
      case "charge.dispute.closed":
      case "charge.dispute.funds_withdrawn":
      case "charge.dispute.funds_reinstated":
        return readReversal("dispute", object, disputeState(object["status"]), lookUps);
      default:
        return nothing;
    }
  };
}

export function toPayment(intent: object): Payment | undefined {
  const fields: Fields = { ...intent };
  const error = asFields(fields["last_payment_error"]);
  const charge = asFields(fields["latest_charge"]);
  return makePayment(fields, {
    id: fields["id"],
    cents: fields["status"] === "succeeded" ? (fields["amount_received"] ?? fields["amount"]) : fields["amount"],
    status: intentStatus(fields["status"], error !== undefined),
    receiptUrl: charge?.["receipt_url"],
    failure: error?.["decline_code"] ?? error?.["code"],
  });
}

export function readCharge(intent: Stripe.PaymentIntent): Charge {
  const payment = toPayment(intent);
  if (payment?.status === "paid") return { outcome: "paid", payment };
  if (payment?.status === "failed") return { outcome: "declined", reason: payment.failure ?? "declined" };
  return { outcome: "open" };
}

/** Amounts are whole cents, which the routes validate. */
export function toCents(amount: Micros): number {
  return Number(amount / 10_000n);
}

function aboutPayment(payment: Payment | undefined): PaymentUpdate {
  return payment ? { about: "payment", payment } : nothing;
}

function chargeToPayment(charge: Fields): Payment | undefined {
  const status = charge["status"] === "succeeded" && charge["paid"] === true ? "paid" : "open";
  const cents = charge["amount_captured"] ?? charge["amount"];
  return makePayment(charge, { id: idOf(charge["payment_intent"]), cents, status, receiptUrl: charge["receipt_url"] });
}

async function readPaidSession(given: Fields, { readSession }: StripeLookUps): Promise<PaymentUpdate> {
  if (given["payment_status"] !== "paid") return nothing;
  let session = given;
  // If the event lacks the amount or the payment id, fetch the session.
  if (idOf(session["payment_intent"]) === undefined || typeof session["amount_total"] !== "number") {
    session = { ...(await readSession(String(given["id"]))) };
    if (session["payment_status"] !== "paid") return nothing;
  }
  const id = idOf(session["payment_intent"]);
  return aboutPayment(makePayment(session, { id, cents: session["amount_total"], status: "paid" }));
}

function readEndedSession(session: Fields, status: "failed" | "expired"): PaymentUpdate {
  const ours = ourIds(session);
  return ours ? { about: "top-up", ...ours, status } : nothing;
}

/** Also reads the payment, because its own event may be lost or still on its way. */
async function readReversal(
  kind: Reversal["kind"],
  object: Fields,
  state: Reversal["state"] | undefined,
  { readPayment }: StripeLookUps,
): Promise<PaymentUpdate> {
  const paymentId = idOf(object["payment_intent"]);
  const id = idOf(object["id"]);
  const amount = toMicros(object["amount"], object["currency"]);
  if (!state || !id || !paymentId || amount === undefined) return nothing;
  const payment = await readPayment(paymentId);
  return payment ? { about: "reversal", payment, reversal: { id, kind, amount, state } } : nothing;
}

/** A refund leaves our balance when it is created and is returned if it fails. */
function refundState(status: unknown): Reversal["state"] | undefined {
  if (status === "succeeded" || status === "pending") return "taken";
  return status === "failed" || status === "canceled" ? "returned" : undefined;
}

/** An inquiry ("warning_...") takes no money: https://docs.stripe.com/disputes/how-disputes-work */
function disputeState(status: unknown): Reversal["state"] | undefined {
  if (status === "won") return "returned";
  if (status === "lost") return "lost";
  return status === "needs_response" || status === "under_review" ? "taken" : undefined;
}

function intentStatus(status: unknown, hasFailed: boolean): Payment["status"] {
  if (status === "succeeded") return "paid";
  if (status === "canceled" || (status === "requires_payment_method" && hasFailed)) return "failed";
  return "open";
}

interface PaymentFields {
  id: unknown;
  cents: unknown;
  status: Payment["status"];
  receiptUrl?: unknown;
  failure?: unknown;
}

/** Undefined if the payment has no ids of ours: the Stripe account may also be used for other products. */
function makePayment(object: Fields, fields: PaymentFields): Payment | undefined {
  const ours = ourIds(object);
  if (!ours || typeof fields.id !== "string") return undefined;
  return {
    id: fields.id,
    ...ours,
    amount: toMicros(fields.cents, object["currency"]),
    status: fields.status,
    receiptUrl: typeof fields.receiptUrl === "string" ? fields.receiptUrl : null,
    failure: typeof fields.failure === "string" ? fields.failure : undefined,
  };
}

function ourIds(object: Fields): { walletId: string; topUpId: string } | undefined {
  const metadata = asFields(object["metadata"]);
  const [walletId, topUpId] = [metadata?.["wallet_id"], metadata?.["top_up_id"]];
  return isUuid(walletId) && isUuid(topUpId) ? { walletId, topUpId } : undefined;
}

function isUuid(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}

function toMicros(cents: unknown, currency: unknown): Micros | undefined {
  if (currency !== "usd" || typeof cents !== "number" || !Number.isSafeInteger(cents)) return undefined;
  return BigInt(cents) * 10_000n;
}

/** Stripe returns an id, or the whole object if it was expanded. */
export function idOf(value: unknown): string | undefined {
  const id = typeof value === "object" && value !== null && "id" in value ? value.id : value;
  return typeof id === "string" && id !== "" ? id : undefined;
}

function asFields(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null ? { ...value } : undefined;
}
