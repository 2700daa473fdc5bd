import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUIDv7 } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import pg from "pg";
import { until } from "../../test/support/assertions/until.ts";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/services/database.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../test/support/services/private-postgres.ts";
import { callAsTenant } from "../db/as-tenant.ts";
import { createFence, RefusedDatabase } from "../db/fence.ts";
import { createPool, type Pool } from "../db/pool.ts";
import { findAccount } from "../dev/postgres-programs.ts";
import { priceMicros } from "../lib/money.ts";
import { refund, revokeAnyKey, setSuspended } from "../operator/operator.ts";
import { decideAdjustment, requestAdjustment } from "./accounting/adjustments.ts";
import { creditManually } from "./manual-credit.ts";
import { captureBatch, holdBatch, refundBatch, releaseBatch, topUpBatch } from "./statements.ts";
import { createLedger, type Ledger, ledgerConnections } from "./wallet.ts";

// After a failover the old primary returns and accepts writes, while the new one is down. Nothing may be sold on the old
// one, because everything it accepts is lost when it becomes a replica again.

const folder = mkdtempSync(join(tmpdir(), "pennyblack-split-"));
chmodSync(folder, 0o777);
const pools: Pool[] = [];
let oldPrimary: PrivatePostgres;
let newPrimary: PrivatePostgres;
/** Of the new primary. */
let replica: PrivatePostgres;
let db: TestDatabase;
let seed: { walletId: string; keyId: string };

before(async () => {
  oldPrimary = await startPrivatePostgres();
  db = await createTestDatabase(oldPrimary.superuserUrl);
  seed = await seedWallet(db.owner, { credit: 100n * priceMicros });
  newPrimary = await startReplicaOf(oldPrimary, "new-primary");
  replica = await startReplicaOf(newPrimary, "replica");
});

async function startReplicaOf({ superuserUrl, programs }: PrivatePostgres, name: string): Promise<PrivatePostgres> {
  const data = join(folder, name);
  const backup = ["-d", superuserUrl, "-D", data, "-R", "-c", "fast"];
  await promisify(execFile)(join(programs, "pg_basebackup"), backup, { ...findAccount(), cwd: folder });
  return startPrivatePostgres({ data });
}

after(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await replica.close();
  await newPrimary.close();
  await db.drop().catch(() => undefined);
  await oldPrimary.close();
  rmSync(folder, { recursive: true, force: true });
});

function openPool(url: string, fence = createFence()): Pool {
  const pool = createPool({ url, name: "test", connections: ledgerConnections, fence, onIdleError: () => {} });
  pools.push(pool);
  return pool;
}

function addressOf(url: string, ...hosts: { port: number }[]): string {
  return url.replace(/@[^/]+/, `@${hosts.map(({ port }) => `127.0.0.1:${port}`).join(",")}`);
}

async function isHeld(ledger: Ledger): Promise<boolean> {
  const { outcome } = await ledger.hold({ searchId: randomUUIDv7(), ...seed });
  return outcome === "held";
}

async function countSearches(postgres: PrivatePostgres): Promise<number> {
  const rows = await queryAsSuperuser<{ count: string }>(postgres, "select count(*) from pb.searches");
  return Number(rows[0]?.count);
}

async function queryAsSuperuser<Row extends pg.QueryResultRow>(postgres: PrivatePostgres, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: postgres.superuserUrl.replace(/[^/]*$/, db.name) });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** One address that leads to the chosen server, like a proxy or a virtual IP address. */
async function startSwitch(first: { port: number }): Promise<{ port: number; lead(next: { port: number }): void }> {
  let target = first;
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const server = connect(target.port, "127.0.0.1");
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from.on("error", () => from.destroy()).on("close", () => to.destroy()));
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => {
    listener.listen(0, "127.0.0.1", resolve);
  });
  after(() => {
    listener.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (listener.address() as AddressInfo).port,
    lead(next) {
      target = next;
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
  };
}

test("a ledger that has seen a promotion sells nothing on the old primary", async () => {
  const listed = createLedger(openPool(addressOf(db.ledgerUrl, oldPrimary, newPrimary)));
  const switched = await startSwitch(oldPrimary);
  const behindSwitch = createLedger(openPool(addressOf(db.ledgerUrl, switched)));
  for (const ledger of [listed, behindSwitch]) assert.ok(await isHeld(ledger));
  const sold = await countSearches(oldPrimary);
  await until("the replica has caught up", async () => (await countSearches(newPrimary)) === sold);

  await oldPrimary.killPostmaster();
  await queryAsSuperuser(newPrimary, "select pg_promote()");
  switched.lead(newPrimary);
  for (const ledger of [listed, behindSwitch]) await until("it sells again", () => isHeld(ledger).catch(() => false));
  const soldLater = await countSearches(newPrimary);
  await until("the replica has followed", async () => (await countSearches(replica)) === soldLater);

  // A supervisor starts the old primary, and the new one is down.
  await oldPrimary.restart();
  await newPrimary.killPostmaster();
  switched.lead(oldPrimary);
  await Promise.all([listed, behindSwitch].map((ledger) => assert.rejects(isHeld(ledger))));

  // Only the replica shows a process that starts now that there was a promotion.
  const allHosts = addressOf(db.ledgerUrl, oldPrimary, newPrimary, replica);
  await assert.rejects(openPool(allHosts).query("select"), /is on timeline 1, and timeline 2 exists/);
  await replica.killPostmaster();
  const started = openPool(allHosts);
  await assert.rejects(started.query("select"), /only 1 of 3 database hosts responds/);
  assert.equal(await countSearches(oldPrimary), sold);

  await replica.restart();
  await newPrimary.restart();
  switched.lead(newPrimary);
  for (const ledger of [listed, behindSwitch, createLedger(started)])
    await until("it sells again", () => isHeld(ledger).catch(() => false));
});

test("an open connection to the old primary changes nothing after another one has seen the promotion", async () => {
  const fence = createFence();
  const search = { searchId: randomUUIDv7(), ...seed };
  await holdBatch(openPool(addressOf(db.ledgerUrl, oldPrimary)), [search]);
  const sold = await countSearches(oldPrimary);
  const setAlerts = (tenant: Pool) =>
    callAsTenant(tenant, seed.walletId, "pb.set_alerts($2, $3, $4)", [seed.keyId, null, 1_000_000n]);
  const act = { operator: "ada", reason: "why" };
  const operatorUrl = db.ownerUrl.replace("pennyblack_owner", "pennyblack_operator");
  const booking = { ...act, walletId: seed.walletId, amount: 1n, reference: "R-1" };
  const changes: [string, (pool: Pool) => Promise<unknown>][] = [
    [db.ledgerUrl, (pool) => holdBatch(pool, [{ ...search, searchId: randomUUIDv7() }])],
    [db.ledgerUrl, (pool) => captureBatch(pool, [search])],
    [db.ledgerUrl, (pool) => releaseBatch(pool, [search])],
    [db.tenantUrl, setAlerts],
    [db.ownerUrl, (pool) => topUpBatch(pool, "top_up", [{ paymentId: "p1", walletId: seed.walletId, amount: 1n }])],
    [db.ownerUrl, (pool) => refundBatch(pool, [{ ...search, reason: "empty" }])],
    [operatorUrl, (pool) => refund(pool, act, search.searchId)],
    [operatorUrl, (pool) => revokeAnyKey(pool, act, seed.keyId)],
    [operatorUrl, (pool) => setSuspended(pool, act, seed.walletId, true)],
    [operatorUrl, (pool) => creditManually(pool, { ...booking, kind: "invoice" })],
    [operatorUrl, (pool) => requestAdjustment(pool, { ...booking, kind: "breakage" })],
    [operatorUrl, (pool) => decideAdjustment(pool, { ...act, id: randomUUIDv7(), isApproved: true })],
  ];
  // A separate pool for each, because a failed statement closes the connection.
  const connected = changes.map(([url, change]) => ({ pool: openPool(addressOf(url, oldPrimary), fence), change }));
  for (const { pool } of connected) await pool.query("select");
  assert.equal(fence.latest?.timeline, 1);

  await openPool(addressOf(db.ledgerUrl, newPrimary), fence).query("select");
  assert.equal(fence.latest?.timeline, 2);
  for (const { pool, change } of connected) await assert.rejects(change(pool), RefusedDatabase);
  assert.equal(await countSearches(oldPrimary), sold);
});

test("a statement that does not move money does not prove a timeline", async () => {
  const other = await createTestDatabase();
  const { walletId, keyId } = await seedWallet(other.owner);
  await other.owner.query("delete from pb.timelines");
  const fence = createFence();
  const tenant = openPool(other.tenantUrl, fence);
  await callAsTenant(tenant, walletId, "(select count(*) from pb.own_wallet())", []);
  await callAsTenant(tenant, walletId, "(select count(*) from pb.own_wallet())", []);
  assert.deepEqual(fence.latest?.history, []);
  await callAsTenant(openPool(other.tenantUrl, fence), walletId, "pb.set_alerts($2, $3, $4)", [
    keyId,
    null,
    1_000_000n,
  ]);
  assert.equal(fence.latest?.history.length, 1);
  await other.drop();
});

// The old primary is promoted to timeline 2 as well, after the new one was paid on its timeline 2.
test("a second primary on the same timeline is not used, with and without the first one", async () => {
  const [url, urlOfBoth] = [addressOf(db.ledgerUrl, newPrimary), addressOf(db.ledgerUrl, oldPrimary, newPrimary)];
  const switched = await startSwitch(newPrimary);
  const behindSwitch = createLedger(openPool(addressOf(db.ledgerUrl, switched)));
  const listed = createLedger(openPool(urlOfBoth));
  const fence = createFence();
  await openPool(url, fence).query("select");
  for (const ledger of [behindSwitch, listed]) await until("it sells", () => isHeld(ledger).catch(() => false));
  await until(
    "the replica has followed",
    async () => (await countSearches(replica)) === (await countSearches(newPrimary)),
  );

  await oldPrimary.stop();
  writeFileSync(join(oldPrimary.data, "standby.signal"), "");
  await oldPrimary.restart();
  await queryAsSuperuser(oldPrimary, "select pg_promote()");
  const [row] = await queryAsSuperuser<{ name: string }>(
    oldPrimary,
    "select pg_walfile_name(pg_current_wal_lsn()) as name",
  );
  assert.match(row?.name ?? "", /^00000002/);
  const sold = await countSearches(oldPrimary);

  // A connection that is already open, behind a pooler that now leads to the other host.
  const other = openPool(addressOf(db.ledgerUrl, oldPrimary), createFence());
  await other.query("select");
  await assert.rejects(
    other.query("select pb.capture('{}', '{}', null, null, expected_timeline => $1)", [fence.expected]),
    {
      code: "PB001",
    },
  );
  switched.lead(oldPrimary);
  await assert.rejects(isHeld(behindSwitch));
  // Two primaries with the same number: the one on which money was moved is used.
  await until("it sells on the other one", () => isHeld(listed).catch(() => false));

  await newPrimary.killPostmaster();
  await assert.rejects(isHeld(listed));
  // A process that starts now: the replica has the history that the second primary lacks.
  const allHosts = addressOf(db.ledgerUrl, oldPrimary, newPrimary, replica);
  await assert.rejects(
    openPool(allHosts).query("select"),
    /Money was moved on timeline 2:.* has and the primary .* lacks/,
  );
  assert.equal(await countSearches(oldPrimary), sold);

  await newPrimary.restart();
  switched.lead(newPrimary);
  for (const ledger of [listed, behindSwitch]) await until("it sells again", () => isHeld(ledger).catch(() => false));
});
