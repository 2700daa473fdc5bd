import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import pg from "pg";
import { findLimitFault, roles } from "../../src/db/roles.ts";
import { createDatabase } from "../fixture.ts";
import { countBy } from "../support/assertions/count-by.ts";
import { closeAfter } from "../support/close-after.ts";
import { createPaymentFixture } from "../support/payments/payment-fixture.ts";
import { startPgBouncer } from "../support/services/pgbouncer.ts";
import { startTestServer, type TestServer } from "../support/services/server.ts";

// The essential stories behind PgBouncer in transaction mode. All of them: npm run test:pgbouncer

process.env["PENNYBLACK_TEST_PGBOUNCER"] = "1";
const { db, server, createWallet, startServer, ...fixture } = await createPaymentFixture();

test("concurrent searches on two servers spend the balance exactly, over few sessions", async (t) => {
  const servers = [server, await startServer({}, t)];
  const wallets = await Promise.all([createWallet("0.40"), createWallet("0.40"), createWallet("0.40")]);
  const replies = await Promise.all(
    wallets.flatMap(({ live }) =>
      Array.from({ length: 50 }, (_, index) => (servers[index % 2] as TestServer).search(live, { query: "cats" })),
    ),
  );
  assert.deepEqual(
    countBy(replies, ({ status }) => String(status)),
    { "200": 120, "402": 30 },
  );
  for (const { management } of wallets) {
    assert.deepEqual(await server.readMoney(management), { balance: "0.00", held: "0.00" });
  }
  const { rows } = await db.owner.query<{ sessions: bigint }>(
    "select count(*) as sessions from pg_stat_activity where datname = $1 and usename = $2",
    [db.name, roles.ledger],
  );
  const sessions = Number(rows[0]?.sessions);
  assert.ok(sessions >= 1 && sessions <= 4, `${sessions} sessions`);
  await fixture.assertBooksBalance();
});

test("concurrent retries with an Idempotency-Key are charged once", async () => {
  const wallet = await createWallet("1.00");
  const headers = { "idempotency-key": randomUUID() };
  const search = () => server.search(wallet.live, { query: "cats" }, headers);
  const replies = await Promise.all(Array.from({ length: 20 }, search));
  const allowed = new Set([200, 409]);
  assert.ok(
    replies.every(({ status }) => allowed.has(status)),
    JSON.stringify(countBy(replies, ({ status }) => String(status))),
  );
  assert.equal((await search()).headers.get("idempotent-replayed"), "true");
  assert.equal((await server.readMoney(wallet.management)).balance, "0.99");
});

test("a payment is credited once", async () => {
  const wallet = await createWallet();
  const { checkout_url } = await fixture.openTopUp(wallet, "20.00");
  fixture.stripe.payCheckout(checkout_url);
  assert.deepEqual(await fixture.deliverNewEvents(), ["credited", "repeated", "repeated"]);
  assert.equal(await fixture.balanceOf(wallet), "20.00");
});

test("a revoked key is rejected", async () => {
  const wallet = await createWallet("1.00");
  assert.equal((await server.search(wallet.live, { query: "cats" })).status, 200);
  const revoked = await server.manage(wallet.management, "DELETE", `/v1/keys/${wallet.liveKeyId}`);
  assert.equal(revoked.status, 200, revoked.text);
  assert.equal((await server.search(wallet.live, { query: "cats" })).body.code, "api_key_revoked");
});

test("a server does not start if a role has no limits, or with the settings of a direct connection", async (t) => {
  assert.equal(await server.app.checkDatabase(), undefined);
  const direct = closeAfter(await startTestServer(db, { PENNYBLACK_DATABASE_POOLER: "none" }), t);
  assert.match((await direct.app.checkDatabase()) ?? "", /cannot be used/);

  const other = await createDatabase(t);
  const superuser = new pg.Client({ connectionString: other.superuserUrl });
  await superuser.connect();
  await superuser.query(`alter role ${roles.tenant} in database ${other.name} set statement_timeout = 0`);
  await superuser.end();
  const unlimited = closeAfter(await startTestServer(other), t);
  assert.match((await unlimited.app.checkDatabase()) ?? "", /pennyblack_tenant has statement_timeout = 0/);
});

test("a limit that is off or too long is found", async () => {
  for (const setting of ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]) {
    const client = new pg.Client({ connectionString: db.ledgerUrl });
    await client.connect();
    try {
      assert.equal(await findLimitFault(client), undefined);
      for (const value of ["0", "1h"]) {
        await client.query(`set ${setting} = '${value}'`);
        assert.match((await findLimitFault(client)) ?? "", new RegExp(`pennyblack_ledger has ${setting} = ${value}, `));
      }
    } finally {
      await client.end();
    }
  }
});

test("PgBouncer rejects named prepared statements in this configuration, so the tests would detect one", async () => {
  const connectionString = (await startPgBouncer()).through(db.ledgerUrl);
  const clients = [new pg.Client({ connectionString }), new pg.Client({ connectionString })];
  try {
    for (const client of clients) await client.connect();
    const outcomes: string[] = [];
    for (const client of clients) {
      const query = client.query({ name: "example", text: "select 1" });
      outcomes.push(
        await query.then(() => "ok").catch((error: unknown) => (error as pg.DatabaseError).code ?? "failed"),
      );
    }
    assert.deepEqual(outcomes, ["ok", "42P05"]);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
});
