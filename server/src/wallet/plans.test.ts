import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import pg from "pg";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { priceMicros } from "../lib/money.ts";
import { holdBatch } from "./statements.ts";

// The plans of the ledger's functions, as auto_explain reports them. A connection keeps its plans while a table grows, so one
// that is made for an empty table must also be right for a large one.

const db = await createTestDatabase();
const seed = await seedWallet(db.owner, { credit: 1_000n * priceMicros });
const client = new pg.Client({ connectionString: db.superuserUrl });
const plans: string[] = [];
client.on("notice", ({ message = "" }) => plans.push(message));
await client.connect();
await client.query(
  `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
   set client_min_messages = log`,
);

after(async () => {
  await client.end();
  await db.drop();
});

/** The scans of tables in a plan, each with the lines below it. */
function scansOf(plan: string): string[] {
  return plan
    .split(/(?=^ *->|^\w)/m)
    .filter((node) => /(?:Scan|Materialize)\b/.test(node) && !/(?:Function|Subquery) Scan/.test(node));
}

test("with statistics of empty tables, a batch with Idempotency-Keys looks each claim up by its key", async () => {
  await db.owner.query("vacuum analyze");
  const items = [1, 2].map((byte) => ({
    searchId: randomUUIDv7(),
    ...seed,
    idempotency: { keyHmac: Buffer.alloc(32, byte), fingerprint: Buffer.alloc(32, byte), secretVersion: 1 },
  }));
  plans.length = 0;
  for (const { outcome } of await holdBatch(client, items, false)) assert.equal(outcome, "held");
  const [plan] = plans.filter((text) => text.includes("claim_number"));
  assert.ok(plan, plans.join("\n"));
  const scans = scansOf(plan);
  assert.equal(scans.length, 5, plan);
  for (const scan of scans) assert.match(scan, /Index Scan[^]*Index Cond: /, plan);
  assert.match(scans.join("\n"), /Index Cond: \(\(wallet_id = b\.wallet_id\) AND \(key_hmac = b\.idempotency_hmac\)\)/);
});
