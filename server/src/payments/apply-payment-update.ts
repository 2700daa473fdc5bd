import type { Pool } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";
import { bookPayment, endTopUp, type ProcessorEvent, reversePayment } from "../wallet/wallet.ts";
import type { Payment, PaymentUpdate } from "./payments.ts";

/** For logs and tests. */
export type PaymentUpdateOutcome =
  | "ignored"
  | Awaited<ReturnType<typeof bookPayment>>
  | Awaited<ReturnType<typeof endTopUp>>
  | Awaited<ReturnType<typeof reversePayment>>;

/**
 * The only path from the processor to the ledger, for webhooks and for polling. Idempotent: the ledger moves money once
 * per payment, refund and dispute.
 */
export async function applyPaymentUpdate(
  pool: Pool,
  update: PaymentUpdate,
  event?: ProcessorEvent,
): Promise<PaymentUpdateOutcome> {
  switch (update.about) {
    case "nothing":
      return "ignored";
    case "top-up":
      return endTopUp(pool, update.walletId, update, event);
    case "payment":
      return applyPayment(pool, update.payment, event);
    case "reversal": {
      const { payment, reversal } = update;
      const paid = payment.status === "paid" ? { ...payment, amount: amountOf(payment) } : undefined;
      return reversePayment(pool, payment.walletId, { id: payment.id, paid }, reversal, event);
    }
  }
}

async function applyPayment(pool: Pool, payment: Payment, event?: ProcessorEvent): Promise<PaymentUpdateOutcome> {
  const { topUpId, walletId } = payment;
  if (payment.status === "paid") {
    return bookPayment(pool, walletId, { ...payment, paymentId: payment.id, amount: amountOf(payment) }, event);
  }
  if (payment.status === "open") return "ignored";
  // At a checkout the owner can try another card, so a decline ends only automatic top-ups.
  return endTopUp(pool, walletId, { topUpId, status: "failed", failure: payment.failure, kind: "automatic" }, event);
}

/** A payment in another currency matches no top-up. Zero is rejected as a wrong amount and opens a notice. */
function amountOf(payment: Payment): Micros {
  return payment.amount ?? 0n;
}
