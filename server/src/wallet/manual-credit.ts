import { inTransaction } from "../db/in-transaction.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";
import { type TopUpOutcome, topUpBatch } from "./statements.ts";

export interface ManualCredit {
  /** Whatever names it in the operator's own papers. It is booked once. */
  reference: string;
  walletId: string;
  /** An invoice is money received; a promotion is ours to give. */
  kind: "invoice" | "promotion";
  amount: Micros;
  reason: string;
  operator: string;
}

export const manualPaymentId = (reference: string): string => `manual:${reference}`;

/** The books and the reason for the entry, both or neither. As the owner. */
export function creditByHand(pool: Pool, credit: ManualCredit): Promise<TopUpOutcome> {
  const { walletId, amount } = credit;
  const kind = credit.kind === "invoice" ? "top_up" : "credit";
  return inTransaction(pool, async (db) => {
    const paymentId = manualPaymentId(credit.reference);
    const [outcome = "conflicting"] = await topUpBatch(db, kind, [{ paymentId, walletId, amount }]);
    if (outcome === "credited") {
      await db.query(
        `insert into pb.manual_credits (reference, wallet_id, kind, amount_micros, reason, operator)
         values ($1, $2, $3, $4, $5, $6)`,
        [credit.reference, walletId, credit.kind, amount, credit.reason, credit.operator],
      );
    }
    return outcome === "repeated" && (await isOtherKind(db, credit)) ? "conflicting" : outcome;
  });
}

/** The gate knows wallet and amount; that an invoice is not a promotion only this table knows. */
async function isOtherKind(db: Queryable, credit: ManualCredit): Promise<boolean> {
  return (await readManualCredit(db, credit.reference))?.kind !== credit.kind;
}

export async function readManualCredit(db: Queryable, reference: string): Promise<ManualCredit | undefined> {
  const { rows } = await db.query<ManualCredit>(
    `select reference, wallet_id as "walletId", kind, amount_micros as amount, reason, operator
     from pb.manual_credits where reference = $1`,
    [reference],
  );
  return rows[0];
}
