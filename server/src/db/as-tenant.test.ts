import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { until } from "../../test/support/assertions/until.ts";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { asTenant, callAsTenant } from "./as-tenant.ts";
import { inTransaction } from "./in-transaction.ts";
import { createPool, type Queryable } from "./pool.ts";

const db = await createTestDatabase();
after(() => db.drop());

async function readWallet(client: Queryable): Promise<string | null> {
  const { rows } = await client.query<{ wallet: string | null }>("select pb.own_wallet() as wallet");
  return rows[0]?.wallet ?? null;
}

/** Longer than a turn waits, so that a statement that waits for a lock does not end by itself. */
const timeouts = { statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 };

/** Holds an advisory lock. */
async function lockInDatabase(
  id: number,
): Promise<{ countWaiting: () => Promise<number>; release: () => Promise<void> }> {
  const client = await db.owner.connect();
  await client.query("select pg_advisory_lock($1)", [id]);
  return {
    async countWaiting() {
      const { rowCount } = await client.query(
        "select from pg_locks where locktype = 'advisory' and objid = $1 and not granted",
        [id],
      );
      return rowCount ?? 0;
    },
    async release() {
      await client.query("select pg_advisory_unlock($1)", [id]);
      client.release();
    },
  };
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

test("one wallet occupies one connection for reads, and another wallet does not wait for it", async () => {
  const [busy, other] = [randomUUIDv7(), randomUUIDv7()];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const started: number[] = [];
  const reads = Array.from({ length: 16 }, (_, index) =>
    asTenant(db.tenant, busy, async () => {
      started.push(index);
      await released;
    }),
  );
  assert.equal(await asTenant(db.tenant, other, readWallet), other);
  assert.equal(await callAsTenant(db.tenant, busy, "pb.own_wallet()", []), busy, "a write does not wait for reads");
  assert.deepEqual(started, [0]);
  release();
  await Promise.all(reads);
  assert.deepEqual(
    started,
    reads.map((_, index) => index),
    "in order of arrival",
  );
});

test("one wallet occupies one connection for writes, and another wallet does not wait for it", async () => {
  const [busy, other] = [randomUUIDv7(), randomUUIDv7()];
  const pool = createPool({ url: db.tenantUrl, name: "test", connections: 4, ...timeouts, onIdleError: () => {} });
  const lock = await lockInDatabase(2);
  const call = "pg_advisory_xact_lock(2) is null";
  const writes = Promise.allSettled(Array.from({ length: 16 }, () => callAsTenant(pool, busy, call, [])));
  try {
    await until("a write waits for the lock", async () => (await lock.countWaiting()) > 0);
    assert.equal(await callAsTenant(pool, other, "pb.own_wallet()", []), other);
    assert.equal(await asTenant(pool, busy, readWallet), busy, "a read does not wait for writes");
    assert.equal(await lock.countWaiting(), 1);
  } finally {
    await lock.release();
    await writes;
    await pool.end();
  }
});

test("two wallets with a slow read and a slow write each leave a connection to others", async () => {
  const [other, ...busy] = [randomUUIDv7(), randomUUIDv7(), randomUUIDv7()];
  const pool = createPool({ url: db.tenantUrl, name: "test", connections: 4, ...timeouts, onIdleError: () => {} });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const lock = await lockInDatabase(3);
  let reads = 0;
  const slow = busy.flatMap((walletId) => [
    asTenant(pool, walletId, () => {
      reads += 1;
      return released;
    }),
    callAsTenant(pool, walletId, "pg_advisory_xact_lock(3) is null", []),
  ]);
  const ended = Promise.allSettled(slow);
  try {
    await until("both wallets read, and a write waits for the lock", async () => {
      return reads === 2 && (await lock.countWaiting()) > 0;
    });
    assert.equal(await asTenant(pool, other, readWallet), other);
    assert.equal(await callAsTenant(pool, other, "pb.own_wallet()", []), other);
  } finally {
    await lock.release();
    release();
    await ended;
    await pool.end();
  }
});
