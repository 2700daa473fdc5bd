import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase } from "../../test/support/services/database.ts";

// Constraints that the tables enforce for every writer.

const database = await createTestDatabase();
after(() => database.drop());

const validLegs = [
  "capture wallet revenue",
  "refund revenue wallet",
  "top_up cash wallet",
  "credit promotion wallet",
  "reversal wallet cash",
  "receivable receivable cash",
  "reinstatement cash wallet",
  "settlement wallet receivable",
  "payout wallet cash",
  "write_off bad_debt receivable",
  "recovery receivable bad_debt",
  "fee fees cash",
  "breakage wallet breakage",
  "correction wallet cash",
  "correction wallet promotion",
  "correction receivable cash",
  "correction receivable promotion",
  "correction cash wallet",
  "correction receivable bad_debt",
  "correction cash fees",
  "correction breakage wallet",
  "transfer_out wallet other_cells",
  "transfer_in other_cells wallet",
];

test("the transfers table rejects accounts and search ids that do not match the kind", async () => {
  const { walletId } = await seedWallet(database.owner);
  const { rows } = await database.owner.query<{ legs: string }>(
    `select concat_ws(' ', k, f, t) as legs from unnest(enum_range(null::pb.transfer_kind)) k,
     unnest(enum_range(null::pb.ledger_account)) f, unnest(enum_range(null::pb.ledger_account)) t`,
  );
  const client = await database.owner.connect();
  const accepted: string[] = [];
  await client.query("begin");
  for (const row of rows) {
    const id = randomUUIDv7();
    for (const [search, searchId] of Object.entries({ none: null, "its own": id, another: randomUUIDv7() })) {
      await client.query("savepoint before");
      const entry = [id, walletId, searchId, ...row.legs.split(" ")];
      await client
        .query(
          `insert into pb.transfers (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
           values ($1, $2, $3, $4, $5, $6, 1, now())`,
          entry,
        )
        .then(
          () => accepted.push(`${row.legs}, search: ${search}`),
          (error: unknown) => assert.equal((error as { code: string }).code, "23514"),
        );
      await client.query("rollback to before");
    }
  }
  await client.query("rollback");
  client.release();
  const expected = validLegs.flatMap((legs) => {
    if (legs.startsWith("capture")) return [`${legs}, search: its own`];
    if (legs.startsWith("refund")) return [`${legs}, search: its own`, `${legs}, search: another`];
    return [`${legs}, search: none`];
  });
  assert.ok(rows.length >= 14 * 9 * 9);
  assert.deepEqual(accepted.toSorted(), expected.toSorted());
});

test("the wallets table rejects negative amounts and a negative available balance", async () => {
  const { walletId } = await seedWallet(database.owner);
  for (const change of ["credited_micros = -1", "debited_micros = -1", "held_micros = -1", "held_micros = 1"]) {
    const update = database.owner.query(`update pb.wallets set ${change} where id = $1`, [walletId]);
    await assert.rejects(update, { code: "23514" }, change);
  }
});
