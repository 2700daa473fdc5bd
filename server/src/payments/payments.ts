import type { Micros } from "../lib/money.ts";
import type { Reversal } from "../wallet/wallet.ts";

// The port: what we ask of whoever holds money for us. It speaks of top-ups and wallets by our ids, which it keeps with
// each payment and tells us again, so that what it says can be compared with what we wanted.

/** Where a payment can be looked up: an operator's own papers are one such place, a processor of cards is another. */
export interface PaymentSource {
  name: string;
  readPayment(paymentId: string): Promise<MoneyIn | undefined>;
}

/** A source that can also be asked to take money, and that tells us by itself when it did. */
export interface PaymentProcessor extends PaymentSource {
  readPayment(paymentId: string): Promise<Payment | undefined>;
  /** What happened since a moment, each thing once, in no particular order. */
  listNews(since: Date): AsyncIterable<PaymentNews>;
  /** What has become of one refund or dispute, however old it is. */
  readReversal(reversal: Pick<Reversal, "id" | "kind">): Promise<PaymentNews>;
  /** The name by which the processor knows a wallet's owner: asked for twice, it is the same. */
  createCustomer(walletId: string): Promise<string>;
  /** A page where the owner pays. Asked for twice, it is the same page. */
  createCheckout(wanted: CheckoutWish): Promise<Checkout>;
  /** Charges the card that the owner left for this. Asked for twice, it is the same charge. */
  chargeSavedCard(wanted: ChargeWish): Promise<Charge>;
  forgetCards(customerId: string): Promise<void>;
  /** Believes the message only if its signature is right; throws BadSignature otherwise. */
  readWebhook(message: { body: Buffer; signature: string }): Promise<PaymentEvent>;
}

export interface MoneyIn {
  id: string;
  walletId: string;
  /** Undefined if it was paid in another currency: that fits no top-up. */
  amount: Micros | undefined;
  status: "paid" | "open" | "failed";
}

/** A payment for a top-up. */
export interface Payment extends MoneyIn {
  topUpId: string;
  receiptUrl: string | null;
  /** Why it failed: the processor's word for it. */
  failure?: string | undefined;
}

export type PaymentNews =
  | { about: "payment"; payment: Payment }
  | { about: "top-up"; walletId: string; topUpId: string; status: "failed" | "expired" }
  | { about: "reversal"; payment: Payment; reversal: Reversal }
  | { about: "nothing" };

export interface PaymentEvent {
  id: string;
  type: string;
  news: PaymentNews;
}

export interface CheckoutWish {
  topUpId: string;
  walletId: string;
  customerId: string;
  amount: Micros;
  /** Only for an owner who asked for automatic top-ups. */
  savesCard: boolean;
  successUrl: string;
  cancelUrl: string;
}

export interface Checkout {
  id: string;
  url: string;
  expiresAt: Date | null;
}

export interface ChargeWish {
  topUpId: string;
  walletId: string;
  customerId: string;
  amount: Micros;
}

/** "open": the processor has not decided yet and will tell us. */
export type Charge =
  | { outcome: "paid"; payment: Payment }
  | { outcome: "declined"; reason: string }
  | { outcome: "open" };

export class BadSignature extends Error {}

/** The processor could not be asked, or answered what we cannot use. Its message never holds what it was sent. */
export class ProcessorFailed extends Error {}
