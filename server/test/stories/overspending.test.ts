import assert from "node:assert/strict";
import { after, test } from "node:test";
import { formatReport, reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { until } from "../support/assertions/until.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer } from "../support/services/server.ts";
import { startServerProcess } from "../support/services/server-process.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// The one promise everything else stands on: a wallet never buys more than it holds.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const settings = { PENNYBLACK_SEARXNG_URL: upstream.url };
const server = await startTestServer(db, settings);

after(async () => {
  await server.close();
  await upstream.close();
  await db.drop();
});

interface Tally {
  [outcome: string]: number;
}

async function searchAtOnce(urls: string[], key: string, times: number): Promise<Tally> {
  const tally: Tally = {};
  const ask = async (url: string): Promise<void> => {
    const response = await fetch(`${url}/v1/search`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ query: "cats" }),
    });
    const { code = "paid" } = (await response.json()) as { code?: string };
    tally[`${response.status} ${code}`] = (tally[`${response.status} ${code}`] ?? 0) + 1;
  };
  await Promise.all(Array.from({ length: times }, (_, index) => ask(urls[index % urls.length] ?? "")));
  return tally;
}

async function assertBooksBalance(): Promise<void> {
  const report = await reconcile(db.owner);
  assert.ok(report.isClean, formatReport(report));
}

function assertFivePaid(tally: Tally, times: number): void {
  const {
    "200 paid": paid,
    "402 insufficient_balance": poor = 0,
    "402 balance_reserved": reserved = 0,
    ...rest
  } = tally;
  assert.deepEqual(rest, {}, "something other than 200 and 402 was answered");
  assert.equal(paid, 5);
  assert.equal(poor + reserved, times - 5);
}

test("500 searches at once on a wallet of 0.05 USD: five are answered and paid, 495 are 402", async () => {
  const wallet = await createTestWallet(db, "0.05");
  upstream.requests.length = 0;
  assertFivePaid(await searchAtOnce([server.url], wallet.live, 500), 500);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.00", held: "0.00" });
  assert.equal(upstream.requests.length, 5, "the upstream was asked for searches nobody can pay");
  await assertBooksBalance();
});

test("the same over two server processes, and the books balance", async () => {
  const wallet = await createTestWallet(db, "0.05");
  const servers = await Promise.all([startServerProcess(db, settings), startServerProcess(db, settings)]);
  upstream.requests.length = 0;
  assertFivePaid(
    await searchAtOnce(
      servers.map(({ url }) => url),
      wallet.live,
      500,
    ),
    500,
  );
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.00", held: "0.00" });
  assert.equal(upstream.requests.length, 5);
  await assertBooksBalance();
  for (const { process } of servers) process.kill("SIGTERM");
  assert.deepEqual(await Promise.all(servers.map(({ ended }) => ended)), [0, 0]);
});

test("an upstream that fails every other search lets the money go further, not longer", async () => {
  const wallet = await createTestWallet(db, "0.05");
  await upstream.behave("status_503");
  const failed = await searchAtOnce([server.url], wallet.live, 100);
  assert.ok((failed["503 upstream_error"] ?? 0) >= 5);
  assert.equal(failed["200 paid"], undefined);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
  await upstream.behave("ok");
  const tally = await searchAtOnce([server.url], wallet.live, 100);
  assert.equal(tally["200 paid"], 5);
  await assertBooksBalance();
});

test("a process killed in the middle charges nothing for what it did not answer", async () => {
  const wallet = await createTestWallet(db, "0.05");
  await upstream.behave("slow_headers", { everyMs: 5_000 });
  upstream.requests.length = 0;
  const doomed = await startServerProcess(db, settings);
  const running = searchAtOnce([doomed.url], wallet.live, 5).catch(() => undefined);
  await until("all five are held", async () => (await server.readMoney(wallet.management)).held === "0.05");
  doomed.process.kill("SIGKILL");
  await doomed.ended;
  await running;
  await upstream.behave("ok");
  // Still held until the holds expire; no search can spend it meanwhile, and none was charged.
  assert.equal((await server.search(wallet.live, { query: "cats" })).body.code, "balance_reserved");
  await db.owner.query("update pb.searches set expires_at = clock_timestamp() where wallet_id = $1", [wallet.walletId]);
  await db.owner.query("select pb.sweep(100)");
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
  assert.equal((await server.search(wallet.live, { query: "cats" })).status, 200);
  await assertBooksBalance();
});
