import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mintKey } from "../../src/keys/key-format.ts";
import { networkOf } from "../../src/keys/key-guessing.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
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

// A hundred wrong keys a minute from one address, counted in Redis for all servers; then its guesses are refused unread,
// and keys that are known to be good go on.

const db = await createTestDatabase();
const redis = await startPrivateRedis();
const settings = { REDIS_URL: redis.url, PENNYBLACK_TRUSTED_PROXIES: "127.0.0.1" };
const pair = [await startTestServer(db, settings), await startTestServer(db, settings)] as const;
const wallet = await createTestWallet(db, "1.00");

after(async () => {
  for (const server of pair) await server.close();
  await db.drop();
});

function askFrom(server: TestServer, address: string, key: string): Promise<Reply> {
  return server.search(key, { query: "cats" }, { "x-forwarded-for": address });
}

/** Wrong keys, one after the other, until one is answered with 429. */
async function guessUntilRefused(servers: readonly TestServer[], address: string): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (let turn = 0; replies.at(-1)?.status !== 429; turn += 1) {
    assert.ok(turn < 500, "guesses are not refused");
    const server = servers[turn % servers.length];
    assert.ok(server);
    replies.push(await askFrom(server, address, turn % 5 === 0 ? "pb_live_nonsense" : mintKey("live")));
  }
  return replies;
}

async function newTestKey(): Promise<string> {
  return (await createTestKey(db, { walletId: wallet.walletId, mode: "test", name: "new" })).key;
}

test("the hundred and first wrong key within a minute is refused with 429, on any server, and tells nothing", async () => {
  const replies = await guessUntilRefused(pair, "192.0.2.1");
  assert.ok(replies.slice(0, -1).every(({ status, body }) => status === 401 && body.code === "api_key_invalid"));
  // Redis may be late now and then, and each server counts that one alone.
  assert.ok(replies.length >= 101 && replies.length <= 120, `${replies.length} guesses`);
  const refused = replies.at(-1);
  assert.ok(refused);
  assertProblem(refused, "rate_limited");
  const seconds = Number(refused.headers.get("retry-after"));
  assert.ok(seconds >= 1 && seconds <= 60, `${seconds} s`);
  assert.match(refused.headers.get("ratelimit-policy") ?? "", /^"address";q=100;w=60$/);
  // What a guesser would want to know: a right key that it has just found looks like a wrong one.
  const server = pair[(replies.length + 1) % 2];
  assert.ok(server);
  // (Where Redis is late, nobody knows which keys are good, and then they are looked up.)
  await until("a right guess is refused like a wrong one", async () => {
    return (await askFrom(server, "192.0.2.1", await newTestKey())).status === 429;
  });
});

test("other addresses are served meanwhile", async () => {
  await guessUntilRefused(pair, "192.0.2.2");
  assert.equal((await askFrom(pair[0], "192.0.2.3", await newTestKey())).status, 200);
  assert.equal((await askFrom(pair[0], "192.0.2.3", mintKey("live"))).status, 401);
});

test("a key that worked before goes on from the same address, also on a server that has not seen it", async () => {
  const good = await newTestKey();
  assert.equal((await askFrom(pair[0], "192.0.2.9", good)).status, 200);
  await guessUntilRefused([pair[0]], "192.0.2.4");
  await guessUntilRefused([pair[1]], "192.0.2.4");
  for (let times = 0; times < 20; times += 1) {
    for (const server of pair) assert.equal((await askFrom(server, "192.0.2.4", good)).status, 200);
  }
  await until("a wrong key is refused", async () => {
    return (await askFrom(pair[0], "192.0.2.4", mintKey("live"))).status === 429;
  });
});

test("a key that is right but revoked is no guess", async () => {
  const { id, key } = await createTestKey(db, { walletId: wallet.walletId, mode: "test", name: "old" });
  await db.owner.query("select pb.revoke_key($1, $2)", [wallet.walletId, id]);
  for (let times = 0; times < 110; times += 1) {
    assert.equal((await askFrom(pair[0], "192.0.2.5", key)).body.code, "api_key_revoked");
  }
});

test("without Redis each server limits guesses alone, and known keys go on", async () => {
  const good = await newTestKey();
  assert.equal((await askFrom(pair[0], "192.0.2.6", good)).status, 200);
  await redis.kill();
  await until("the server has noticed", () => pair[0].logged().includes("redis unavailable"));
  const replies = await guessUntilRefused([pair[0]], "192.0.2.6");
  assert.ok(replies.length <= 101, `${replies.length} guesses`);
  assert.equal((await askFrom(pair[0], "192.0.2.6", good)).status, 200);
});

test("of IPv6, the network of 64 bits counts as one address", () => {
  assert.equal(networkOf("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(networkOf("2001:db8:1:2:3:4:5:6"), networkOf("2001:DB8:1:2::1"));
  assert.notEqual(networkOf("2001:db8:1:2::1"), networkOf("2001:db8:1:3::1"));
  assert.equal(networkOf("::1"), "0:0:0:0");
  assert.equal(networkOf("2001:db8::1"), "2001:db8:0:0");
});
