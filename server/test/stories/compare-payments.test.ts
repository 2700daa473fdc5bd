import assert from "node:assert/strict";
import { after, test } from "node:test";
import { comparePayments } from "../../src/payments/compare-payments.ts";
import type { PaymentProcessor } from "../../src/payments/payments.ts";
import { seedWallet } from "../support/data/seed-wallet.ts";
import { seedPayments } from "../support/payments/seed-payments.ts";
import { createTestDatabase } from "../support/services/database.ts";

const database = await createTestDatabase();
after(() => database.drop());

test("a comparison looks up every undecided refund and dispute, no matter how many there are", async () => {
  const { walletId } = await seedWallet(database.owner, { credit: 10_000_000n });
  const { paymentId } = await seedPayments(database.owner, walletId);
  await database.owner.query(
    `insert into pb.reversals
       (reversal_id, payment_id, wallet_id, kind, state, amount_micros, taken_micros, owed_micros, created_at, changed_at)
     select 'dp_' || n, $1, $2, 'dispute', 'taken', 1, 0, 0, clock_timestamp(), clock_timestamp()
     from generate_series(1, 1201) n`,
    [paymentId, walletId],
  );
  const { rows } = await database.owner.query<{ id: string }>(
    "select reversal_id as id from pb.reversals where state = 'taken'",
  );
  const lookedUp: string[] = [];
  const processor = {
    async *listUpdates() {},
    async readReversal({ id }: { id: string }) {
      lookedUp.push(id);
      // A dispute decided during the comparison must not shift the next page.
      await database.owner.query("update pb.reversals set state = 'lost' where reversal_id = $1 and kind = 'dispute'", [
        id,
      ]);
      return { about: "nothing" };
    },
    readPayment: async () => undefined,
  } as unknown as PaymentProcessor;
  await comparePayments(database.payments, processor);
  assert.ok(rows.length > 1_200);
  assert.deepEqual(lookedUp.toSorted(), rows.map(({ id }) => id).toSorted());
});
