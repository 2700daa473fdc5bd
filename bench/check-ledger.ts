import type { Pool } from "../server/src/db/pool.ts";
import { firstIdOf } from "../server/src/lib/first-id-of.ts";
import { formatReport, reconcile } from "../server/src/wallet/wallet.ts";
import type { Growth } from "./seed-growth.ts";

// Reconciling a hundred million rows takes longer than the rest of the benchmark.
const maxReconciledRows = 1_000_000;

interface ChargedSearches {
  /** Start of the measurement. */
  since: Date;
  answered: number;
}

/** Checks that every answered search was captured, and that searches, transfers and wallets agree. */
export async function checkLedger(owner: Pool, growth: Growth, { since, answered }: ChargedSearches): Promise<string> {
  const { rows } = await owner.query<Record<string, string>>(
    `select
       (select concat(count(*), ' captured, ', count(*) filter (where state <> 'captured'), ' not')
        from pb.searches where id >= $1) as searches,
       (select concat(count(*), ' captured, 0 not') from pb.transfers where id >= $1 and kind = 'capture') as transfers,
       (select concat((sum(debited_micros) / 10000)::bigint - $2::bigint, ' captured, ', sum(held_micros), ' not') from pb.wallets) as wallets`,
    [firstIdOf(since), growth.rows - growth.wallets],
  );
  const expected = `${answered} captured, 0 not`;
  for (const [table, found] of Object.entries(rows[0] ?? {})) {
    if (found !== expected) throw new Error(`Charges do not match: ${answered} answered, but ${table} has ${found}.`);
  }
  if (growth.rows > maxReconciledRows) return `${answered} answered, ${answered} captured and debited`;
  const report = await reconcile(owner);
  if (!report.isClean) throw new Error(`Reconciliation failed:\n${formatReport(report)}`);
  return `${answered} answered, ${answered} captured and debited; ${report.checks.length} reconciliation checks clean`;
}
