import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { lockWallet } from "../support/data/lock-wallet.ts";
import { openRaw, rawRequest, rawSearch } from "../support/raw-http.ts";
import { replaceConstants } from "../support/replace-constants.ts";
import { createTestKey } from "../support/services/server.ts";
import { startServerProcess } from "../support/services/server-process.ts";

// A deployment must fail no request: a stopping server finishes the requests that it has received.

const { db, upstream, server: reader, startServer, createWallet } = await createFixture();

test("after SIGTERM under load every request returns 200 until traffic stops, and the process exits with 0", async () => {
  const wallet = await createWallet("50.00");
  const fast = { searchesPerSecond: 100_000, searchesInFlight: 100_000 };
  const { key } = await createTestKey(db, { walletId: wallet.walletId, ...fast });
  await upstream.behave("slow_headers", { everyMs: 30 });
  const server = await startServerProcess(db, {
    PENNYBLACK_SEARXNG_URL: upstream.url,
    ...replaceConstants({ drainMs: 3_000 }),
  });
  const statuses: number[] = [];
  const balancer = { isSending: true };
  let answeredWhileDraining = 0;

  // Like a load balancer, which sends until the server is not ready.
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
  server.process.kill("SIGTERM");
  await until("some are answered while draining", () => answeredWhileDraining > 8);
  assert.equal((await fetch(`${server.opsUrl}/readyz`)).status, 503);
  balancer.isSending = false;
  await Promise.all(load);
  assert.equal(await server.ended, 0);
  assert.deepEqual([...new Set(statuses)], [200]);
  const { balance, held } = await reader.readMoney(wallet.management);
  assert.deepEqual([balance, held], [(50 - statuses.length / 100).toFixed(2), "0.00"]);
});

test("a search in flight when the server stops is answered and charged", async (t) => {
  const wallet = await createWallet("0.05");
  const server = await startServer({}, t);
  await upstream.behave("ok_when_released");
  upstream.requests.length = 0;
  const running = server.search(wallet.live, { query: "cats" });
  await until("the upstream is called", () => upstream.requests.length === 1);
  server.app.startDraining();
  server.app.refuseRequests();
  const closed = server.close();
  upstream.release();
  assert.equal((await running).status, 200);
  await closed;
  await assert.rejects(fetch(`${server.url}/openapi.json`));
  assert.deepEqual(await reader.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
});

test("a stopping server commits the charges of callers that have disconnected", async (t) => {
  const wallet = await createWallet("0.05");
  const server = await startServer({}, t);
  await upstream.behave("ok_when_released");
  upstream.requests.length = 0;
  const callers = await Promise.all([openRaw(server.url), openRaw(server.url), openRaw(server.url)]);
  for (const caller of callers) caller.write(rawSearch(wallet.live));
  await until("the upstream is called for all", () => upstream.requests.length === 3);
  // The first capture waits for this lock; the others are in its batch or in the queue.
  const lock = await lockWallet(db, wallet);
  upstream.release();
  await until("a capture waits", async () => (await lock.waiting()) === 1);
  for (const caller of callers) {
    caller.socket.destroy();
    await caller.closed;
  }
  const closed = server.close();
  await until("the server accepts no connections", () =>
    fetch(server.url).then(
      () => false,
      () => true,
    ),
  );
  await lock.release();
  await closed;
  assert.deepEqual(await reader.readMoney(wallet.management), { balance: "0.02", held: "0.00" });
});

test("a late request on an open connection returns 503 shutting_down with Retry-After and closes it", async (t) => {
  const wallet = await createWallet("0.05");
  const server = await startServer({}, t);
  const connection = await openRaw(server.url);
  const request = rawSearch(wallet.test);
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
});

test("an idle connection does not keep a stopping server alive", async (t) => {
  const server = await startServer({}, t);
  const connection = await openRaw(server.url);
  connection.write(rawRequest("GET /llms.txt", []));
  assert.equal((await connection.answer()).status, 200);
  await server.close();
  await connection.closed;
});
