import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { Redis } from "ioredis";
import { createRequestLimits } from "../../src/http/request-limits.ts";
import { assertRateLimitHeaders } from "../support/assertions/assert-response.ts";
import { until } from "../support/assertions/until.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { startPrivateRedis } from "../support/services/private-redis.ts";
import {
  createTestKey,
  createTestWallet,
  type Reply,
  startTestServer,
  type TestServer,
} from "../support/services/server.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// Limits are counted in Redis for all servers together. Losing Redis costs precision, never a search.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const sharedRedis = process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379";
const settings = { PENNYBLACK_SEARXNG_URL: upstream.url, REDIS_URL: sharedRedis, PENNYBLACK_SERVERS: "1" };
const pair = [await startTestServer(db, settings), await startTestServer(db, settings)] as const;
const wallet = await createTestWallet(db, "5.00");
const redis = new Redis(sharedRedis);

after(async () => {
  for (const server of pair) await server.close();
  await upstream.close();
  redis.disconnect();
  await db.drop();
});

const question = { query: "cats" };

function createLimited(
  limits: { searchesPerSecond?: number; searchesInFlight?: number },
  mode: "live" | "test" = "test",
) {
  return createTestKey(db, { walletId: wallet.walletId, mode, name: "limited", ...limits });
}

function codes(replies: Reply[]): Record<string, number> {
  const counted = Object.groupBy(replies, (reply) => reply.body.code ?? "ok");
  return Object.fromEntries(Object.entries(counted).map(([code, list = []]) => [code, list.length]));
}

/** One after the other on each server in turn: in one process, many at once can make Redis look late. */
async function inTurns(key: string, times: number): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (let turn = 0; turn < times; turn += 1)
    replies.push(await (turn % 2 === 0 ? pair[0] : pair[1]).search(key, question));
  return replies;
}

async function usesRedis(server: TestServer): Promise<void> {
  // Nothing is queued for a Redis that is not there yet, so the first searches may be counted alone.
  await until("the server counts in Redis", async () => {
    // Of a large limit the first half is not asked for.
    const { id, key } = await createLimited({ searchesPerSecond: 50 });
    await server.search(key, question);
    return (await redis.keys(`*${id}*`)).length > 0;
  });
}

test("two servers together let through what the key may per second, and no more", async () => {
  for (const server of pair) await usesRedis(server);
  // Redis may be late once on a busy machine, and then a server counts alone. Two that always do would let six through.
  let replies: Reply[] = [];
  await until("three of six are let through", async () => {
    const { key } = await createLimited({ searchesPerSecond: 3 });
    replies = await inTurns(key, 6);
    return isDeepStrictEqual(codes(replies), { ok: 3, rate_limited: 3 });
  });
  assert.deepEqual(
    replies.map(({ headers }) => headers.get("ratelimit")),
    [2, 1, 0, 0, 0, 0].map((left) => `"key";r=${left};t=1`),
  );
  for (const reply of replies) assertRateLimitHeaders(reply.headers, 3);
  for (const reply of replies.slice(3)) assert.equal(reply.headers.get("retry-after"), "1");
});

test("of a large limit each server counts half by itself, and together they let through no more", async () => {
  const [one, other] = [createRequestLimits({ redis, servers: 2 }), createRequestLimits({ redis, servers: 2 })];
  await until("200 of 300 are let through within one second", async () => {
    const key = { keyId: randomUUID(), searchesPerSecond: 200, searchesInFlight: 1_000 };
    const startedMs = performance.now();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? one(key) : other(key))),
    );
    if (performance.now() - startedMs > 900) return false;
    const entered = outcomes.filter(({ status }) => status === "fulfilled").length;
    assert.ok(entered <= 200, `${entered} were let through`);
    const asked = Number(await redis.get(`pb:rate:${key.keyId}`));
    return entered === 200 && asked === 200;
  });
});

test("when the window is over the key may search again", async () => {
  const { key } = await createLimited({ searchesPerSecond: 1 });
  await until("one is refused", async () => codes(await inTurns(key, 2))["rate_limited"] !== undefined);
  await until("one is let through", async () => (await pair[0].search(key, question)).status === 200, 3_000);
});

test("two servers together hold as many searches in flight as the key may, and free the places again", async () => {
  const { id, key } = await createLimited({ searchesInFlight: 3 }, "live");
  await upstream.behave("slow_headers", { everyMs: 400 });
  upstream.requests.length = 0;
  const running: Promise<Reply>[] = [];
  for (const server of [pair[0], pair[1], pair[0]]) {
    running.push(server.search(key, question));
    await until("it is upstream", () => upstream.requests.length === running.length);
  }
  assert.equal(await redis.zcard(`pb:flight:${id}`), 3);
  for (const server of pair) {
    const { status, body, headers } = await server.search(key, question);
    assert.deepEqual([status, body.code, headers.get("retry-after")], [429, "concurrency_limited", "1"]);
  }
  assert.deepEqual(codes(await Promise.all(running)), { ok: 3 });
  await upstream.behave("ok");
  await until("the places are free", async () => (await redis.zcard(`pb:flight:${id}`)) === 0);
  assert.deepEqual(codes(await inTurns(key, 2)), { ok: 2 });
});

test("a search that fails or is refused leaves its place too", async () => {
  const { id, key } = await createLimited({ searchesInFlight: 1 }, "live");
  await upstream.behave("status_503");
  for (const body of [question, "{", { query: "" }]) assert.notEqual((await pair[0].search(key, body)).status, 200);
  await upstream.behave("ok");
  await until("the place is free", async () => (await redis.zcard(`pb:flight:${id}`)) === 0);
  assert.equal((await pair[1].search(key, question)).status, 200);
});

test("so does one that came too soon", async () => {
  const { id, key } = await createLimited({ searchesPerSecond: 1, searchesInFlight: 1 }, "live");
  await until("one is refused", async () => codes(await inTurns(key, 2))["rate_limited"] !== undefined);
  await until("the place is free", async () => (await redis.zcard(`pb:flight:${id}`)) === 0);
  await until("one is let through", async () => (await pair[1].search(key, question)).status === 200, 3_000);
});

test("the place of a server that died is free again after two minutes", async () => {
  const { id, key } = await createLimited({ searchesInFlight: 1 });
  const [seconds] = await redis.time();
  await redis.zadd(`pb:flight:${id}`, Number(seconds) * 1000 - 119_000, "a search of a server that died");
  assert.equal((await pair[0].search(key, question)).body.code, "concurrency_limited");
  await redis.zadd(`pb:flight:${id}`, Number(seconds) * 1000 - 121_000, "a search of a server that died");
  assert.equal((await pair[0].search(key, question)).status, 200);
});

test("with Redis away from the start each server counts alone against its share", async () => {
  const nobody = { ...settings, REDIS_URL: "redis://127.0.0.1:1", PENNYBLACK_SERVERS: "2" };
  const lonely = await startTestServer(db, nobody);
  const { key } = await createLimited({ searchesPerSecond: 4 });
  const replies = await Promise.all(Array.from({ length: 4 }, () => lonely.search(key, question)));
  assert.deepEqual(codes(replies), { ok: 2, rate_limited: 2 });
  for (const reply of replies) assertRateLimitHeaders(reply.headers, 4);
  const narrow = await createLimited({ searchesInFlight: 2 }, "live");
  await upstream.behave("slow_headers", { everyMs: 200 });
  const inFlight = await Promise.all([lonely.search(narrow.key, question), lonely.search(narrow.key, question)]);
  assert.deepEqual(codes(inFlight), { ok: 1, concurrency_limited: 1 });
  await upstream.behave("ok");
  assert.equal((await lonely.search(narrow.key, question)).status, 200);
  await lonely.close();
});

test("a Redis that is killed midway refuses no search, and counting is shared again when it is back", async () => {
  const own = await startPrivateRedis();
  const server = await startTestServer(db, { ...settings, REDIS_URL: own.url });
  // Few enough places in flight that each of them is counted in Redis.
  const { key } = await createLimited({ searchesPerSecond: 100_000, searchesInFlight: 50 });
  const narrow = await createLimited({ searchesPerSecond: 99 });
  const replies: Reply[] = [];
  const load = { isOver: false };
  const callers = Array.from({ length: 4 }, async () => {
    while (!load.isOver) replies.push(await server.search(key, question));
  });
  await until("some are answered", () => replies.length > 20);
  await own.kill();
  const atDeath = replies.length;
  await until("more are answered without it", () => replies.length > atDeath + 40);
  const reborn = await startPrivateRedis(Number(new URL(own.url).port));
  const client = new Redis(reborn.url);
  // Both limits: the second is a script, which a new Redis has not seen yet.
  await until("it is used again", async () => {
    await server.search(narrow.key, question);
    const hasRate = (await client.keys("pb:rate*")).length > 0;
    return hasRate && (await client.info("commandstats")).includes("cmdstat_zadd");
  });
  load.isOver = true;
  await Promise.all(callers);
  assert.deepEqual(Object.keys(codes(replies)), ["ok"]);
  client.disconnect();
  await server.close();
  await reborn.kill();
});

test("a Redis that stands still costs milliseconds, refuses no search, and counts none twice afterwards", async () => {
  const own = await startPrivateRedis();
  const server = await startTestServer(db, { ...settings, REDIS_URL: own.url });
  const client = new Redis(own.url);
  const { id, key } = await createLimited({ searchesPerSecond: 99, searchesInFlight: 10 });
  await until("Redis is used", async () => {
    await server.search(key, question);
    return (await client.keys("pb:rate*")).length > 0;
  });
  own.process.kill("SIGSTOP");
  const took: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const begin = performance.now();
    assert.equal((await server.search(key, question)).status, 200);
    took.push(performance.now() - begin);
  }
  own.process.kill("SIGCONT");
  // The median, because a machine under load may pause once; a search without a timeout would hang until SIGCONT.
  assert.ok((took.toSorted((a, b) => a - b)[10] ?? 0) < 300, took.map(Math.round).join(" "));
  // Redis now works off what it was told meanwhile: every place that was taken is also given back.
  await until("no place is taken", async () => (await client.zcard(`pb:flight:${id}`)) === 0, 3_000);
  assert.equal((await server.search(key, question)).status, 200);
  client.disconnect();
  await server.close();
  await own.kill();
});

test("a Redis that answers nonsense or takes no writes refuses no search", async () => {
  const own = await startPrivateRedis();
  const client = new Redis(own.url);
  const server = await startTestServer(db, { ...settings, REDIS_URL: own.url });
  const { id, key } = await createLimited({ searchesPerSecond: 99 });
  await until("Redis is used", async () => {
    await server.search(key, question);
    return (await client.keys("pb:rate*")).length > 0;
  });
  await client.set(`pb:flight:${id}`, "not a sorted set");
  assert.equal((await server.search(key, question)).status, 200);
  await client.config("SET", "min-replicas-to-write", "5");
  assert.equal((await server.search(key, question)).status, 200);
  client.disconnect();
  await server.close();
  await own.kill();
});
