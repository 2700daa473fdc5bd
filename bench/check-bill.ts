import type { Pool } from "../server/src/db/pool.ts";
import { formatReport, reconcile } from "../server/src/wallet/wallet.ts";

/** A fast ledger that is wrong is worth nothing: what was answered is what was charged, and the books are in order. */
export async function checkBill(owner: Pool, answered: number): Promise<string> {
  const { rows } = await owner.query<{ captured: bigint; others: bigint }>(
    `select count(*) filter (where state = 'captured') as captured,
       count(*) filter (where state <> 'captured') as others
     from pb.searches`,
  );
  const { captured = 0n, others = 0n } = rows[0] ?? {};
  if (captured !== BigInt(answered) || others !== 0n) {
    throw new Error(`The bill is wrong: ${answered} answered, ${captured} captured, ${others} held and not captured.`);
  }
  const report = await reconcile(owner);
  if (!report.isClean) throw new Error(`The books are wrong:\n${formatReport(report)}`);
  return `The bill: ${answered} answered, ${captured} captured; ${report.checks.length} reconciliation checks clean.`;
}
