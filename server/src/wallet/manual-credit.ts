import { randomUUIDv7 } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";
import type { TopUpOutcome } from "./statements.ts";

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

/** The books, the reason for the entry and the line of the audit log: all or none. */
export async function creditByHand(
  db: Queryable,
  credit: ManualCredit,
): Promise<{ outcome: TopUpOutcome; balance: Micros }> {
  const { operator, reason, walletId, amount, kind, reference } = credit;
  const { rows } = await db.query<{ outcome: TopUpOutcome; balance: Micros }>(
    "select outcome, balance_micros as balance from pb.operator_credit($1, $2, $3, $4, $5, $6, $7)",
    [operator, reason, walletId, amount, kind, reference, randomUUIDv7()],
  );
  const [booked] = rows;
  if (!booked) throw new Error("pb.operator_credit answered nothing");
  return booked;
}

export async function readManualCredit(db: Queryable, reference: string): Promise<ManualCredit | undefined> {
  const { rows } = await db.query<ManualCredit>(
    `select reference, wallet_id as "walletId", kind, amount_micros as amount, reason, operator
     from pb.manual_credits where reference = $1`,
    [reference],
  );
  return rows[0];
}
