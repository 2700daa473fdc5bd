import type { Queryable } from "../../db/pool.ts";
import type { ReconcileReport } from "./reconcile.ts";

/** Saves a report for operators and deletes reports older than a month. */
export async function saveReport(db: Queryable, report: ReconcileReport): Promise<void> {
  const differences = report.checks.reduce((sum, check) => sum + check.differing, 0);
  await db.query("select pb.save_reconciliation($1, $2, $3)", [report.at, differences, JSON.stringify(report.checks)]);
}

/** Time and number of differences of the latest report. */
export async function readLastReport(db: Queryable): Promise<{ atSeconds: number; differences: number } | undefined> {
  const { rows } = await db.query<{ at: number; differences: bigint }>(
    "select extract(epoch from at)::float8 as at, differences from pb.reconciliations order by reconciliations.at desc limit 1",
  );
  const [last] = rows;
  return last && { atSeconds: last.at, differences: Number(last.differences) };
}

export interface SavedReport {
  at: Date;
  differences: bigint;
  checks: unknown;
}

/** The latest report in full, and a summary of the 24 before it. */
export async function readReconciliation(db: Queryable) {
  const { rows } = await db.query<SavedReport>(
    "select at, differences, checks from pb.reconciliations order by at desc limit 25",
  );
  const [last] = rows;
  const summarize = ({ at, differences }: SavedReport) => ({ at: at.toISOString(), differences: Number(differences) });
  return { last: last ? { ...summarize(last), checks: last.checks } : null, before: rows.slice(1).map(summarize) };
}
