import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, type TestContext, test } from "node:test";
import { Redis } from "ioredis";
import { constants } from "../../src/config/constants.ts";
import { createRequestLimits } from "../../src/limits/request-limits.ts";
import { createFixture } from "../fixture.ts";
import { assertRateLimitHeaders } from "../support/assertions/assert-response.ts";
import { countBy } from "../support/assertions/count-by.ts";
import { until } from "../support/assertions/until.ts";
import { replaceConstants } from "../support/replace-constants.ts";
import { startPrivateRedis } from "../support/services/private-redis.ts";
import { createTestKey, type Reply, type TestServer } from "../support/services/server.ts";

// Limits are counted in Redis for all servers. Without Redis they are less precise, and searches continue.

const sharedRedis = process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379";
const { db, upstream, server, startServer, createWallet } = await createFixture({
  REDIS_URL: sharedRedis,
  PENNYBLACK_SERVERS: "1",
});
const pair = [server, await startServer()] as const;
const wallet = await createWallet("5.00");
const redis = new Redis(sharedRedis);

after(() => redis.disconnect());

const question = { query: "cats" };

function createLimited(
  limits: { searchesPerSecond?: number; searchesInFlight?: number },
  mode: "live" | "test" = "test",
) {
  return createTestKey(db, { walletId: wallet.walletId, mode, ...limits });
}

const codes = (replies: Reply[]) => countBy(replies, ({ body }) => body.code ?? "ok");

/** Sequential and alternating between the servers, because concurrent searches in one process can delay Redis. */
async function inTurns(key: string, times: number): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (let turn = 0; turn < times; turn += 1)
    replies.push(await (turn % 2 === 0 ? pair[0] : pair[1]).search(key, question));
  return replies;
}

async function untilRedisIsUsed(server: TestServer): Promise<void> {
  // Before the connection is established, searches are counted by the server alone.
  await until("the server counts in Redis", async () => {
    // The first half of a large limit is counted without Redis.
    const { id, key } = await createLimited({ searchesPerSecond: 50 });
    await server.search(key, question);
    return (await redis.keys(`*${id}*`)).length > 0;
  });
}

/** Starts a window of a minute instead of a second, so that the result does not depend on the speed of the machine. */
async function startWindow(keyId: string, used = 0): Promise<void> {
  await redis.set(`pb:rate:${keyId}`, used, "PX", 60_000);
}

test("two servers share the rate limit of a key", async () => {
  for (const server of pair) await untilRedisIsUsed(server);
  const { id, key } = await createLimited({ searchesPerSecond: 3 });
  await startWindow(id);
  const replies = await inTurns(key, 6);
  assert.deepEqual(
    replies.map(({ status, headers }) => [status, headers.get("ratelimit")?.split(";t=")[0]]),
    [2, 1, 0, 0, 0, 0].map((left, turn) => [turn < 3 ? 200 : 429, `"key";r=${left}`]),
  );
  for (const { headers } of replies) assert.equal(headers.get("ratelimit-policy"), '"key";q=3;w=1');
  for (const { body, headers } of replies.slice(3)) {
    assert.equal(body.code, "rate_limited");
    assert.equal(headers.get("retry-after"), headers.get("ratelimit")?.split(";t=")[1]);
  }
});

test("each server counts half of a large limit locally, and together they do not exceed it", async (t) => {
  const [one, other] = [createRequestLimits({ redis, servers: 2 }), createRequestLimits({ redis, servers: 2 })];
  const key = { keyId: randomUUID(), searchesPerSecond: 200, searchesInFlight: 1_000 };
  const nowMs = performance.now();
  t.mock.method(performance, "now", () => nowMs);
  await startWindow(key.keyId);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? one(key) : other(key))),
  );
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 200);
  assert.equal(await redis.get(`pb:rate:${key.keyId}`), "200");
});

test("the key can search again in the next window, a second later", async () => {
  const { id, key } = await createLimited({ searchesPerSecond: 1 });
  const first = await pair[0].search(key, question);
  assert.equal(first.status, 200);
  assertRateLimitHeaders(first.headers, 1);
  assert.ok((await redis.pttl(`pb:rate:${id}`)) <= 1_000);
  await startWindow(id, 1);
  assert.deepEqual(codes(await inTurns(key, 2)), { rate_limited: 2 });
  await redis.pexpire(`pb:rate:${id}`, 1);
  await until("one succeeds", async () => (await pair[0].search(key, question)).status === 200);
});

test("two servers share the concurrency limit of a key and free the slots again", async () => {
  const { id, key } = await createLimited({ searchesInFlight: 3 }, "live");
  await upstream.behave("ok_when_released");
  upstream.requests.length = 0;
  const running: Promise<Reply>[] = [];
  for (const server of [pair[0], pair[1], pair[0]]) {
    running.push(server.search(key, question));
    await until("the upstream is called", () => upstream.requests.length === running.length);
  }
  assert.equal(await redis.zcard(`pb:flight:${id}`), 3);
  for (const server of pair) {
    const { status, body, headers } = await server.search(key, question);
    assert.deepEqual([status, body.code, headers.get("retry-after")], [429, "concurrency_limited", "1"]);
  }
  upstream.release();
  assert.deepEqual(codes(await Promise.all(running)), { ok: 3 });
  await upstream.behave("ok");
  await until("the slots are free", async () => (await redis.zcard(`pb:flight:${id}`)) === 0);
  assert.deepEqual(codes(await inTurns(key, 2)), { ok: 2 });
});

test("a failed or invalid search frees its slot", async () => {
  const { id, key } = await createLimited({ searchesInFlight: 1 }, "live");
  await upstream.behave("status_503");
  for (const body of [question, "{", { query: "" }]) assert.notEqual((await pair[0].search(key, body)).status, 200);
  await upstream.behave("ok");
  await until("the slot is free", async () => (await redis.zcard(`pb:flight:${id}`)) === 0);
  assert.equal((await pair[1].search(key, question)).status, 200);
});

test("a rate-limited search frees its slot", async () => {
  const { id, key } = await createLimited({ searchesPerSecond: 1, searchesInFlight: 1 }, "live");
  await startWindow(id, 1);
  assert.deepEqual(codes(await inTurns(key, 2)), { rate_limited: 2 });
  await until("the slot is free", async () => (await redis.zcard(`pb:flight:${id}`)) === 0);
  await startWindow(id);
  assert.equal((await pair[1].search(key, question)).status, 200);
});

test("the slot of a dead server is free after two minutes", async () => {
  const { id, key } = await createLimited({ searchesInFlight: 1 });
  for (const server of pair) await untilRedisIsUsed(server);
  const [seconds] = await redis.time();
  // Half a minute is left for the search.
  await redis.zadd(`pb:flight:${id}`, Number(seconds) * 1000 - 90_000, "a search of a dead server");
  assert.equal((await pair[0].search(key, question)).body.code, "concurrency_limited");
  await redis.zadd(`pb:flight:${id}`, Number(seconds) * 1000 - 121_000, "a search of a dead server");
  assert.equal((await pair[0].search(key, question)).status, 200);
});

test("without Redis from the start each server applies its share of the limit", async (t) => {
  const alone = await startServer({ REDIS_URL: "redis://127.0.0.1:1", PENNYBLACK_SERVERS: "2" }, t);
  const { key } = await createLimited({ searchesPerSecond: 4 });
  const reply = await alone.search(key, question);
  assert.equal(reply.status, 200);
  assertRateLimitHeaders(reply.headers, 4);
  const narrow = await createLimited({ searchesInFlight: 2 }, "live");
  await upstream.behave("ok_when_released");
  upstream.requests.length = 0;
  const running = alone.search(narrow.key, question);
  await until("the upstream is called", () => upstream.requests.length === 1);
  assert.equal((await alone.search(narrow.key, question)).body.code, "concurrency_limited");
  upstream.release();
  assert.equal((await running).status, 200);
  await upstream.behave("ok");
  assert.equal((await alone.search(narrow.key, question)).status, 200);
});

test("a server whose Redis is not ready counts its share of the rate", async (t) => {
  const unused = new Redis("redis://127.0.0.1:1", { lazyConnect: true });
  t.after(() => unused.disconnect());
  const acquire = createRequestLimits({ redis: unused, servers: 2 });
  const key = { keyId: randomUUID(), searchesPerSecond: 4, searchesInFlight: 1_000 };
  // In one turn of the event loop, so that no window ends.
  const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => acquire(key)));
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "fulfilled", "rejected", "rejected"],
  );
});

async function startWithOwnRedis(t: TestContext) {
  const own = await startPrivateRedis();
  const client = new Redis(own.url);
  t.after(() => client.disconnect());
  const settings = { REDIS_URL: own.url, ...replaceConstants({ redisTimeoutMs: constants.redisTimeoutMs }) };
  return { own, client, server: await startServer(settings, t) };
}

async function countsIn(client: Redis, server: TestServer, key: string): Promise<boolean> {
  await server.search(key, question);
  return (await client.keys("pb:rate*")).length > 0;
}

test("killing Redis fails no search, and counting is shared again after its restart", async (t) => {
  const { own, server } = await startWithOwnRedis(t);
  // Few enough slots that each of them is counted in Redis.
  const { key } = await createLimited({ searchesPerSecond: 100_000, searchesInFlight: 50 });
  const narrow = await createLimited({ searchesPerSecond: 99 });
  const replies: Reply[] = [];
  const load = { isStopped: false };
  const callers = Array.from({ length: 4 }, async () => {
    while (!load.isStopped) replies.push(await server.search(key, question));
  });
  await until("some are answered", () => replies.length > 20);
  await own.kill();
  const before = replies.length;
  await until("more are answered without it", () => replies.length > before + 40);
  const restarted = await startPrivateRedis(Number(new URL(own.url).port));
  const client = new Redis(restarted.url);
  // Both limits, because the second is a script that the new Redis does not have yet.
  await until("it is used again", async () => {
    await server.search(narrow.key, question);
    const hasRate = (await client.keys("pb:rate*")).length > 0;
    return hasRate && (await client.info("commandstats")).includes("cmdstat_zadd");
  });
  load.isStopped = true;
  await Promise.all(callers);
  assert.deepEqual(Object.keys(codes(replies)), ["ok"]);
  client.disconnect();
});

test("no search waits for a suspended Redis, none fails and none is counted twice", async (t) => {
  const { own, client, server } = await startWithOwnRedis(t);
  const { id, key } = await createLimited({ searchesPerSecond: 99, searchesInFlight: 10 });
  await until("Redis is used", () => countsIn(client, server, key));
  own.process.kill("SIGSTOP");
  for (let round = 0; round < 20; round += 1) assert.equal((await server.search(key, question)).status, 200);
  own.process.kill("SIGCONT");
  // Redis now processes the queued commands, which free every slot that they take.
  await until("all slots are free", async () => (await client.zcard(`pb:flight:${id}`)) === 0, 3_000);
  assert.equal((await server.search(key, question)).status, 200);
});

test("a Redis that returns errors or rejects writes fails no search", async (t) => {
  const { client, server } = await startWithOwnRedis(t);
  const { id, key } = await createLimited({ searchesPerSecond: 99 });
  await until("Redis is used", () => countsIn(client, server, key));
  await client.set(`pb:flight:${id}`, "not a sorted set");
  assert.equal((await server.search(key, question)).status, 200);
  await client.config("SET", "min-replicas-to-write", "5");
  assert.equal((await server.search(key, question)).status, 200);
});
