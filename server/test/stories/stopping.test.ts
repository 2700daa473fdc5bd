import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { until } from "../support/assertions/until.ts";
import { openRaw, rawRequest } from "../support/raw-http.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestKey, createTestWallet, startTestServer } from "../support/services/server.ts";
import { startServerProcess } from "../support/services/server-process.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// A deployment must fail no request: a server that is told to stop finishes what it was given.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const settings = { PENNYBLACK_SEARXNG_URL: upstream.url };
const reader = await startTestServer(db);

after(async () => {
  await reader.close();
  await upstream.close();
  await db.drop();
});

test("SIGTERM under load: every request is answered 200 while balancers look away, and the process exits 0", async () => {
  const wallet = await createTestWallet(db, "50.00");
  const fast = { searchesPerSecond: 100_000, searchesInFlight: 100_000 };
  const { key } = await createTestKey(db, { walletId: wallet.walletId, mode: "live", name: "load", ...fast });
  await upstream.behave("slow_headers", { everyMs: 30 });
  const server = await startServerProcess(db, { ...settings, PENNYBLACK_DRAIN_MS: "700" });
  const statuses: number[] = [];
  const balancer = { isSending: true };
  let answeredWhileDraining = 0;

  // As a balancer does: it sends until the server says that it is not ready.
  const load = Array.from({ length: 8 }, async () => {
    while (balancer.isSending) {
      const response = await fetch(`${server.url}/v1/search`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: '{"query":"cats"}',
      });
      await response.arrayBuffer();
      statuses.push(response.status);
      if (response.headers.get("connection") === "close") answeredWhileDraining += 1;
    }
  });
  await until("the load is steady", () => statuses.length > 50);
  const toldAt = performance.now();
  server.process.kill("SIGTERM");
  await until("some are answered while draining", () => answeredWhileDraining > 8);
  assert.equal((await fetch(`${server.opsUrl}/readyz`)).status, 503);
  balancer.isSending = false;
  await Promise.all(load);
  assert.equal(await server.ended, 0);
  assert.ok(performance.now() - toldAt < 700 + 5_000);
  assert.deepEqual([...new Set(statuses)], [200]);
  const { balance, held } = await reader.readMoney(wallet.management);
  assert.deepEqual([balance, held], [(50 - statuses.length / 100).toFixed(2), "0.00"]);
});

test("a search that is upstream when the server stops is answered and charged", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const server = await startTestServer(db, settings);
  await upstream.behave("slow_headers", { everyMs: 300 });
  upstream.requests.length = 0;
  const running = server.search(wallet.live, { query: "cats" });
  await until("it is upstream", () => upstream.requests.length === 1);
  server.app.startDraining();
  server.app.refuseRequests();
  const closed = server.close();
  assert.equal((await running).status, 200);
  await closed;
  await assert.rejects(fetch(`${server.url}/openapi.json`));
  assert.deepEqual(await reader.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
});

test("a stopping server writes down the charges of callers who have gone before it ends", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const server = await startTestServer(db, settings);
  await upstream.behave("slow_headers", { everyMs: 200 });
  upstream.requests.length = 0;
  const callers = await Promise.all([openRaw(server.url), openRaw(server.url), openRaw(server.url)]);
  const lines = [`x-api-key: ${wallet.live}`, "Content-Type: application/json"];
  for (const caller of callers) caller.write(rawRequest("POST /v1/search", lines, '{"query":"cats"}'));
  await until("all are upstream", () => upstream.requests.length === 3);
  // The first capture waits for this lock, and the others with it or for it.
  const lock = await db.owner.connect();
  await lock.query("begin");
  const locked = await lock.query<{ pid: number }>(
    "select pg_backend_pid() as pid from pb.wallets where id = $1 for update",
    [wallet.walletId],
  );
  await until("a capture waits", async () => {
    const waiting = "select from pg_stat_activity where $1 = any (pg_blocking_pids(pid))";
    return (await db.owner.query(waiting, [locked.rows[0]?.pid])).rowCount === 1;
  });
  for (const caller of callers) {
    caller.socket.destroy();
    await caller.closed;
  }
  const closed = server.close();
  // Long enough for a server that does not wait to be gone.
  await wait(100);
  await lock.query("rollback");
  lock.release();
  await closed;
  assert.deepEqual(await reader.readMoney(wallet.management), { balance: "0.02", held: "0.00" });
});

test("a late request on a kept connection is 503 shutting_down with Retry-After, and the connection is closed", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const server = await startTestServer(db, settings);
  const connection = await openRaw(server.url);
  const request = rawRequest(
    "POST /v1/search",
    [`x-api-key: ${wallet.test}`, "Content-Type: application/json"],
    '{"query":"cats"}',
  );
  connection.write(request);
  assert.equal((await connection.answer()).status, 200);
  server.app.startDraining();
  server.app.refuseRequests();
  connection.write(request);
  const late = await connection.answer();
  assert.deepEqual(
    [late.status, JSON.parse(late.text).code, late.headers.get("retry-after")],
    [503, "shutting_down", "1"],
  );
  assert.equal(late.headers.get("connection"), "close");
  await connection.closed;
  await server.close();
});

test("an idle kept connection does not keep a stopping server alive", async () => {
  const server = await startTestServer(db, settings);
  const connection = await openRaw(server.url);
  connection.write(rawRequest("GET /llms.txt", []));
  assert.equal((await connection.answer()).status, 200);
  await server.close();
  await connection.closed;
});
