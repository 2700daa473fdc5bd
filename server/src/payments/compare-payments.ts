import type { Pool } from "../db/pool.ts";
import {
  expireTopUps,
  forgetPaymentEvents,
  listBooked,
  listNotices,
  listUndecided,
  noteUnpaid,
} from "../wallet/wallet.ts";
import { applyNews } from "./apply-news.ts";
import type { Payment, PaymentNews, PaymentProcessor } from "./payments.ts";

export interface Comparison {
  /** Payments at the processor. */
  paidThere: number;
  /** Of those, what we had not heard of: webhooks that were lost. */
  creditedNow: number;
  /** Refunds and disputes that we had not heard of. */
  reversedNow: number;
  /** Credited here and not paid there. Each has a notice. */
  notPaidThere: string[];
  /** Whatever waits for a person, this time's included. */
  openNotices: number;
}

const windowMs = 3 * 24 * 3_600_000;

/**
 * Asks the processor what happened lately and compares both ways, which makes a lost webhook harmless. As the owner.
 * Payments are looked for by when they were begun, bookings by when they were made: hence the look at each one missed.
 */
export async function comparePayments(pool: Pool, processor: PaymentProcessor, now = new Date()): Promise<Comparison> {
  const since = new Date(now.getTime() - windowMs);
  const booked = new Map((await listBooked(pool, since)).map((each) => [each.paymentId, each]));
  const paid = new Set<string>();
  let [creditedNow, reversedNow] = [0, 0];
  for await (const news of latestNews(pool, processor, since)) {
    if (news.about === "payment" && news.payment.status === "paid") {
      paid.add(news.payment.id);
      if (isSame(booked.get(news.payment.id), news.payment)) continue;
    }
    const outcome = await applyNews(pool, news);
    if (outcome === "credited") creditedNow += 1;
    if (outcome === "taken" || outcome === "returned" || outcome === "lost") reversedNow += 1;
  }

  const notPaidThere: string[] = [];
  for (const each of booked.values()) {
    if (paid.has(each.paymentId)) continue;
    const found = await processor.readPayment(each.paymentId);
    if (found?.status === "paid" && isSame(each, found)) continue;
    notPaidThere.push(each.paymentId);
    await noteUnpaid(pool, each);
  }
  await expireTopUps(pool, 1_000);
  await forgetPaymentEvents(pool, 10_000);
  const openNotices = (await listNotices(pool)).length;
  return { paidThere: paid.size, creditedNow, reversedNow, notPaidThere, openNotices };
}

/** What was begun lately; and what was begun long ago and may have been decided since, a dispute above all. */
async function* latestNews(pool: Pool, processor: PaymentProcessor, since: Date): AsyncGenerator<PaymentNews> {
  yield* processor.listNews(since);
  for (const reversal of await listUndecided(pool)) yield await processor.readReversal(reversal);
}

function isSame(booked: Awaited<ReturnType<typeof listBooked>>[number] | undefined, payment: Payment): boolean {
  return booked?.walletId === payment.walletId && booked.amount === payment.amount;
}
