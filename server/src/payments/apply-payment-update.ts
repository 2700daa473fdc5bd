import { writeAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
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
      return writeAsTenant(pool, update.walletId, (db) => endTopUp(db, update, event));
    case "payment":
      return writeAsTenant(pool, update.payment.walletId, (db) => applyPayment(db, update.payment, event));
    case "reversal": {
      const { payment, reversal } = update;
      return writeAsTenant(pool, payment.walletId, async (db) => {
        if (payment.status === "paid") await applyPayment(db, payment);
        return reversePayment(db, payment.id, reversal, event);
      });
    }
  }
}

async function applyPayment(db: Queryable, payment: Payment, event?: ProcessorEvent): Promise<PaymentUpdateOutcome> {
  const { topUpId } = payment;
  if (payment.status === "paid") {
    // A payment in another currency matches no top-up. Zero is rejected as a wrong amount and opens a notice.
    return bookPayment(db, { ...payment, paymentId: payment.id, amount: payment.amount ?? 0n }, event);
  }
  if (payment.status === "open") return "ignored";
  // At a checkout the owner can try another card, so a decline ends only automatic top-ups.
  return endTopUp(db, { topUpId, status: "failed", failure: payment.failure, kind: "automatic" }, event);
}
