import { writeAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import { bookPayment, type EventName, endTopUp, reversePayment } from "../wallet/wallet.ts";
import type { Payment, PaymentNews } from "./payments.ts";

/** What became of it: a word for logs and tests. */
export type NewsOutcome =
  | "ignored"
  | Awaited<ReturnType<typeof bookPayment>>
  | Awaited<ReturnType<typeof endTopUp>>
  | Awaited<ReturnType<typeof reversePayment>>;

/**
 * The one way from a processor's word to the books, whether it was told to us or we asked. May be done any number of
 * times: the ledger moves money once per payment, refund and dispute.
 */
export async function applyNews(pool: Pool, news: PaymentNews, event?: EventName): Promise<NewsOutcome> {
  switch (news.about) {
    case "nothing":
      return "ignored";
    case "top-up":
      return writeAsTenant(pool, news.walletId, (db) => endTopUp(db, news, event));
    case "payment":
      return writeAsTenant(pool, news.payment.walletId, (db) => applyPayment(db, news.payment, event));
    case "reversal": {
      const { payment, reversal } = news;
      return writeAsTenant(pool, payment.walletId, async (db) => {
        if (payment.status === "paid") await applyPayment(db, payment);
        return reversePayment(db, payment.id, reversal, event);
      });
    }
  }
}

async function applyPayment(db: Queryable, payment: Payment, event?: EventName): Promise<NewsOutcome> {
  const { topUpId } = payment;
  if (payment.status === "paid") {
    // Another currency fits no top-up: zero is refused as the wrong amount, and a person is told.
    return bookPayment(db, { ...payment, paymentId: payment.id, amount: payment.amount ?? 0n }, event);
  }
  if (payment.status === "open") return "ignored";
  // On an open page the owner can try another card: there, a decline is not the end.
  return endTopUp(db, { topUpId, status: "failed", failure: payment.failure, kind: "automatic" }, event);
}
