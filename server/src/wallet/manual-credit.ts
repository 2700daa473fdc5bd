import { randomUUIDv7 } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import { queryFenced } from "../db/query-fenced.ts";
import type { Micros } from "../lib/money.ts";
import type { TopUpOutcome } from "./statements.ts";

export interface ManualCredit {
  /** The operator's own reference, such as an invoice number. Each is booked once. */
  reference: string;
  walletId: string;
  /** `invoice`: money received. `promotion`: a credit from the operator. */
  kind: "invoice" | "promotion";
  amount: Micros;
  reason: string;
  operator: string;
}

export const manualPaymentId = (reference: string): string => `manual:${reference}`;

/** Books the credit, its reason and the audit log entry in one transaction. */
export async function creditManually(
  db: Queryable,
  credit: ManualCredit,
): Promise<{ outcome: TopUpOutcome; balance: Micros }> {
  const { operator, reason, walletId, amount, kind, reference } = credit;
  const { rows } = await queryFenced<{ outcome: TopUpOutcome; balance: Micros }>(
    db,
    "select outcome, balance_micros as balance from pb.operator_credit($1, $2, $3, $4, $5, $6, $7)",
    [operator, reason, walletId, amount, kind, reference, randomUUIDv7()],
  );
  const [booked] = rows;
  if (!booked) throw new Error("pb.operator_credit returned no row");
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
