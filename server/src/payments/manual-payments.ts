import type { Pool } from "../db/pool.ts";
import { manualPaymentId, readManualCredit } from "../wallet/wallet.ts";
import type { PaymentSource } from "./payments.ts";

/** Manual credits as a payment source. Runs as the operator. */
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
