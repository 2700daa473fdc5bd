import { randomBytes, randomUUIDv7 } from "node:crypto";
import type { Pool } from "../../../src/db/pool.ts";
import { requestAdjustment } from "../../../src/wallet/accounting/adjustments.ts";
import { setAutoTopUp } from "../../../src/wallet/auto-top-ups.ts";
import { creditManually } from "../../../src/wallet/manual-credit.ts";
import { type Reversal, reversePayment } from "../../../src/wallet/reversals.ts";
import { beginTopUp, bookPayment, recordCustomer } from "../../../src/wallet/top-ups.ts";

/**
 * One row in each payment table, for a wallet with a key and at least 5.00: an automatic top-up, a paid top-up of 5.00 whose dispute
 * exceeds the balance, so that the wallet owes money, a manual credit, and the processor's fee.
 */
export async function seedPayments(owner: Pool, walletId: string): Promise<{ paymentId: string }> {
  const paymentId = `pi_${randomUUIDv7()}`;
  const amount = 5_000_000n;
  const { rows: keys } = await owner.query<{ id: string }>("select id from pb.keys where wallet_id = $1", [walletId]);
  const by = { walletId, keyId: keys[0]?.id ?? "" };
  await setAutoTopUp(owner, by, { threshold: amount, amount, dayCap: amount, monthCap: amount });
  await recordCustomer(owner, walletId, `cus_${walletId}`);
  const [keyHmac, fingerprint] = [randomBytes(32), randomBytes(32)];
  const { id: topUpId } = await beginTopUp(owner, walletId, { amount, keyHmac, fingerprint });
  const invoice = { reference: `INV-${walletId}`, kind: "invoice" as const, reason: "a test", operator: "test" };
  await creditManually(owner, { ...invoice, walletId, amount });
  await bookPayment(owner, walletId, { paymentId, topUpId, amount, receiptUrl: null });
  await owner.query("update pb.top_ups set created_at = created_at - interval '2 days' where id = $1", [topUpId]);
  const { rows } = await owner.query<{ balance: bigint }>(
    "select credited_micros - debited_micros - held_micros as balance from pb.wallets where id = $1",
    [walletId],
  );
  // More than the balance, as if an earlier payment had been disputed too.
  const amounts = { lost: (rows[0]?.balance ?? 0n) + 1n, won: 10_000n };
  const reverse = (reversal: Reversal): Promise<unknown> =>
    reversePayment(owner, walletId, { id: paymentId }, reversal);
  await reverse({ id: `dp_${topUpId}`, kind: "dispute", amount: amounts.lost, state: "taken" });
  await reverse({ id: `re_${topUpId}`, kind: "refund", amount: amounts.won, state: "taken" });
  await reverse({ id: `re_${topUpId}`, kind: "refund", amount: 10_000n, state: "returned" });
  await owner.query("select pb.suspend_wallet($1, false)", [walletId]);
  const fee = { kind: "fee", reference: paymentId, amount: 175_000n } as const;
  await requestAdjustment(owner, { ...fee, reason: "a test", operator: "test" });
  return { paymentId };
}
