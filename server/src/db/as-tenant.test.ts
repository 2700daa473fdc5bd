import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { asTenant, writeAsTenant } from "./as-tenant.ts";
import type { Queryable } from "./pool.ts";

const db = await createTestDatabase();
after(() => db.drop());

async function who(client: Queryable): Promise<string | null> {
  const { rows } = await client.query<{ wallet: string | null }>("select pb.own_wallet() as wallet");
  return rows[0]?.wallet ?? null;
}

test("inside it is one wallet, and afterwards the connection is nobody again", async () => {
  const walletId = randomUUIDv7();
  assert.equal(await asTenant(db.tenant, walletId, who), walletId);
  assert.equal(await writeAsTenant(db.tenant, walletId, who), walletId);
  for (let count = 0; count < 10; count += 1) assert.equal(await who(db.tenant), null);
});

test("who only reads cannot write, and what failed is undone", async () => {
  const lock = "select pg_advisory_xact_lock(1), txid_current()";
  await assert.rejects(
    asTenant(db.tenant, randomUUIDv7(), (client) => client.query("create temporary table x ()")),
    /read-only|permission denied/,
  );
  await assert.rejects(
    writeAsTenant(db.tenant, randomUUIDv7(), async (client) => {
      await client.query(lock);
      throw new Error("a bug of ours");
    }),
    /a bug of ours/,
  );
  const { rows } = await db.tenant.query(
    "select count(*) as held from pg_locks where locktype = 'advisory' and objid = 1",
  );
  assert.equal(Number(rows[0]?.held), 0);
});
