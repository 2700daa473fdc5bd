import { writeAsTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { type Attempt, beginAutoTopUps, endTopUp, listAttempts } from "../wallet/wallet.ts";
import { applyNews } from "./apply-news.ts";
import type { Payment, PaymentProcessor } from "./payments.ts";

export interface ChargeReport {
  begun: number;
  paid: number;
  declined: number;
  /** Neither: the processor could not be asked, or has not decided. Looked at again next time. */
  undecided: number;
}

/** Longer than a charge takes, so that nobody looks twice at one that is just being made. */
const resumeAfterMs = 60_000;
/** The processor remembers an idempotency key for a day; after half of one we no longer lean on it. */
const giveUpAfterMs = 12 * 3_600_000;

/**
 * Opens a top-up for each standing order that is due and charges its card. As the owner. A worker that dies anywhere in
 * here leaves a pending top-up; whoever finds it asks the processor with the same idempotency key, which is the top-up's
 * id, and so learns what became of the one charge.
 */
export async function chargeCards(
  pool: Pool,
  processor: PaymentProcessor,
  onFailure: (error: unknown, attempt: Attempt) => void,
  now = new Date(),
): Promise<ChargeReport> {
  const report: ChargeReport = { begun: await beginAutoTopUps(pool, 100), paid: 0, declined: 0, undecided: 0 };
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

/** What the processor already knows of attempts that somebody left behind. */
async function findPayments(
  processor: PaymentProcessor,
  attempts: Attempt[],
  now: Date,
): Promise<Map<string, Payment>> {
  const left = attempts.filter(({ createdAt }) => now.getTime() - createdAt.getTime() > resumeAfterMs);
  const found = new Map<string, Payment>();
  const [oldest] = left;
  if (!oldest) return found;
  for await (const news of processor.listNews(new Date(oldest.createdAt.getTime() - resumeAfterMs))) {
    if (news.about === "payment") found.set(news.payment.topUpId, news.payment);
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
    await writeAsTenant(pool, walletId, (db) => endTopUp(db, { topUpId, status: "failed", failure }));
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
  await applyNews(pool, { about: "payment", payment });
  return "paid";
}
