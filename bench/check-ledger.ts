import type { Pool } from "../server/src/db/pool.ts";
import { firstIdOf } from "../server/src/lib/first-id-of.ts";
import { formatReport, reconcile } from "../server/src/wallet/wallet.ts";
import type { Growth } from "./seed-growth.ts";

// Counting a hundred million rows again takes longer than everything else here.
const mostReconciled = 1_000_000;

interface Charged {
  /** Every search that was charged since then. */
  since: Date;
  answered: number;
}

/** What was answered is what was charged, and what wallets paid is what the ledger has rows for. */
export async function checkBooks(owner: Pool, growth: Growth, { since, answered }: Charged): Promise<string> {
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
    if (found !== expected) throw new Error(`The bill is wrong: ${answered} answered, and in ${table}: ${found}.`);
  }
  if (growth.rows > mostReconciled) return `${answered} answered, ${answered} captured and paid by wallets`;
  const report = await reconcile(owner);
  if (!report.isClean) throw new Error(`The books are wrong:\n${formatReport(report)}`);
  return `${answered} answered, ${answered} captured and paid by wallets; ${report.checks.length} reconciliation checks clean`;
}
