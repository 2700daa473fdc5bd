import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { asTenant, callAsTenant } from "./as-tenant.ts";
import { inTransaction } from "./in-transaction.ts";
import type { Queryable } from "./pool.ts";

const db = await createTestDatabase();
after(() => db.drop());

async function readWallet(client: Queryable): Promise<string | null> {
  const { rows } = await client.query<{ wallet: string | null }>("select pb.own_wallet() as wallet");
  return rows[0]?.wallet ?? null;
}

test("sets the wallet for the transaction only", async () => {
  const walletId = randomUUIDv7();
  assert.equal(await asTenant(db.tenant, walletId, readWallet), walletId);
  assert.equal(await callAsTenant(db.tenant, walletId, "pb.own_wallet()", []), walletId);
  for (let count = 0; count < 10; count += 1) assert.equal(await readWallet(db.tenant), null);
});

test("asTenant rejects writes, and a transaction rolls back after a failure", async () => {
  const lock = "select pg_advisory_xact_lock(1), txid_current()";
  await assert.rejects(
    asTenant(db.tenant, randomUUIDv7(), (client) => client.query("create temporary table x ()")),
    /read-only|permission denied/,
  );
  await assert.rejects(
    inTransaction(db.tenant, async (client) => {
      await client.query(lock);
      throw new Error("a bug");
    }),
    /a bug/,
  );
  const { rows } = await db.tenant.query(
    "select count(*) as held from pg_locks where locktype = 'advisory' and objid = 1",
  );
  assert.equal(Number(rows[0]?.held), 0);
});
