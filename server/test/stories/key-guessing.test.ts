import assert from "node:assert/strict";
import { test } from "node:test";
import { mintKey } from "../../src/keys/key-format.ts";
import { networkOf } from "../../src/lib/network-of.ts";
import { createFixture } from "../fixture.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { until } from "../support/assertions/until.ts";
import { startPrivateRedis } from "../support/services/private-redis.ts";
import { createTestKey, type Reply, type TestServer } from "../support/services/server.ts";

// A limit of a hundred wrong keys per minute and address, counted in Redis for all servers. Beyond it keys are rejected
// without a look-up, unless they are known to be valid.

const redis = await startPrivateRedis();
const settings = { REDIS_URL: redis.url, PENNYBLACK_TRUSTED_PROXIES: "127.0.0.1" };
const { db, server: first, startServer, createWallet } = await createFixture(settings);
const pair = [first, await startServer()] as const;
const wallet = await createWallet("1.00");

function searchFrom(server: TestServer, address: string, key: string): Promise<Reply> {
  return server.search(key, { query: "cats" }, { "x-forwarded-for": address });
}

/** Sends wrong keys one after the other until one returns 429. */
async function guessUntilLimited(servers: readonly TestServer[], address: string): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (let turn = 0; replies.at(-1)?.status !== 429; turn += 1) {
    assert.ok(turn < 500, "guesses are not limited");
    const server = servers[turn % servers.length];
    assert.ok(server);
    replies.push(await searchFrom(server, address, turn % 5 === 0 ? "pb_live_nonsense" : mintKey("live")));
  }
  return replies;
}

async function newTestKey(): Promise<string> {
  return (await createTestKey(db, { walletId: wallet.walletId, mode: "test" })).key;
}

test("after a hundred wrong keys per minute, all servers return 429 to wrong and correct guesses alike", async () => {
  const replies = await guessUntilLimited(pair, "192.0.2.1");
  assert.ok(replies.slice(0, -1).every(({ status, body }) => status === 401 && body.code === "api_key_invalid"));
  // When Redis answers late, each of the two servers counts that guess on its own.
  assert.ok(replies.length >= 101 && replies.length <= 201, `${replies.length} guesses`);
  const limited = replies.at(-1);
  assert.ok(limited);
  assertProblem(limited, "rate_limited");
  const seconds = Number(limited.headers.get("retry-after"));
  assert.ok(seconds >= 1 && seconds <= 60, `${seconds} s`);
  assert.match(limited.headers.get("ratelimit-policy") ?? "", /^"address";q=100;w=60$/);
  // A valid key that was just guessed must look like a wrong one.
  const server = pair[(replies.length + 1) % 2];
  assert.ok(server);
  // When Redis is late the server cannot determine which keys are valid, and looks them up.
  await until("a correct guess is rejected like a wrong one", async () => {
    return (await searchFrom(server, "192.0.2.1", await newTestKey())).status === 429;
  });
});

test("other addresses are not limited", async () => {
  await guessUntilLimited(pair, "192.0.2.2");
  assert.equal((await searchFrom(pair[0], "192.0.2.3", await newTestKey())).status, 200);
  assert.equal((await searchFrom(pair[0], "192.0.2.3", mintKey("live"))).status, 401);
});

test("a key that worked before still works from the limited address, on every server", async () => {
  const good = await newTestKey();
  assert.equal((await searchFrom(pair[0], "192.0.2.9", good)).status, 200);
  await guessUntilLimited([pair[0]], "192.0.2.4");
  await guessUntilLimited([pair[1]], "192.0.2.4");
  for (let times = 0; times < 20; times += 1) {
    for (const server of pair) assert.equal((await searchFrom(server, "192.0.2.4", good)).status, 200);
  }
  await until("a wrong key is rejected", async () => {
    return (await searchFrom(pair[0], "192.0.2.4", mintKey("live"))).status === 429;
  });
});

test("a revoked key does not count as a guess", async () => {
  const { id, key } = await createTestKey(db, { walletId: wallet.walletId, mode: "test" });
  await db.owner.query("select pb.revoke_key($1, $2)", [wallet.walletId, id]);
  for (let times = 0; times < 110; times += 1) {
    assert.equal((await searchFrom(pair[0], "192.0.2.5", key)).body.code, "api_key_revoked");
  }
});

test("without Redis each server limits guesses on its own, and known keys still work", async () => {
  const good = await newTestKey();
  assert.equal((await searchFrom(pair[0], "192.0.2.6", good)).status, 200);
  await redis.kill();
  await until("the server has noticed", () => pair[0].logged().includes("redis unavailable"));
  const replies = await guessUntilLimited([pair[0]], "192.0.2.6");
  assert.ok(replies.length <= 101, `${replies.length} guesses`);
  assert.equal((await searchFrom(pair[0], "192.0.2.6", good)).status, 200);
});

test("an IPv6 network of 64 bits counts as one address", () => {
  assert.equal(networkOf("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(networkOf("2001:db8:1:2:3:4:5:6"), networkOf("2001:DB8:1:2::1"));
  assert.notEqual(networkOf("2001:db8:1:2::1"), networkOf("2001:db8:1:3::1"));
  assert.equal(networkOf("::1"), "0:0:0:0");
  assert.equal(networkOf("2001:db8::1"), "2001:db8:0:0");
});
