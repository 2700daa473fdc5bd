import type { Pool } from "../db/pool.ts";
import {
  deleteOldPaymentEvents,
  expireTopUps,
  listBooked,
  listNotices,
  listUndecided,
  recordUnpaid,
} from "../wallet/wallet.ts";
import { applyPaymentUpdate } from "./apply-payment-update.ts";
import type { Payment, PaymentProcessor, PaymentUpdate } from "./payments.ts";

export interface Comparison {
  /** Paid payments at the processor. */
  paid: number;
  /** Payments credited by this run because their webhooks were missed. */
  creditedNow: number;
  /** Refunds and disputes applied by this run. */
  reversedNow: number;
  /** Payments credited here that the processor does not report as paid. Each opens a notice. */
  unpaid: string[];
  /** All open notices, including those opened by this run. */
  openNotices: number;
}

const windowMs = 3 * 24 * 3_600_000;

/**
 * Compares the processor's recent payments with the ledger in both directions, so that a lost webhook does no harm. Runs
 * as the owner. The processor lists payments by creation time and the ledger by booking time, so a booked payment
 * missing from the list is looked up individually.
 */
export async function comparePayments(pool: Pool, processor: PaymentProcessor, now = new Date()): Promise<Comparison> {
  const since = new Date(now.getTime() - windowMs);
  const booked = new Map((await listBooked(pool, since)).map((payment) => [payment.paymentId, payment]));
  const paid = new Set<string>();
  let [creditedNow, reversedNow] = [0, 0];
  for await (const update of listRecentUpdates(pool, processor, since)) {
    if (update.about === "payment" && update.payment.status === "paid") {
      paid.add(update.payment.id);
      if (isSame(booked.get(update.payment.id), update.payment)) continue;
    }
    const outcome = await applyPaymentUpdate(pool, update);
    if (outcome === "credited") creditedNow += 1;
    if (outcome === "taken" || outcome === "returned" || outcome === "lost") reversedNow += 1;
  }

  const unpaid: string[] = [];
  for (const payment of booked.values()) {
    if (paid.has(payment.paymentId)) continue;
    const found = await processor.readPayment(payment.paymentId);
    if (found?.status === "paid" && isSame(payment, found)) continue;
    unpaid.push(payment.paymentId);
    await recordUnpaid(pool, payment);
  }
  await expireTopUps(pool, 1_000);
  await deleteOldPaymentEvents(pool, 10_000);
  const openNotices = (await listNotices(pool)).length;
  return { paid: paid.size, creditedNow, reversedNow, unpaid, openNotices };
}

/** Recent updates, and older refunds and disputes that may have been decided since. */
async function* listRecentUpdates(pool: Pool, processor: PaymentProcessor, since: Date): AsyncGenerator<PaymentUpdate> {
  yield* processor.listUpdates(since);
  for await (const reversal of listUndecided(pool)) yield await processor.readReversal(reversal);
}

function isSame(booked: Awaited<ReturnType<typeof listBooked>>[number] | undefined, payment: Payment): boolean {
  return booked?.walletId === payment.walletId && booked.amount === payment.amount;
}
