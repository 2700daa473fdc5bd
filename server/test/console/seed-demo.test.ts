import assert from "node:assert/strict";
import { after, test } from "node:test";
import { formatReport, reconcile } from "../../src/wallet/wallet.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { testPepper } from "../support/services/server.ts";
import { seedDemo } from "./seed-demo.ts";

const db = await createTestDatabase();
after(() => db.drop());

test("the demo data passes reconciliation", async () => {
  const { walletId } = await seedDemo(db.owner, testPepper);
  const report = await reconcile(db.owner);
  assert.ok(report.isClean, formatReport(report));
  const { rows } = await db.owner.query<{ left: bigint; captures: bigint }>(
    `select credited_micros - debited_micros as left, (select count(*) from pb.transfers where wallet_id = $1 and kind = 'capture') as captures
     from pb.wallets where id = $1`,
    [walletId],
  );
  assert.ok(
    (rows[0]?.left ?? 0n) > 0n && (rows[0]?.captures ?? 0n) > 3_000n,
    JSON.stringify(rows[0], (_, v) => String(v)),
  );
});
