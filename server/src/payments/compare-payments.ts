import type { Pool } from "../db/pool.ts";
import {
  countNotices,
  deleteOldPaymentEvents,
  expireTopUps,
  listBooked,
  listOpenCheckouts,
  listUndecided,
  readComparedUntil,
  recordComparison,
  recordUnpaid,
  recordUnreadable,
} from "../wallet/wallet.ts";
import { applyPaymentUpdate, type PaymentUpdateOutcome } from "./apply-payment-update.ts";
import {
  type Payment,
  type PaymentProcessor,
  type PaymentUpdate,
  ProcessorFailed,
  type Unreadable,
} from "./payments.ts";

export interface Comparison {
  /** Paid payments at the processor. */
  paid: number;
  /** Payments credited by this run because their webhooks were missed. */
  creditedNow: number;
  /** Refunds and disputes applied by this run. */
  reversedNow: number;
  /** Payments credited here that the processor does not report as paid. Each opens a notice. */
  unpaid: string[];
  /** Payments, refunds and disputes that could not be read or booked. Each opens a notice. */
  unreadable: string[];
  /** All open notices, including those opened by this run. */
  openNotices: number;
}

/** For objects that the processor lists late, or that become readable later. */
const overlapMs = 3 * 24 * 3_600_000;
/** After this many failures in a row, the processor is treated as unavailable. */
const maxFailuresInARow = 5;

/**
 * Compares the processor's recent payments with the ledger in both directions, so that a lost webhook does no harm. The
 * pool connects as the payments role. The processor lists payments by creation time and the ledger by booking time, so a
 * booked payment missing from the list is looked up individually.
 *
 * A comparison starts three days before the last one that completed, no matter how long ago that was. A payment can also take
 * longer than that to complete, so open checkouts that the list does not cover are looked up too.
 *
 * An item that cannot be read or booked opens a notice and does not stop the others. If the processor itself failed, the
 * remaining checks run first and then the comparison fails.
 */
export async function comparePayments(pool: Pool, processor: PaymentProcessor, now = new Date()): Promise<Comparison> {
  const comparedUntil = await readComparedUntil(pool);
  const since = new Date(Math.min(now.getTime(), comparedUntil.getTime()) - overlapMs);
  const booked = new Map((await listBooked(pool, since)).map((payment) => [payment.paymentId, payment]));
  const paid = new Set<string>();
  const unpaid: string[] = [];
  const items = createItemGuard(pool);
  let [creditedNow, reversedNow] = [0, 0];
  for await (const update of listUpdates(pool, processor, { since, now }, items.stop)) {
    if (update.about === "payment" && update.payment.status === "paid") {
      paid.add(update.payment.id);
      if (isSame(booked.get(update.payment.id), update.payment)) continue;
    }
    const outcome = await items.run(describeItem(update), () => applyUpdate(pool, update));
    if (outcome === "credited") creditedNow += 1;
    if (outcome === "taken" || outcome === "returned" || outcome === "lost") reversedNow += 1;
    if (items.isStopped()) break;
  }

  for (const payment of booked.values()) {
    if (paid.has(payment.paymentId) || items.isStopped()) continue;
    await items.run({ ...payment, id: payment.paymentId }, async () => {
      const found = await processor.readPayment(payment.paymentId);
      if (found?.status === "paid" && isSame(payment, found)) return;
      unpaid.push(payment.paymentId);
      await recordUnpaid(pool, payment);
    });
  }
  await expireTopUps(pool, 1_000);
  await deleteOldPaymentEvents(pool, 10_000);
  if (items.failure) throw items.failure;
  await recordComparison(pool, now);
  const openNotices = await countNotices(pool);
  return { paid: paid.size, creditedNow, reversedNow, unpaid, unreadable: items.unreadable, openNotices };
}

/**
 * Recent updates, and older checkouts, refunds and disputes that may have been decided since. If the processor cannot list,
 * calls `stop` and ends.
 */
async function* listUpdates(
  pool: Pool,
  processor: PaymentProcessor,
  { since, now }: { since: Date; now: Date },
  stop: (failure: ProcessorFailed) => void,
): AsyncGenerator<PaymentUpdate | Unreadable> {
  try {
    yield* processor.listUpdates(since);
  } catch (error) {
    if (!(error instanceof ProcessorFailed)) throw error;
    return stop(error);
  }
  for await (const checkout of listOpenCheckouts(pool, { createdBefore: since, now })) {
    yield await processor
      .readCheckout(checkout)
      .catch((cause: unknown) => ({ about: "unreadable", id: checkout.checkoutId, cause }));
  }
  for await (const reversal of listUndecided(pool)) {
    yield await processor
      .readReversal(reversal)
      .catch((cause: unknown) => ({ about: "unreadable", id: reversal.id, cause }));
  }
}

async function applyUpdate(pool: Pool, update: PaymentUpdate | Unreadable): Promise<PaymentUpdateOutcome> {
  if (update.about === "unreadable") throw update.cause;
  return applyPaymentUpdate(pool, update);
}

type Item = Parameters<typeof recordUnreadable>[1];

function describeItem(update: PaymentUpdate | Unreadable): Item {
  switch (update.about) {
    case "nothing":
      return { id: "" };
    case "unreadable":
      return { id: update.id };
    case "top-up":
      return { id: update.topUpId, walletId: update.walletId };
    case "payment":
      return update.payment;
    case "reversal":
      return { ...update.reversal, walletId: update.payment.walletId };
  }
}

/** Runs the work for one item at a time and keeps its failure from ending the comparison. */
function createItemGuard(pool: Pool) {
  const unreadable = new Set<string>();
  let failuresInARow = 0;
  let failure: ProcessorFailed | undefined;
  return {
    get unreadable() {
      return [...unreadable];
    },
    /** The first failure of the processor itself. */
    get failure() {
      return failure;
    },
    /** Whether no more items should be requested. */
    isStopped: () => failuresInARow >= maxFailuresInARow,
    stop: (error: ProcessorFailed): void => {
      failuresInARow = maxFailuresInARow;
      failure ??= error;
    },
    async run<Result>(item: Item, work: () => Promise<Result>): Promise<Result | undefined> {
      try {
        const result = await work();
        failuresInARow = 0;
        return result;
      } catch (error) {
        if (error instanceof ProcessorFailed && error.isUnavailable) {
          failuresInARow += 1;
          failure ??= error;
        } else {
          // Fails too, and ends the comparison, if the database is the cause.
          await recordUnreadable(pool, item);
          unreadable.add(item.id);
        }
        return undefined;
      }
    },
  };
}

function isSame(booked: Awaited<ReturnType<typeof listBooked>>[number] | undefined, payment: Payment): boolean {
  return booked?.walletId === payment.walletId && booked.amount === payment.amount;
}
