import assert from "node:assert/strict";
import { afterEach, type TestContext, test } from "node:test";
import { createFixture } from "../fixture.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { lockWallet } from "../support/data/lock-wallet.ts";
import { openRaw, rawSearch } from "../support/raw-http.ts";
import type { TestWallet } from "../support/services/server.ts";
import { TcpProxy } from "../support/services/tcp-proxy.ts";

// Billing: hold, upstream, capture, answer, and the charge if the caller disconnects at each step.

const { db, upstream, server, startServer, createWallet } = await createFixture();

afterEach(async () => {
  await upstream.behave("ok");
  upstream.requests.length = 0;
});

const question = { query: "cats" };

async function readEntries(management: string, requestId: string) {
  const reply = await server.manage(management, "GET", `/v1/wallet/entries?request_id=${requestId}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body.entries as { kind: string; amount: string; request_id: string }[];
}

async function searchesOf(walletId: string) {
  const { rows } = await db.owner.query<{ id: string; state: string }>(
    "select id, state::text from pb.searches where wallet_id = $1 order by id",
    [walletId],
  );
  return rows;
}

/** A server whose connection to one database URL goes through a proxy. */
async function startBehindProxy(t: TestContext, variable: string, url: string) {
  const { hostname, port } = new URL(url);
  const proxy = closeAfter(new TcpProxy({ host: hostname, port: Number(port) }), t);
  await proxy.listen();
  return { proxy, remote: await startServer({ [variable]: proxy.through(url) }, t) };
}

async function startSearch(key: string, ...lines: string[]) {
  const connection = await openRaw(server.url);
  connection.write(rawSearch(key, JSON.stringify(question), ...lines));
  return connection;
}

/** A search whose upstream has answered and whose capture waits for the wallet's lock. */
async function startCaptureBehindLock(wallet: TestWallet, ...lines: string[]) {
  await upstream.behave("ok_when_released");
  const connection = await startSearch(wallet.live, ...lines);
  await until("the upstream is called", () => upstream.requests.length === 1);
  const lock = await lockWallet(db, wallet);
  upstream.release();
  await until("the capture waits for the lock", async () => (await lock.waiting()) > 0);
  return { connection, lock };
}

test("a 200 is charged exactly once and has one entry for its Request-Id", async () => {
  const wallet = await createWallet("0.05");
  const { status, headers } = await server.search(wallet.live, question);
  const requestId = headers.get("request-id") ?? "";
  assert.equal(status, 200);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
  const entries = await readEntries(wallet.management, requestId);
  assert.deepEqual(pluck(entries, "kind", "amount", "request_id"), [["search", "-0.01", requestId]]);
});

test("the price is held, not charged, while the upstream is called", async () => {
  const wallet = await createWallet("0.05");
  await upstream.behave("ok_when_released");
  const running = server.search(wallet.live, question);
  await until("the upstream is called", () => upstream.requests.length === 1);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.05", held: "0.01" });
  upstream.release();
  assert.equal((await running).status, 200);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
});

test("a failed search has no entry", async () => {
  const wallet = await createWallet("0.05");
  await upstream.behave("status_500");
  const { headers } = await server.search(wallet.live, question);
  assert.deepEqual(await readEntries(wallet.management, headers.get("request-id") ?? ""), []);
});

test("a caller that disconnects before the upstream's 2xx is not charged, and the upstream call is aborted", async () => {
  const wallet = await createWallet("0.05");
  for (const behaviour of ["slow_headers", "stall_in_body", "slow_drip"] as const) {
    await upstream.behave(behaviour);
    upstream.requests.length = 0;
    const connection = await startSearch(wallet.live);
    await until("the upstream is called", () => upstream.requests.length === 1);
    assert.equal((await server.readMoney(wallet.management)).held, "0.01");
    connection.socket.destroy();
    // Before the deadline of the search, which ends both as well.
    await until("the upstream call is aborted", () => upstream.requests[0]?.hungUp.aborted ?? false, 7_000);
    await until("the hold is released", async () => (await server.readMoney(wallet.management)).held === "0.00", 7_000);
  }
  assert.equal((await server.readMoney(wallet.management)).balance, "0.05");
  assert.deepEqual(pluck(await searchesOf(wallet.walletId), "state"), ["released", "released", "released"]);
});

test("a caller that disconnects after the upstream's 2xx is charged and can fetch the answer with its Idempotency-Key", async () => {
  const wallet = await createWallet("0.05");
  // The capture waits for the wallet's lock, so that the caller disconnects between the 2xx and the charge.
  const { connection, lock } = await startCaptureBehindLock(wallet, "Idempotency-Key: fetch-again");
  connection.socket.destroy();
  await connection.closed;
  // By the time another request is answered, the server has seen that connection end.
  await server.request("/llms.txt");
  await lock.release();
  await until("the search is charged", async () => (await server.readMoney(wallet.management)).balance === "0.04");
  // No caller received the answer, but the log and the metrics include it.
  const [search] = await searchesOf(wallet.walletId);
  await until("it is logged", () =>
    new RegExp(`"requestId":"${search?.id}".*caller disconnected`).test(server.logged()),
  );
  const { rows } = await db.owner.query<{ micros: bigint }>(
    "select sum(debited_micros)::bigint as micros from pb.wallets",
  );
  assert.match(await server.readMetrics(), new RegExp(`^pennyblack_captured_micro_usd_total ${rows[0]?.micros}$`, "m"));
  assert.equal((await readEntries(wallet.management, search?.id ?? "")).length, 1);
  const replay = await server.search(wallet.live, question, { "idempotency-key": "fetch-again" });
  assert.equal(replay.headers.get("idempotent-replayed"), "true");
  assert.equal(replay.body.n, 10);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
});

test("malformed HTTP during a capture closes the connection without a status", async () => {
  const wallet = await createWallet("0.05");
  const { connection, lock } = await startCaptureBehindLock(wallet);
  connection.write("this is not HTTP\r\n\r\n");
  assert.equal(await connection.closed, "", "closed without a status");
  await lock.release();
  await until("the search is charged", async () => (await server.readMoney(wallet.management)).balance === "0.04");
});

test("a connection that breaks during a wallet read fails only that request", async (t) => {
  const wallet = await createWallet("0.05");
  const { proxy, remote } = await startBehindProxy(t, "PENNYBLACK_TENANT_DATABASE_URL", db.tenantUrl);
  const cut = proxy.cutAnswer("pb.wallets");
  const broken = await remote.manage(wallet.management, "GET", "/v1/wallet");
  await cut;
  assert.equal(broken.body.code, "ledger_unavailable");
  assert.equal((await remote.manage(wallet.management, "GET", "/v1/wallet")).status, 200, "the server recovers");
});

test("a capture whose outcome is unknown after 30 s closes the connection without a status", async (t) => {
  const wallet = await createWallet("0.05");
  const { proxy, remote } = await startBehindProxy(t, "DATABASE_URL", db.ledgerUrl);
  const cut = proxy.cutAnswer("pb.capture");
  const headers = { "idempotency-key": "unknown" };
  const running = remote.search(wallet.live, question, headers).then(
    (reply) => `answered ${reply.status}`,
    () => "closed",
  );
  // The answer is lost, and the clock moves half a minute before the next attempt.
  await cut;
  const now = performance.now.bind(performance);
  t.mock.method(performance, "now", () => now() + 31_000);
  assert.equal(await running, "closed");
  t.mock.restoreAll();
  assert.match(await remote.readMetrics(), /pennyblack_lost_captures_total\{reason="unknown"\} 1/);
  // The capture was committed and the hold not released: the retry gets the stored answer free of charge.
  const replay = await remote.search(wallet.live, question, headers);
  assert.deepEqual([replay.status, replay.headers.get("wallet-charge")], [200, "0.00;currency=usd"]);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
});

test("a hold that expired before its capture returns 503 without a charge, and the loss is counted", async () => {
  const wallet = await createWallet("0.05");
  await upstream.behave("ok_when_released");
  const running = server.search(wallet.live, question);
  await until("the upstream is called", () => upstream.requests.length === 1);
  await db.owner.query("update pb.searches set expires_at = clock_timestamp() where wallet_id = $1", [wallet.walletId]);
  upstream.release();
  const { status, body } = await running;
  assert.deepEqual([status, body.code, body.charged], [503, "ledger_unavailable", false]);
  assert.equal((await server.readMoney(wallet.management)).balance, "0.05");
  assert.match(await server.readMetrics(), /pennyblack_lost_captures_total\{reason="expired"\} 1/);
});

test("a search with a test key is recorded without an entry or a charge", async () => {
  const wallet = await createWallet("0.05");
  const { headers } = await server.search(wallet.test, question);
  assert.equal(headers.get("wallet-charge"), "0.00;currency=usd");
  assert.deepEqual(await readEntries(wallet.management, headers.get("request-id") ?? ""), []);
  assert.deepEqual(pluck(await searchesOf(wallet.walletId), "state"), ["captured"]);
  assert.equal(upstream.requests.length, 0);
});

test("another wallet's Request-Id returns an empty list", async () => {
  const [mine, theirs] = [await createWallet("0.05"), await createWallet("0.05")];
  const { headers } = await server.search(mine.live, question);
  assert.deepEqual(await readEntries(theirs.management, headers.get("request-id") ?? ""), []);
});
