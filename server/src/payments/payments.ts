import type { Micros } from "../lib/money.ts";
import type { OpenCheckout, Reversal } from "../wallet/wallet.ts";

// The interface of a payment processor. Our wallet and top-up ids are stored with each payment at the processor, so that
// its payments can be matched with our top-ups.

/** A system in which payments can be looked up: a card processor, or the operator's manual credits. */
export interface PaymentSource {
  name: string;
  readPayment(paymentId: string): Promise<MoneyIn | undefined>;
}

/** A source that can also take payments and reports them by webhook. */
export interface PaymentProcessor extends PaymentSource {
  readPayment(paymentId: string): Promise<Payment | undefined>;
  /** Updates since a given time, each once, in no particular order. An object that cannot be read does not end the list. */
  listUpdates(since: Date): AsyncIterable<PaymentUpdate | Unreadable>;
  /** The current state of one refund or dispute, of any age. */
  readReversal(reversal: Pick<Reversal, "id" | "kind">): Promise<PaymentUpdate>;
  /** The current state of the payment of one checkout, of any age. */
  readCheckout(checkout: OpenCheckout): Promise<PaymentUpdate>;
  /** Returns the processor's customer id of a wallet. Idempotent. */
  createCustomer(walletId: string): Promise<string>;
  /** Opens a hosted payment page. Idempotent per top-up. */
  createCheckout(request: CheckoutRequest): Promise<Checkout>;
  /** Charges the customer's saved card. Idempotent per top-up. */
  chargeSavedCard(request: ChargeRequest): Promise<Charge>;
  detachCards(customerId: string): Promise<void>;
  /** Whether a signature header could be valid: well-formed and recent. Cheap, for a check before the body is read. */
  isPlausibleSignature(signature: string): boolean;
  /** Verifies and parses a webhook message. Throws BadSignature. */
  readWebhook(message: { body: Buffer; signature: string }): Promise<PaymentEvent>;
}

export interface MoneyIn {
  id: string;
  walletId: string;
  /** Undefined if it is in another currency, which matches no top-up. */
  amount: Micros | undefined;
  status: "paid" | "open" | "failed";
}

/** A payment for a top-up. */
export interface Payment extends MoneyIn {
  topUpId: string;
  receiptUrl: string | null;
  /** The processor's decline or error code. */
  failure?: string | undefined;
}

export type PaymentUpdate =
  | { about: "payment"; payment: Payment }
  | { about: "top-up"; walletId: string; topUpId: string; status: "failed" | "expired" }
  | { about: "reversal"; payment: Payment; reversal: Reversal }
  | { about: "nothing" };

/** A payment, refund or dispute that the processor listed, but that could not be read. */
export interface Unreadable {
  about: "unreadable";
  /** The processor's id. */
  id: string;
  cause: unknown;
}

export interface PaymentEvent {
  id: string;
  type: string;
  update: PaymentUpdate;
}

export interface CheckoutRequest {
  topUpId: string;
  walletId: string;
  customerId: string;
  amount: Micros;
  /** True only if automatic top-ups are set up. */
  savesCard: boolean;
  successUrl: string;
  cancelUrl: string;
}

export interface Checkout {
  id: string;
  url: string;
  expiresAt: Date | null;
}

export interface ChargeRequest {
  topUpId: string;
  walletId: string;
  customerId: string;
  amount: Micros;
}

/** "open": not decided yet; a webhook will follow. */
export type Charge =
  | { outcome: "paid"; payment: Payment }
  | { outcome: "declined"; reason: string }
  | { outcome: "open" };

export class BadSignature extends Error {}

/** The processor was unreachable or returned an unusable response. The message never contains request data. */
export class ProcessorFailed extends Error {
  /** Whether the processor itself failed, so that other requests would fail too. Otherwise only this request is invalid. */
  readonly isUnavailable: boolean;

  constructor(message: string, isUnavailable = false) {
    super(message);
    this.isUnavailable = isUnavailable;
  }
}
