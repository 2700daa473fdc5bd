import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { until } from "../support/assertions/until.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer } from "../support/services/server.ts";

// The upstream fails while another transaction holds the lock of the wallet, so the hold cannot be released.

const db = await createTestDatabase();
const wallet = await createTestWallet(db, "0.05");
const lock = await db.owner.connect();
await lock.query("set idle_in_transaction_session_timeout = 0");
const upstream = createServer((_request, response) => {
  (async () => {
    await lock.query("begin");
    await lock.query("select from pb.wallets where id = $1 for update", [wallet.walletId]);
    response.writeHead(503).end();
  })().catch(() => response.destroy());
}).listen(0, "127.0.0.1");
await once(upstream, "listening");
const settings = { PENNYBLACK_SEARXNG_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}` };
const reader = await startTestServer(db);
const server = await startTestServer(db, settings);
let closing: Promise<void> | undefined;

after(async () => {
  lock.release(true);
  await (closing ?? server.close());
  upstream.close();
  await reader.close();
  await db.drop();
});

test("a failed search is answered although its release hangs, and a stopping server waits for the release", async () => {
  const reply = await server.search(wallet.live, { query: "cats" });
  assert.deepEqual([reply.status, reply.body.charged], [503, false]);
  assert.deepEqual(await reader.readMoney(wallet.management), { balance: "0.05", held: "0.01" });

  let isClosed = false;
  closing = server.close().then(() => {
    isClosed = true;
  });
  await until("the server stops listening", () =>
    fetch(server.url).then(
      () => false,
      () => true,
    ),
  );
  assert.equal(isClosed, false);
  await lock.query("rollback");
  await closing;
  assert.deepEqual(await reader.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
});
