import type { Queryable } from "../../db/pool.ts";
import { queryFenced } from "../../db/query-fenced.ts";
import type { Micros } from "../../lib/money.ts";

// Entries that operators book. server/sql/accounting.sql describes them.

export const adjustmentKinds = ["correction", "payout", "write_off", "fee", "breakage"] as const;

export interface AdjustmentRequest {
  operator: string;
  reason: string;
  kind: (typeof adjustmentKinds)[number] | "invoice" | "promotion" | "payment";
  /** The corrected transfer, the payment, or a reference of the operator. Each is booked once per kind. */
  reference: string;
  /** Optional for a correction or a fee, whose reference determines it. */
  walletId?: string | undefined;
  /** A correction always reverses the whole transfer. */
  amount?: Micros | undefined;
}

export type AdjustmentOutcome =
  | "booked"
  /** A second operator must approve it. */
  | "requested"
  | "repeated"
  | "conflicting"
  | "insufficient_balance"
  | "exceeds_debt"
  | "unknown_wallet"
  | "unknown_transfer"
  | "unknown_payment"
  | "already_credited"
  | "not_correctable"
  | "refund_at_processor"
  | "debt_recovered";

export async function requestAdjustment(
  db: Queryable,
  request: AdjustmentRequest,
): Promise<{ outcome: AdjustmentOutcome; id: string | null; amount: Micros | null }> {
  const { operator, reason, kind, reference, walletId, amount } = request;
  const { rows } = await queryFenced<{ outcome: AdjustmentOutcome; id: string | null; amount: Micros | null }>(
    db,
    `select outcome, adjustment_id as id, amount_micros as amount from pb.operator_adjust($1, $2, $3, $4, $5, $6)`,
    [operator, reason, kind, reference, walletId ?? null, amount ?? null],
  );
  const [row] = rows;
  if (!row) throw new Error("pb.operator_adjust returned no row");
  return row;
}

export type DecisionOutcome =
  | "booked"
  | "rejected"
  | "repeated"
  | "already_booked"
  | "already_rejected"
  | "own_request"
  | "insufficient_balance"
  | "exceeds_debt"
  | "unknown_transfer"
  | "unknown_wallet"
  | "conflicting"
  | "already_credited"
  | "refund_at_processor"
  | "debt_recovered"
  | "wallet_suspended"
  | "wallet_owes"
  | "unknown_adjustment";

/** Approves or rejects a requested adjustment. Only another operator can approve it. */
export async function decideAdjustment(
  db: Queryable,
  decision: { operator: string; reason: string; id: string; isApproved: boolean },
): Promise<DecisionOutcome> {
  const { operator, reason, id, isApproved } = decision;
  const { rows } = await queryFenced<{ outcome: DecisionOutcome }>(
    db,
    "select pb.operator_decide_adjustment($1, $2, $3, $4) as outcome",
    [operator, reason, id, isApproved],
  );
  const [row] = rows;
  if (!row) throw new Error("pb.operator_decide_adjustment returned no row");
  return row.outcome;
}

export interface Adjustment {
  id: string;
  kind: string;
  reference: string;
  walletId: string;
  amount: Micros;
  reason: string;
  operator: string;
  requestedAt: Date;
}

/** Adjustments that wait for a second operator, oldest first. */
export async function listRequestedAdjustments(db: Queryable): Promise<Adjustment[]> {
  const { rows } = await db.query<Adjustment>(
    `select id, kind, reference, wallet_id as "walletId", amount_micros as amount, reason, operator,
       requested_at as "requestedAt"
     from pb.adjustments where state = 'requested' order by requested_at`,
  );
  return rows;
}
