import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { until } from "../../test/support/assertions/until.ts";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/services/database.ts";
import { TcpProxy } from "../../test/support/services/tcp-proxy.ts";
import { LaneFull } from "../db/lane.ts";
import { createPool, type Pool } from "../db/pool.ts";
import { NeverSent, OutcomeUnknown } from "../db/settle-batch.ts";
import { priceMicros } from "../lib/money.ts";
import { createLedger, type HoldRequest, type Ledger, ledgerConnections } from "./wallet.ts";

let database: TestDatabase;
let proxy: TcpProxy;
let pools: Pool[] = [];

before(async () => {
  database = await createTestDatabase();
});

beforeEach(async () => {
  const { hostname, port } = new URL(database.ledgerUrl);
  proxy = new TcpProxy({ host: hostname, port: Number(port || 5432) });
  await proxy.listen();
});

afterEach(async () => {
  await proxy.close();
  await Promise.all(pools.map((pool) => pool.end()));
  pools = [];
});

after(() => database.drop());

function createTestLedger(statementTimeoutMs = 5_000): Ledger {
  const url = proxy.through(database.ledgerUrl);
  const pool = createPool({
    url,
    name: "test",
    connections: ledgerConnections,
    statementTimeoutMs,
    onIdleError: () => {},
  });
  pools.push(pool);
  return createLedger(pool);
}

const request = (seed: { walletId: string; keyId: string }): HoldRequest => ({ searchId: randomUUIDv7(), ...seed });

async function readBooks(walletId: string): Promise<Record<string, bigint | string>> {
  const { rows } = await database.owner.query<Record<string, bigint | string>>(
    `select w.debited_micros as debited, w.held_micros as held,
       (select count(*) from pb.transfers t where t.wallet_id = w.id and t.kind = 'capture') as charges,
       (select coalesce(string_agg(s.state::text, ' ' order by s.id), '') from pb.searches s where s.wallet_id = w.id) as states
     from pb.wallets w where w.id = $1`,
    [walletId],
  );
  assert.ok(rows[0]);
  return rows[0];
}

test("a hold is made once when the connection breaks after its commit", async () => {
  const seed = await seedWallet(database.owner, { credit: 5n * priceMicros });
  const ledger = createTestLedger();
  const cut = proxy.cutAnswer("pb.hold");
  const holding = ledger.hold(request(seed));
  await cut;
  proxy.pause();
  const books = { debited: 0n, held: priceMicros, charges: 0n, states: "pending" };
  assert.deepEqual(await readBooks(seed.walletId), books, "committed");
  proxy.resume();
  assert.equal((await holding).outcome, "held");
  assert.deepEqual(await readBooks(seed.walletId), books);
});

test("a capture charges once when the connection breaks after its commit", async () => {
  const seed = await seedWallet(database.owner, { credit: 5n * priceMicros });
  const ledger = createTestLedger();
  const item = request(seed);
  await ledger.hold(item);
  const cut = proxy.cutAnswer("pb.capture");
  const capturing = ledger.capture(item);
  await cut;
  proxy.pause();
  const books = { debited: priceMicros, held: 0n, charges: 1n, states: "captured" };
  assert.deepEqual(await readBooks(seed.walletId), books, "committed");
  proxy.resume();
  assert.deepEqual(await capturing, { state: "captured", balance: 4n * priceMicros });
  assert.deepEqual(await readBooks(seed.walletId), books);
});

test("a capture that never reached the database is retried and charges once", async () => {
  const seed = await seedWallet(database.owner, { credit: 5n * priceMicros });
  const ledger = createTestLedger();
  const item = request(seed);
  await ledger.hold(item);
  const cut = proxy.cutRequest("pb.capture");
  assert.equal((await ledger.capture(item)).state, "captured");
  await cut;
  assert.deepEqual(await readBooks(seed.walletId), { debited: priceMicros, held: 0n, charges: 1n, states: "captured" });
});

test("a retry while the first statement is still running reserves the price once", async () => {
  const seed = await seedWallet(database.owner, { credit: 5n * priceMicros });
  const ledger = createTestLedger();
  const blocker = await database.owner.connect();
  try {
    await blocker.query("begin");
    await blocker.query("select from pb.wallets where id = $1 for update", [seed.walletId]);
    const holding = ledger.hold(request(seed));
    // Longer than the shared lane waits: a statement of the side lane, which keeps waiting after the cut.
    await untilWaiting(1, 200);
    proxy.cut();
    await untilWaiting(2);
    await blocker.query("commit");
    assert.equal((await holding).outcome, "held");
  } finally {
    blocker.release();
  }
  await untilWaiting(0);
  assert.deepEqual(await readBooks(seed.walletId), { debited: 0n, held: priceMicros, charges: 0n, states: "pending" });
});

test("captures do not queue behind holds", async () => {
  const busy = await seedWallet(database.owner, { credit: 5_000n * priceMicros });
  const ledger = createTestLedger();
  const item = request(busy);
  await ledger.hold(item);
  let holdsDone = 0;
  const holds = Array.from({ length: 900 }, async () => {
    await ledger.hold(request(busy));
    holdsDone += 1;
  });
  await ledger.capture(item);
  assert.ok(holdsDone < 900, "the capture finished before the queue of holds was empty");
  await Promise.all(holds);
});

test("holds beyond the queue limit are refused without reserving money", async () => {
  const seed = await seedWallet(database.owner, { credit: 5_000n * priceMicros });
  const ledger = createTestLedger();
  const outcomes = await Promise.allSettled(Array.from({ length: 2_500 }, () => ledger.hold(request(seed))));
  const held = outcomes.filter((each) => each.status === "fulfilled" && each.value.outcome === "held").length;
  const full = outcomes.filter((each) => each.status === "rejected" && each.reason instanceof LaneFull).length;
  assert.equal(held + full, 2_500);
  assert.ok(full > 0);
  assert.equal((await readBooks(seed.walletId))["held"], BigInt(held) * priceMicros);
});

test("an unresponsive database makes the outcome unknown, and queued holds are reported as never sent", async () => {
  const seed = await seedWallet(database.owner, { credit: 5n * priceMicros });
  const ledger = createTestLedger(200);
  await ledger.hold(request(seed));
  proxy.blackhole(true);
  const outcomes = await Promise.allSettled([ledger.hold(request(seed)), ledger.hold(request(seed))]);
  const reasons = outcomes.map((each) => (each.status === "rejected" ? (each.reason as Error) : undefined));
  assert.ok(reasons[0] instanceof OutcomeUnknown);
  assert.ok(reasons[1] instanceof OutcomeUnknown || reasons[1] instanceof NeverSent);
  proxy.blackhole(false);
  proxy.cut();
  assert.equal((await ledger.hold(request(seed))).outcome, "held", "recovers with the database");
});

/** Resolves when this many statements have waited so long for a lock. */
function untilWaiting(count: number, forMs = 0): Promise<void> {
  return until(`${count} statements are waiting`, async () => {
    const { rows } = await database.owner.query<{ waiting: bigint }>(
      `select count(*) as waiting from pg_locks l join pg_stat_activity a using (pid)
       where not l.granted and a.datname = $1 and l.waitstart <= clock_timestamp() - make_interval(secs => $2 / 1000.0)`,
      [database.name, forMs],
    );
    return rows[0]?.waiting === BigInt(count);
  });
}
