import type { Queryable } from "../db/pool.ts";
import type { ReconcileReport } from "./reconcile.ts";

/** Keeps what a reconciliation found, for operators who ask between two of them. A month of them is enough. */
export async function keepReport(owner: Queryable, report: ReconcileReport): Promise<void> {
  const differences = report.checks.reduce((sum, check) => sum + check.differing, 0);
  await owner.query(
    "insert into pb.reconciliations (at, differences, checks) values ($1, $2, $3) on conflict (at) do nothing",
    [report.at, differences, JSON.stringify(report.checks)],
  );
  await owner.query("delete from pb.reconciliations where at < clock_timestamp() - interval '31 days'");
}

/** When the last was and how much it found, if there was one. */
export async function readLastReport(db: Queryable): Promise<{ atSeconds: number; differences: number } | undefined> {
  const { rows } = await db.query<{ at: number; differences: bigint }>(
    "select extract(epoch from at)::float8 as at, differences from pb.reconciliations order by reconciliations.at desc limit 1",
  );
  const [last] = rows;
  return last && { atSeconds: last.at, differences: Number(last.differences) };
}

export interface KeptReport {
  at: Date;
  differences: bigint;
  checks: unknown;
}

/** The last one whole, and when the ones before it were and what they found. */
export async function readReconciliation(db: Queryable) {
  const { rows } = await db.query<KeptReport>(
    "select at, differences, checks from pb.reconciliations order by at desc limit 25",
  );
  const [last] = rows;
  const outline = ({ at, differences }: KeptReport) => ({ at: at.toISOString(), differences: Number(differences) });
  return { last: last ? { ...outline(last), checks: last.checks } : null, before: rows.slice(1).map(outline) };
}
