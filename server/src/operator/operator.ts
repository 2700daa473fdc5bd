import { randomUUIDv7 } from "node:crypto";
import { inTransaction } from "../db/in-transaction.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";
import { type RefundOutcome, type TopUpOutcome, topUpBatch } from "../wallet/wallet.ts";

export { type AuditLine, readAudit } from "./read-audit.ts";

// What an operator does. Each is one function of the database, which writes the line of the audit log in the same
// transaction: there is no act without a line, whoever connects.

/** Who acts, and why. Both are kept for good. */
export interface Act {
  operator: string;
  reason: string;
}

/** For acts that are more than one function of the database: the line is written in the caller's transaction. */
export async function noteAct(
  db: Queryable,
  { operator, reason }: Act,
  what: { act: string; walletId?: string | undefined; target: string; outcome: string; amount?: Micros },
): Promise<void> {
  const details = what.amount === undefined ? {} : { amount_micros: Number(what.amount) };
  await db.query("select pb.note_act($1, $2, $3, $4, $5, $6, $7)", [
    operator,
    what.act,
    what.walletId ?? null,
    what.target,
    reason,
    what.outcome,
    JSON.stringify(details),
  ]);
}

/** Books a payment that a processor named, once per its id. As the owner, and for what no webhook announced. */
export function bookPayment(
  pool: Pool,
  act: Act,
  payment: { walletId: string; amount: Micros; paymentId: string },
): Promise<TopUpOutcome> {
  const { walletId, paymentId, amount } = payment;
  return inTransaction(pool, async (db) => {
    const [outcome = "unknown_wallet"] = await topUpBatch(db, "top_up", [payment]);
    await noteAct(db, act, { act: "top_up", walletId, target: paymentId, outcome, amount });
    return outcome;
  });
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

/** The cause is what the owner sees in the key's row. */
export async function revokeAnyKey(
  db: Queryable,
  act: Act,
  keyId: string,
  cause: "operator" | "leaked" = "operator",
): Promise<RevokeOutcome> {
  const { rows } = await db.query<{ outcome: RevokeOutcome }>(
    "select pb.operator_revoke_key($1, $2, $3, $4) as outcome",
    [act.operator, act.reason, keyId, cause],
  );
  return only(rows).outcome;
}

function only<Row>(rows: Row[]): Row {
  const [row] = rows;
  if (!row) throw new Error("a function of the ledger answered nothing");
  return row;
}
