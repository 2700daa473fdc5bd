import type { Pool } from "../db/pool.ts";
import { manualPaymentId, readManualCredit } from "../wallet/wallet.ts";
import type { PaymentSource } from "./payments.ts";

/** The operator's own papers as a source of payments: what was credited by hand is what they say. As the owner. */
export function createManualSource(pool: Pool): PaymentSource {
  return {
    name: "manual",
    async readPayment(paymentId) {
      const [, reference] = /^manual:(.+)$/s.exec(paymentId) ?? [];
      const found = reference === undefined ? undefined : await readManualCredit(pool, reference);
      if (!found) return undefined;
      return { id: manualPaymentId(found.reference), walletId: found.walletId, amount: found.amount, status: "paid" };
    },
  };
}
