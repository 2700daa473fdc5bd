import { deleteAccount } from "../../../src/accounts/accounts.ts";
import type { Pool } from "../../../src/db/pool.ts";
import { requestAdjustment } from "../../../src/wallet/accounting/adjustments.ts";
import { creditManually } from "../../../src/wallet/manual-credit.ts";
import { reversePayment } from "../../../src/wallet/reversals.ts";
import { seedWallet } from "../data/seed-wallet.ts";

const amount = 5_000_000n;
const act = { operator: "corrections", reason: "a test" };

/** Wallets for the checks of operators' and processor's actions on the same payment. */
export async function seedCorrections(owner: Pool): Promise<void> {
  await seedCorrectedPayment(owner);
  await seedRecoveredDebt(owner);
  await seedDeletedAccount(owner);
}

/** A payment that was booked by an operator, corrected, and then refunded. */
async function seedCorrectedPayment(owner: Pool): Promise<void> {
  const { walletId } = await seedWallet(owner);
  const paymentId = `pi_corrected_${walletId}`;
  await creditManually(owner, { ...act, kind: "payment", reference: paymentId, walletId, amount });
  const { rows } = await owner.query<{ reference: string }>(
    "select transfer_id as reference from pb.payments where payment_id = $1",
    [paymentId],
  );
  await requestAdjustment(owner, { ...act, kind: "correction", reference: rows[0]?.reference ?? "" });
  const refund = { id: `re_${walletId}`, kind: "refund", amount, state: "taken" } as const;
  await reversePayment(owner, walletId, { id: paymentId }, refund);
}

/** Debt of a dispute that was written off and recovered when the dispute was won. */
async function seedRecoveredDebt(owner: Pool): Promise<void> {
  const { walletId } = await seedWallet(owner, { credit: amount });
  const payment = { id: `seed ${walletId}` };
  const dispute = { id: `dp_recovered_${walletId}`, kind: "dispute", amount } as const;
  await requestAdjustment(owner, { ...act, kind: "payout", reference: walletId, walletId, amount });
  await reversePayment(owner, walletId, payment, { ...dispute, state: "taken" });
  await requestAdjustment(owner, { ...act, kind: "write_off", reference: walletId, walletId, amount });
  await reversePayment(owner, walletId, payment, { ...dispute, state: "returned" });
}

/** A payment before the deletion, and one after it, which is not credited. */
async function seedDeletedAccount(owner: Pool): Promise<void> {
  const { walletId } = await seedWallet(owner, { credit: amount });
  const { rows } = await owner.query<{ account_id: string }>("select account_id from pb.wallets where id = $1", [
    walletId,
  ]);
  await deleteAccount(owner, act, rows[0]?.account_id ?? "", true);
  await creditManually(owner, { ...act, kind: "payment", reference: `pi_late_${walletId}`, walletId, amount });
}
