import type { Queryable } from "../../db/pool.ts";
import type { Micros } from "../../lib/money.ts";

export interface AccountTotals {
  account: string;
  code: number;
  type: "asset" | "liability" | "income" | "expense";
  name: string;
  debit: Micros;
  credit: Micros;
}

export interface TrialBalance {
  /** Such as "2026-10". */
  month: string;
  closedAt: Date | null;
  accounts: AccountTotals[];
}

/** All accounts at the end of a month, as saved when it was closed, or computed now. Runs as the operator. */
export async function readTrialBalance(db: Queryable, month: string): Promise<TrialBalance> {
  const closed = await db.query<{ at: Date; accounts: SavedTotals[] }>(
    "select closed_at as at, trial_balance as accounts from pb.closed_months where month = $1",
    [`${month}-01`],
  );
  const [saved] = closed.rows;
  if (saved) return { month, closedAt: saved.at, accounts: saved.accounts.map(fromSaved) };
  const { rows } = await db.query<AccountTotals>(
    "select account, code, type, name, debit_micros as debit, credit_micros as credit from pb.trial_balance($1)",
    [`${month}-01`],
  );
  return { month, closedAt: null, accounts: rows };
}

interface SavedTotals extends Omit<AccountTotals, "debit" | "credit"> {
  debit_micros: string;
  credit_micros: string;
}

function fromSaved({ debit_micros: debit, credit_micros: credit, ...account }: SavedTotals): AccountTotals {
  return { ...account, debit: BigInt(debit), credit: BigInt(credit) };
}

export type CloseOutcome = "closed" | "repeated" | "not_over" | "out_of_order" | "not_reconciled";

/** Closes the books of a month and saves its trial balance. Runs as the operator. */
export async function closeMonth(
  db: Queryable,
  { operator, reason, month }: { operator: string; reason: string; month: string },
): Promise<CloseOutcome> {
  const { rows } = await db.query<{ outcome: CloseOutcome }>("select pb.close_month($1, $2, $3) as outcome", [
    operator,
    reason,
    `${month}-01`,
  ]);
  const [row] = rows;
  if (!row) throw new Error("pb.close_month returned no row");
  return row.outcome;
}
