import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";
import { type AdjustmentOutcome, requestAdjustment } from "./accounting/adjustments.ts";

export interface ManualCredit {
  /** The operator's own reference, such as an invoice number, or the id of a payment. Each is booked once. */
  reference: string;
  walletId: string;
  /** `invoice`: money received. `promotion`: a credit from the operator. `payment`: a payment that no webhook reported. */
  kind: "invoice" | "promotion" | "payment";
  amount: Micros;
  reason: string;
  operator: string;
}

/** "requested": above the limit of adjustments, so that a second operator must approve it. */
export type CreditOutcome = "credited" | "requested" | "repeated" | "conflicting" | "unknown_wallet";

export const manualPaymentId = (reference: string): string => `manual:${reference}`;

/** Books the credit, its reason and the audit log entry in one transaction. */
export async function creditManually(
  db: Queryable,
  credit: ManualCredit,
): Promise<{ outcome: CreditOutcome; adjustmentId: string | null }> {
  const { outcome, id } = await requestAdjustment(db, credit);
  return { outcome: toCreditOutcome(outcome), adjustmentId: id };
}

function toCreditOutcome(outcome: AdjustmentOutcome): CreditOutcome {
  switch (outcome) {
    case "booked":
      return "credited";
    case "already_credited":
      return "repeated";
    case "requested":
    case "repeated":
    case "conflicting":
    case "unknown_wallet":
      return outcome;
    default:
      throw new Error(`a credit was ${outcome}`);
  }
}

export async function readManualCredit(
  db: Queryable,
  reference: string,
): Promise<Pick<ManualCredit, "reference" | "walletId" | "amount"> | undefined> {
  const { rows } = await db.query<Pick<ManualCredit, "reference" | "walletId" | "amount">>(
    `select reference, wallet_id as "walletId", amount_micros as amount
     from pb.adjustments where kind in ('invoice', 'promotion') and reference = $1 and state = 'booked'`,
    [reference],
  );
  return rows[0];
}

/** Credits a new wallet. Returns the id of the adjustment if a second operator must approve it. */
export async function creditOpeningBalance(
  db: Queryable,
  { walletId, amount, operator }: Pick<ManualCredit, "walletId" | "amount" | "operator">,
): Promise<string | undefined> {
  if (amount === 0n) return undefined;
  const credit = { kind: "promotion", reference: `opening-${walletId}`, reason: "opening balance" } as const;
  const { outcome, adjustmentId } = await creditManually(db, { ...credit, walletId, amount, operator });
  return outcome === "requested" && adjustmentId !== null ? adjustmentId : undefined;
}
