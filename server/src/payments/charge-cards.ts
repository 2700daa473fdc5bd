import type { Pool } from "../db/pool.ts";
import { type Attempt, beginAutoTopUps, endTopUp, listAttempts } from "../wallet/wallet.ts";
import { applyPaymentUpdate } from "./apply-payment-update.ts";
import type { Payment, PaymentProcessor } from "./payments.ts";

export interface ChargeReport {
  started: number;
  paid: number;
  declined: number;
  /** The processor was unreachable or has not decided yet. Checked again in the next run. */
  undecided: number;
}

/** Longer than a charge takes, so that an attempt in progress is not treated as abandoned. */
const resumeAfterMs = 60_000;
/** The processor keeps idempotency keys for 24 hours; after half of that we stop retrying. */
const giveUpAfterMs = 12 * 3_600_000;

/**
 * Opens a top-up for every automatic top-up that is due and charges its card. The pool connects as the payments role. A worker that crashes
 * leaves a pending top-up. The next run retries it with the same idempotency key, the top-up's id, so the card is
 * charged once.
 */
export async function chargeCards(
  pool: Pool,
  processor: PaymentProcessor,
  onFailure: (error: unknown, attempt: Attempt) => void,
  now = new Date(),
): Promise<ChargeReport> {
  const report: ChargeReport = { started: await beginAutoTopUps(pool, 100), paid: 0, declined: 0, undecided: 0 };
  const attempts = await listAttempts(pool);
  const known = await findPayments(processor, attempts, now);
  for (const attempt of attempts) {
    const settled = settleAttempt(pool, processor, attempt, known.get(attempt.topUpId), now);
    const outcome = await settled.catch((error: unknown) => {
      onFailure(error, attempt);
      return "undecided" as const;
    });
    report[outcome] += 1;
  }
  return report;
}

/** Payments that exist at the processor for abandoned attempts. */
async function findPayments(
  processor: PaymentProcessor,
  attempts: Attempt[],
  now: Date,
): Promise<Map<string, Payment>> {
  const [oldest] = attempts.filter(({ createdAt }) => now.getTime() - createdAt.getTime() > resumeAfterMs);
  const found = new Map<string, Payment>();
  if (!oldest) return found;
  for await (const update of processor.listUpdates(new Date(oldest.createdAt.getTime() - resumeAfterMs))) {
    if (update.about === "payment") found.set(update.payment.topUpId, update.payment);
  }
  return found;
}

async function settleAttempt(
  pool: Pool,
  processor: PaymentProcessor,
  attempt: Attempt,
  known: Payment | undefined,
  now: Date,
): Promise<"paid" | "declined" | "undecided"> {
  const { topUpId, walletId } = attempt;
  const fail = async (failure: string): Promise<"declined"> => {
    await endTopUp(pool, walletId, { topUpId, status: "failed", failure });
    return "declined";
  };
  if (known?.status === "open") return "undecided";
  if (known?.status === "failed") return fail(known.failure ?? "declined");
  if (known) return book(pool, known);
  if (now.getTime() - attempt.createdAt.getTime() > giveUpAfterMs) return fail("not_charged");
  const charge = await processor.chargeSavedCard(attempt);
  if (charge.outcome === "paid") return book(pool, charge.payment);
  return charge.outcome === "declined" ? fail(charge.reason) : "undecided";
}

async function book(pool: Pool, payment: Payment): Promise<"paid"> {
  await applyPaymentUpdate(pool, { about: "payment", payment });
  return "paid";
}
