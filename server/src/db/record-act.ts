import type { Queryable } from "./pool.ts";

/** The person who acts for the operator of the service, and the reason. Both are kept permanently in the list of changes. */
export interface Act {
  operator: string;
  reason: string;
}

export interface ActEntry {
  /** <subject>.<verb>, one of pb.acts. */
  act: string;
  /** The id of the changed subject. */
  subject: string;
  walletId?: string;
  accountId?: string;
  outcome?: string;
  /** The values that differ, without secrets, and people only by their id. */
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
}

/**
 * Writes an act to the list of changes (pb.changes), as the owner, in the transaction of the change. The functions in
 * server/sql that change something for operators do it themselves.
 */
export async function recordAct(db: Queryable, { operator, reason }: Act, entry: ActEntry): Promise<void> {
  const { act, subject, walletId, accountId, outcome = "done", before, after } = entry;
  await db.query("select pb.record_operator_act($1, $2, $3, $4, $5, $6, $7, $8, $9)", [
    operator,
    reason,
    act,
    subject,
    walletId ?? null,
    outcome,
    before ? JSON.stringify(before) : null,
    after ? JSON.stringify(after) : null,
    accountId ?? null,
  ]);
}
