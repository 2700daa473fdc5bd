import { randomUUIDv7 } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";
import type { RefundOutcome, TopUpOutcome } from "../wallet/wallet.ts";

export { type AuditLine, readAudit } from "./read-audit.ts";

// What an operator does. Each is one function of the database, which writes the line of the audit log in the same
// transaction: there is no act without a line, whoever connects.

/** Who acts, and why. Both are kept for good. */
export interface Act {
  operator: string;
  reason: string;
}

export interface Credit {
  walletId: string;
  amount: Micros;
  /** `credit` is ours to give; `top_up` was received some other way, as by invoice. */
  kind: "credit" | "top_up";
  /** Booked at most once. */
  paymentId: string;
}

export async function credit(
  db: Queryable,
  act: Act,
  { walletId, amount, kind, paymentId }: Credit,
): Promise<{ outcome: TopUpOutcome; balance: Micros }> {
  const { rows } = await db.query<{ outcome: TopUpOutcome; balance: Micros }>(
    "select outcome, balance_micros as balance from pb.operator_credit($1, $2, $3, $4, $5, $6, $7)",
    [act.operator, act.reason, walletId, amount, kind, paymentId, randomUUIDv7()],
  );
  return only(rows);
}

/** Gives a captured search's price back, at most once. */
export async function refund(db: Queryable, act: Act, searchId: string): Promise<RefundOutcome> {
  const { rows } = await db.query<{ outcome: RefundOutcome }>(
    "select outcome from pb.operator_refund($1, $2, $3, $4)",
    [act.operator, act.reason, searchId, randomUUIDv7()],
  );
  return only(rows).outcome;
}

/** From the moment this resolves, a suspended wallet pays for nothing. False if there is no such wallet. */
export async function setSuspended(db: Queryable, act: Act, walletId: string, isSuspended: boolean): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>("select pb.operator_suspend($1, $2, $3, $4) as found", [
    act.operator,
    act.reason,
    walletId,
    isSuspended,
  ]);
  return only(rows).found;
}

export type RevokeOutcome = "revoked" | "repeated" | "unknown_key";

export async function revokeAnyKey(db: Queryable, act: Act, keyId: string): Promise<RevokeOutcome> {
  const { rows } = await db.query<{ outcome: RevokeOutcome }>("select pb.operator_revoke_key($1, $2, $3) as outcome", [
    act.operator,
    act.reason,
    keyId,
  ]);
  return only(rows).outcome;
}

function only<Row>(rows: Row[]): Row {
  const [row] = rows;
  if (!row) throw new Error("a function of the ledger answered nothing");
  return row;
}
