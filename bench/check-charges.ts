import type { Pool } from "../server/src/db/pool.ts";
import { formatReport, reconcile } from "../server/src/wallet/wallet.ts";

const notCaptured = ["pending", "released", "expired"];

/** Checks that every answered search was captured, that none is in a forbidden state, and that the ledger reconciles. */
export async function checkCharges(owner: Pool, answered: number, forbidden = notCaptured): Promise<string> {
  const { rows } = await owner.query<{ captured: bigint; others: bigint }>(
    `select count(*) filter (where state = 'captured') as captured,
       count(*) filter (where state::text = any ($1)) as others
     from pb.searches`,
    [forbidden],
  );
  const { captured = 0n, others = 0n } = rows[0] ?? {};
  if (captured !== BigInt(answered) || others !== 0n) {
    throw new Error(
      `Charges do not match: ${answered} answered, ${captured} captured, ${others} ${forbidden.join(" or ")}.`,
    );
  }
  const report = await reconcile(owner);
  if (!report.isClean) throw new Error(`Reconciliation failed:\n${formatReport(report)}`);
  return `Charges: ${answered} answered, ${captured} captured; ${report.checks.length} reconciliation checks clean.`;
}
