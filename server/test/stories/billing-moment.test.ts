import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { until } from "../support/assertions/until.ts";
import { openRaw, rawRequest } from "../support/raw-http.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer } from "../support/services/server.ts";
import { TcpProxy } from "../support/services/tcp-proxy.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// "Billing moment" of the contract: hold, upstream, capture, answer. What a caller pays who leaves on the way.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });

after(async () => {
  await server.close();
  await upstream.close();
  await db.drop();
});

afterEach(async () => {
  await upstream.behave("ok");
  upstream.requests.length = 0;
});

const question = { query: "cats" };

async function readEntries(management: string, requestId: string) {
  const reply = await server.request(`/v1/wallet/entries?request_id=${requestId}`, {
    headers: { "x-api-key": management },
  });
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

async function someoneWaitsForALock(): Promise<boolean> {
  const { rows } = await db.owner.query(
    "select from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()",
  );
  return rows.length > 0;
}

async function startAndWatch(key: string, ...lines: string[]) {
  const connection = await openRaw(server.url);
  const headers = [`x-api-key: ${key}`, "Content-Type: application/json", ...lines];
  connection.write(rawRequest("POST /v1/search", headers, JSON.stringify(question)));
  return connection;
}

test("a 200 is charged exactly once, and the entry of its Request-Id says so", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const { status, headers } = await server.search(wallet.live, question);
  const requestId = headers.get("request-id") ?? "";
  assert.equal(status, 200);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
  const entries = await readEntries(wallet.management, requestId);
  assert.deepEqual(
    entries.map(({ kind, amount, request_id }) => [kind, amount, request_id]),
    [["search", "-0.01", requestId]],
  );
});

test("while the upstream is asked the price is held and not yet charged", async () => {
  const wallet = await createTestWallet(db, "0.05");
  await upstream.behave("slow_headers", { everyMs: 300 });
  const running = server.search(wallet.live, question);
  await until("the upstream is asked", () => upstream.requests.length === 1);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.05", held: "0.01" });
  assert.equal((await running).status, 200);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
});

test("a failed search has no entry: was I charged? no", async () => {
  const wallet = await createTestWallet(db, "0.05");
  await upstream.behave("status_500");
  const { headers } = await server.search(wallet.live, question);
  assert.deepEqual(await readEntries(wallet.management, headers.get("request-id") ?? ""), []);
});

test("a caller gone before the upstream's 2xx: the upstream call is aborted, the hold released, nothing charged", async () => {
  const wallet = await createTestWallet(db, "0.05");
  for (const behaviour of ["slow_headers", "stall_in_body", "slow_drip"] as const) {
    await upstream.behave(behaviour);
    upstream.requests.length = 0;
    const connection = await startAndWatch(wallet.live);
    await until("the upstream is asked", () => upstream.requests.length === 1);
    assert.equal((await server.readMoney(wallet.management)).held, "0.01");
    connection.socket.destroy();
    await until("the upstream call is aborted", () => upstream.requests[0]?.hungUp.aborted ?? false, 3_000);
    await until("the hold is released", async () => (await server.readMoney(wallet.management)).held === "0.00", 3_000);
  }
  assert.equal((await server.readMoney(wallet.management)).balance, "0.05");
  assert.deepEqual(
    (await searchesOf(wallet.walletId)).map(({ state }) => state),
    ["released", "released", "released"],
  );
});

test("a caller gone after the upstream's 2xx is charged, and fetches the answer with its Idempotency-Key", async () => {
  const wallet = await createTestWallet(db, "0.05");
  // The capture waits for the wallet's lock, so that the caller leaves between the 2xx and the charge.
  const lock = await db.owner.connect();
  await upstream.behave("slow_headers", { everyMs: 150 });
  const connection = await startAndWatch(wallet.live, "Idempotency-Key: fetch-again");
  await until("the upstream is asked", () => upstream.requests.length === 1);
  await lock.query("begin");
  await lock.query("select from pb.wallets where id = $1 for update", [wallet.walletId]);
  await until("the capture waits for the lock", someoneWaitsForALock);
  connection.socket.destroy();
  await connection.closed;
  // By the time another request is answered, the server has seen that connection end.
  await server.request("/llms.txt");
  await lock.query("rollback");
  lock.release();
  await until("the search is charged", async () => (await server.readMoney(wallet.management)).balance === "0.04");
  // Nobody was there to be answered, but the operator's books and log know of it.
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

test("bytes that are not HTTP, sent while a search is being charged, get no answer that could be read as the search's", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const lock = await db.owner.connect();
  await upstream.behave("slow_headers", { everyMs: 150 });
  const connection = await startAndWatch(wallet.live);
  await until("the upstream is asked", () => upstream.requests.length === 1);
  await lock.query("begin");
  await lock.query("select from pb.wallets where id = $1 for update", [wallet.walletId]);
  await until("the capture waits for the lock", someoneWaitsForALock);
  connection.write("this is not HTTP\r\n\r\n");
  assert.equal(await connection.closed, "", "closed without a status");
  await lock.query("rollback");
  lock.release();
  await until("the search is charged", async () => (await server.readMoney(wallet.management)).balance === "0.04");
});

test("a wire that breaks while the books are read costs that answer and nothing else", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const { hostname, port } = new URL(db.tenantUrl);
  const wire = new TcpProxy({ host: hostname, port: Number(port) });
  await wire.listen();
  const far = await startTestServer(db, { PENNYBLACK_TENANT_DATABASE_URL: wire.through(db.tenantUrl) });
  const cut = wire.cutAnswer("pb.wallets");
  const headers = { "x-api-key": wallet.management };
  const broken = await far.request("/v1/wallet", { headers });
  await cut;
  assert.equal(broken.body.code, "ledger_unavailable");
  assert.equal((await far.request("/v1/wallet", { headers })).status, 200, "the server is still there");
  await far.close();
  await wire.close();
});

test("when the database's answer to a hold or a capture is lost, it is sent again, and charged once", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const { hostname, port } = new URL(db.ledgerUrl);
  const wire = new TcpProxy({ host: hostname, port: Number(port) });
  await wire.listen();
  const far = await startTestServer(db, {
    PENNYBLACK_SEARXNG_URL: upstream.url,
    DATABASE_URL: wire.through(db.ledgerUrl),
  });
  for (const [index, cut] of [
    () => wire.cutAnswer("pb.capture"),
    () => wire.cutAnswer("pb.hold"),
    () => wire.cutRequest("pb.capture"),
  ].entries()) {
    const done = cut();
    const { status, headers } = await far.search(wallet.live, question);
    await done;
    assert.equal(status, 200);
    assert.equal((await readEntries(wallet.management, headers.get("request-id") ?? "")).length, 1);
    assert.deepEqual(await server.readMoney(wallet.management), { balance: `0.0${4 - index}`, held: "0.00" });
    wire.cut();
  }
  await far.close();
  await wire.close();
});

test("a capture whose outcome cannot be learned in 30 s is not answered with a guess: the connection is closed", async (t) => {
  const wallet = await createTestWallet(db, "0.05");
  const { hostname, port } = new URL(db.ledgerUrl);
  const wire = new TcpProxy({ host: hostname, port: Number(port) });
  await wire.listen();
  const far = await startTestServer(db, {
    PENNYBLACK_SEARXNG_URL: upstream.url,
    DATABASE_URL: wire.through(db.ledgerUrl),
  });
  const cut = wire.cutAnswer("pb.capture");
  const headers = { "idempotency-key": "unknown" };
  const running = far.search(wallet.live, question, headers).then(
    (reply) => `answered ${reply.status}`,
    () => "closed",
  );
  // The answer is lost; the clock then says that half a minute has gone by before it is asked for again.
  await cut;
  const now = performance.now.bind(performance);
  t.mock.method(performance, "now", () => now() + 31_000);
  assert.equal(await running, "closed");
  t.mock.restoreAll();
  assert.match(await far.readMetrics(), /pennyblack_lost_captures_total\{reason="unknown"\} 1/);
  // It had been committed all the same, and was not released: the retry finds the answer and pays nothing.
  const replay = await far.search(wallet.live, question, headers);
  assert.deepEqual([replay.status, replay.headers.get("wallet-charge")], [200, "0.00;currency=usd"]);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
  await far.close();
  await wire.close();
});

test("a hold that expired before its capture is not charged: 503, and the loss is ours and counted", async () => {
  const wallet = await createTestWallet(db, "0.05");
  await upstream.behave("slow_headers", { everyMs: 200 });
  const running = server.search(wallet.live, question);
  await until("the upstream is asked", () => upstream.requests.length === 1);
  await db.owner.query("update pb.searches set expires_at = clock_timestamp() where wallet_id = $1", [wallet.walletId]);
  const { status, body } = await running;
  assert.deepEqual([status, body.code, body.charged], [503, "ledger_unavailable", false]);
  assert.equal((await server.readMoney(wallet.management)).balance, "0.05");
  assert.match(await server.readMetrics(), /pennyblack_lost_captures_total\{reason="expired"\} 1/);
});

test("a test key never bills: no entry, no charge, and the search is still on record", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const { headers } = await server.search(wallet.test, question);
  assert.equal(headers.get("wallet-charge"), "0.00;currency=usd");
  assert.deepEqual(await readEntries(wallet.management, headers.get("request-id") ?? ""), []);
  assert.deepEqual(
    (await searchesOf(wallet.walletId)).map(({ state }) => state),
    ["captured"],
  );
  assert.equal(upstream.requests.length, 0);
});

test("another wallet's Request-Id is an empty list", async () => {
  const [mine, theirs] = [await createTestWallet(db, "0.05"), await createTestWallet(db, "0.05")];
  const { headers } = await server.search(mine.live, question);
  assert.deepEqual(await readEntries(theirs.management, headers.get("request-id") ?? ""), []);
});
