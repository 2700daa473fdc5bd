import { randomUUIDv7 } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import { queryFenced } from "../db/query-fenced.ts";
import type { Act } from "../db/record-act.ts";
import type { RefundOutcome } from "../wallet/wallet.ts";

export type { AttentionItem } from "./attention.ts";
export { type Found, find, findStart } from "./find.ts";
export { readFindQuery } from "./find-query.ts";
export { formatFound } from "./format-found.ts";
export { type AuditLine, type ChangeLine, readAudit, readAuditSince, readChanges } from "./read-audit.ts";
export { readHealth } from "./read-health.ts";
export { recordView } from "./record-view.ts";

// Operator actions. Each is one SQL function that also writes the list of changes, so no action goes unrecorded, regardless of which
// client runs it.

/** Refunds a captured search, at most once. */
export async function refund(db: Queryable, act: Act, searchId: string): Promise<RefundOutcome> {
  const { rows } = await queryFenced<{ outcome: RefundOutcome }>(
    db,
    "select outcome from pb.operator_refund($1, $2, $3, $4)",
    [act.operator, act.reason, searchId, randomUUIDv7()],
  );
  return only(rows).outcome;
}

/** Once this resolves, no search of a suspended wallet succeeds. Returns false if the wallet does not exist. */
export async function setSuspended(db: Queryable, act: Act, walletId: string, isSuspended: boolean): Promise<boolean> {
  const { rows } = await queryFenced<{ found: boolean }>(db, "select pb.operator_suspend($1, $2, $3, $4) as found", [
    act.operator,
    act.reason,
    walletId,
    isSuspended,
  ]);
  return only(rows).found;
}

export type RevokeOutcome = "revoked" | "repeated" | "unknown_key";

/** `cause` is shown to the owner. */
export async function revokeAnyKey(
  db: Queryable,
  act: Act,
  keyId: string,
  cause: "operator" | "leaked" = "operator",
): Promise<RevokeOutcome> {
  const { rows } = await queryFenced<{ outcome: RevokeOutcome }>(
    db,
    "select pb.operator_revoke_key($1, $2, $3, $4) as outcome",
    [act.operator, act.reason, keyId, cause],
  );
  return only(rows).outcome;
}

function only<Row>(rows: Row[]): Row {
  const [row] = rows;
  if (!row) throw new Error("the SQL function returned no row");
  return row;
}
