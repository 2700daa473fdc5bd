import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import http from "node:http";
import { after, beforeEach, type TestContext, test } from "node:test";
import { Redis } from "ioredis";
import { createUnpaidLimit, type UnpaidLimit } from "../../src/limits/unpaid-limit.ts";
import { readWalletMargin } from "../../src/usage/read-margin.ts";
import { until } from "../support/assertions/until.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, type Reply, startTestServer, type TestWallet } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";

// A search that its caller abandons is not charged, but the upstream was called and may charge for it. The cost is booked
// when the request is sent, and a wallet that keeps doing this is limited. A Brave call costs 5,000 micro-USD.

const db = await createTestDatabase();
const upstream = await startFixtureUpstream("brave", "ok");
const operatorToken = "an-operator-token-of-forty-characters-ok";
const sharedRedis = process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379";
const settings = {
  ...replaceUrl("brave", upstream.url),
  PENNYBLACK_BRAVE_KEY: "key",
  PENNYBLACK_OPERATORS: `alice:${operatorToken}`,
  PENNYBLACK_OPERATOR_DATABASE_URL: db.operatorUrl,
  PENNYBLACK_SERVERS: "1",
};
const server = await startTestServer(db, settings);
const pair = [
  await startTestServer(db, { ...settings, REDIS_URL: sharedRedis }),
  await startTestServer(db, { ...settings, REDIS_URL: sharedRedis }),
] as const;

beforeEach(() => upstream.stall());
after(async () => {
  for (const each of [server, ...pair]) await each.close();
  await upstream.close();
  await db.drop();
});

/** Sends a search, and disconnects as soon as the upstream was called. Resolves with the status if there was a response. */
async function dropSearch(wallet: TestWallet, url = server.url): Promise<number | undefined> {
  const called = upstream.count();
  let status: number | undefined;
  const request = http.request(`${url}/v1/search`, {
    method: "POST",
    agent: false,
    headers: { authorization: `Bearer ${wallet.live}`, "content-type": "application/json" },
  });
  request.on("response", (response) => {
    ({ statusCode: status } = response);
    response.resume();
  });
  request.on("error", () => undefined);
  request.end('{"query":"cats"}');
  await until("called or answered", () => upstream.count() > called || status !== undefined);
  request.destroy();
  // One cent pays for one search at a time.
  await until("released", async () => (await server.readMoney(wallet.management)).held === "0.00");
  return status;
}

async function operate(path: string, token = operatorToken): Promise<Reply["body"]> {
  const response = await fetch(`${server.opsUrl}/operator/${path}`, { headers: { authorization: `Bearer ${token}` } });
  return response.json();
}

/** The operator's figures for a wallet, once the server has written all of them. */
async function marginOf({ walletId }: TestWallet, calls: number): Promise<Record<string, unknown>> {
  let wallet: Record<string, unknown> | undefined;
  await until("the tally is written", async () => {
    ({
      wallets: [wallet],
    } = await operate(`margin?wallet=${walletId}`));
    return wallet?.["calls"] === calls;
  });
  return wallet ?? {};
}

/** Time refills the allowance, so that a slow machine would accept more calls. */
function stopClock(t: TestContext): void {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
}

test("a one-cent wallet that drops every connection gets 20 unpaid upstream calls, and the operator sees their cost", async (t) => {
  stopClock(t);
  const wallet = await createTestWallet(db, "0.01");
  const called = upstream.count();
  const statuses: (number | undefined)[] = [];
  for (let count = 0; count < 30; count += 1) statuses.push(await dropSearch(wallet));
  assert.equal(upstream.count() - called, 20);
  assert.deepEqual([...new Set(statuses.slice(0, 20))], [undefined]);
  assert.deepEqual([...new Set(statuses.slice(20))], [429]);

  const rejected = await server.search(wallet.live, { query: "cats" });
  assert.deepEqual([rejected.status, rejected.body.code, rejected.body.retryable], [429, "unpaid_calls_limited", true]);
  assert.match(rejected.body.detail, /5 unpaid upstream calls per minute.*You were not charged.*`Retry-After`/);
  const retryAfter = Number(rejected.headers.get("retry-after"));
  assert.ok(retryAfter >= 1 && retryAfter <= 12, `retry after ${retryAfter} s`);
  assert.equal(rejected.headers.get("ratelimit-policy"), '"unpaid";q=5;w=60');
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.01", held: "0.00" });

  assert.deepEqual(await marginOf(wallet, 20), {
    wallet_id: wallet.walletId,
    calls: 20,
    name: "test",
    unpaid_calls: 20,
    abandoned_calls: 20,
    revenue: "0.00",
    cost: "0.10",
    paid_cost: "0.00",
    unpaid_cost: "0.10",
    margin: "-0.10",
  });
  const { items } = await operate("attention");
  assert.ok(
    items.some(
      ({ title, runbook }: { title: string; runbook: string }) =>
        title === `Wallet ${wallet.walletId} caused 20 unpaid upstream calls costing $0.10 in the last hour` &&
        runbook === "/docs/runbooks/unpaid-calls",
    ),
    JSON.stringify(items),
  );
  assert.match(
    await server.readMetrics(),
    /pennyblack_unpaid_upstream_calls_total\{upstream="brave",cause="caller"\} 20\b/,
  );
});

test("a wallet that sends Prefer: wait=1 is limited in the same way", async (t) => {
  stopClock(t);
  const wallet = await createTestWallet(db, "0.20");
  const called = upstream.count();
  const search = () => server.search(wallet.live, { query: "cats" }, { prefer: "wait=1" });
  // Twenty at once instead of one after another, to save 20 seconds.
  const first = await Promise.all(Array.from({ length: 20 }, search));
  assert.deepEqual([...new Set(first.map(({ status }) => status))], [504]);
  const next = await Promise.all(Array.from({ length: 10 }, search));
  assert.deepEqual([...new Set(next.map(({ body }) => body.code))], ["unpaid_calls_limited"]);
  assert.equal(upstream.count() - called, 20);
  const { unpaid_cost: unpaid, abandoned_calls: abandoned } = await marginOf(wallet, 20);
  assert.deepEqual([unpaid, abandoned], ["0.10", 20]);
  assert.equal((await server.readMoney(wallet.management)).balance, "0.20");
});

test("two servers count in one place, and time refills the allowance", async (t) => {
  stopClock(t);
  const redis = new Redis(sharedRedis);
  await until("redis is ready", () => redis.status === "ready");
  const limits = [createUnpaidLimit({ redis, servers: 2 }), createUnpaidLimit({ redis, servers: 2 })] as const;
  const walletId = randomUUID();
  const name = `pb:unpaid:${walletId}`;
  const search = (limit: UnpaidLimit, isPaid: boolean): Promise<number> =>
    limit.enter(walletId).then(
      (end) => {
        end({ isPaid, unpaidCalls: isPaid ? 0 : 1 });
        return 1;
      },
      () => 0,
    );
  let accepted = 0;
  for (let count = 0; count < 40; count += 1) accepted += await search(limits[count % 2 ? 1 : 0], false);
  assert.equal(accepted, 20);
  assert.ok((await redis.pttl(name)) > 20 * 12_000);

  // 72 seconds pass, which is enough for six calls.
  await redis.hincrby(name, "at", -72_000);
  accepted = 0;
  for (let count = 0; count < 40; count += 1) accepted += await search(limits[0], false);
  assert.equal(accepted, 6);

  // A paid search on one server lowers the level for both.
  await redis.hset(name, "level", "18.5");
  assert.equal(await search(limits[1], true), 1);
  await until("the level fell", async () => Number(await redis.hget(name, "level")) < 18);

  // A wallet far above the limit may search every 12 seconds, and immediately after a paid search.
  const setLevel = (startedSecondsAgo: number) =>
    redis.hset(name, { level: 1_000, reserved: 0, started: Date.now() - startedSecondsAgo * 1_000 });
  await setLevel(1);
  assert.deepEqual([await search(limits[0], true), await search(limits[1], true)], [0, 0]);
  await setLevel(13);
  for (let count = 0; count < 20; count += 1) assert.equal(await search(limits[count % 2 ? 1 : 0], true), 1);
  await until("the level fell", async () => Number(await redis.hget(name, "level")) < 981);
  assert.deepEqual([await search(limits[0], false), await search(limits[1], false)], [1, 0]);
  assert.ok((await redis.pttl(name)) > 980 * 12_000);
  await redis.del(name);

  // Without Redis, each server continues from the level that it has seen.
  redis.disconnect();
  accepted = 0;
  for (let count = 0; count < 20; count += 1) accepted += await search(limits[0], false);
  assert.equal(accepted, 1);
});

test("two servers share the limit", async (t) => {
  const redis = new Redis(sharedRedis);
  t.after(() => redis.disconnect());
  const wallet = await createTestWallet(db, "0.01");
  const name = `pb:unpaid:${wallet.walletId}`;
  for (const each of pair) {
    // A server counts on its own until its connection to Redis is ready.
    await until("an unpaid call is counted in Redis", async () => {
      assert.equal(await dropSearch(wallet, each.url), undefined);
      return Number(await redis.hget(name, "level")) >= 1;
    });
    await redis.del(name);
  }
  // Without a search that started 12 seconds ago, even on a slow machine.
  await redis.hset(name, { level: 1_000, reserved: 0, at: Date.now(), started: Date.now() + 3_600_000 });
  const called = upstream.count();
  for (const each of pair)
    assert.equal((await each.search(wallet.live, { query: "cats" })).body.code, "unpaid_calls_limited");
  assert.equal(upstream.count(), called);
});

test("a wallet whose searches succeed is not limited by occasional timeouts", async () => {
  const wallet = await createTestWallet(db, "2.00");
  for (let count = 0; count < 25; count += 1) {
    upstream.serve("brave", "ok");
    assert.equal((await server.search(wallet.live, { query: "cats" })).status, 200);
    upstream.stall();
    assert.equal(await dropSearch(wallet), undefined);
  }
  const { revenue, paid_cost, unpaid_cost, abandoned_calls } = await marginOf(wallet, 50);
  assert.deepEqual([paid_cost, unpaid_cost, abandoned_calls], ["0.125", "0.125", 25]);
  assert.ok(revenue === "0.00" || revenue === "0.25", "revenue comes from the ledger, after the roll-up");
  const { items } = await operate("attention");
  assert.doesNotMatch(JSON.stringify(items), new RegExp(wallet.walletId));
});

test("failures of the upstream cost money and never limit the wallet", async () => {
  const wallet = await createTestWallet(db, "0.05");
  upstream.serve("brave", "down");
  for (let count = 0; count < 25; count += 1) {
    const { status } = await server.search(wallet.live, { query: "cats" }, { prefer: "wait=5" });
    assert.notEqual(status, 429);
  }
  const { unpaid_cost: unpaid, abandoned_calls: abandoned } = await marginOf(wallet, 25);
  assert.deepEqual([unpaid, abandoned], ["0.125", 0]);
});

test("a wallet whose searches get responses that we reject is limited, because the upstream charges for them", async (t) => {
  stopClock(t);
  const wallet = await createTestWallet(db, "0.05");
  upstream.serve("brave", "invalid-shape");
  const codes: string[] = [];
  for (let count = 0; count < 25; count += 1)
    codes.push((await server.search(wallet.live, { query: "cats" })).body.code);
  assert.deepEqual([...new Set(codes.slice(0, 20))], ["upstream_invalid_response"]);
  assert.deepEqual([...new Set(codes.slice(20))], ["unpaid_calls_limited"]);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
  assert.match(
    await server.readMetrics(),
    /pennyblack_unpaid_upstream_calls_total\{upstream="brave",cause="rejected"\} 20\b/,
  );
});

test("an ordinary shutdown writes the costs of abandoned searches", async () => {
  const wallet = await createTestWallet(db, "0.01");
  const stopping = await startTestServer(db, settings);
  await dropSearch(wallet, stopping.url);
  await stopping.close();
  const day = new Date().toISOString().slice(0, 10);
  const [row] = await readWalletMargin(db.operator, {
    from: day,
    to: day,
    order: "unpaid",
    walletId: wallet.walletId,
    limit: 1,
  });
  assert.deepEqual([row?.calls, row?.cost, row?.paidCost, row?.abandonedCalls], [1, 5_000n, 0n, 1]);
});
