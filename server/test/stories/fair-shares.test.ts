import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { until } from "../support/assertions/until.ts";
import { fakeKey, signEvent } from "../support/payments/fake-stripe.ts";
import { webhookSecret } from "../support/payments/payment-fixture.ts";
import { openRaw, type RawConnection, rawRequest, sendRaw } from "../support/raw-http.ts";
import { replaceConstants } from "../support/replace-constants.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestKey, createTestWallet, type Reply, startTestServer } from "../support/services/server.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// One wallet, or a stranger, cannot use up what all share. Each rejection names the limit. Here without Redis; the counts
// across servers are in limits.test.ts, and the effect on others under load in ../fairness.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const settings = {
  PENNYBLACK_SEARXNG_URL: upstream.url,
  PENNYBLACK_STRIPE_SECRET_KEY: fakeKey,
  PENNYBLACK_STRIPE_WEBHOOK_SECRET: webhookSecret,
};
// 16 slots: a wallet can occupy 4 of them, and each of the other pools has 4.
const small = await startTestServer(db, { ...settings, ...replaceConstants({ maxInFlight: 16 }) });
const limited = await startTestServer(db, {
  ...settings,
  ...replaceConstants({ walletRate: 3, walletInFlight: 2, walletTestRate: 2, walletTestInFlight: 1 }),
});

after(async () => {
  await small.close();
  await limited.close();
  await upstream.close();
  await db.drop();
});

const question = { query: "cats" };

/** A wallet with two keys of a mode. */
async function createTwoKeys(mode: "live" | "test") {
  const wallet = await createTestWallet(db, "1.00");
  const other = await createTestKey(db, { walletId: wallet.walletId, mode, name: "other" });
  return [wallet[mode], other.key] as const;
}

const exceededOf = ({ body }: Reply): unknown => body.exceeded;

test("a key reads the limits that apply to it: its own, or the lower ones that it shares", async () => {
  const wallet = await createTestWallet(db, "1.00");
  const limitsOf = async (key: string): Promise<unknown> =>
    (await limited.request("/v1/key", { headers: { "x-api-key": key } })).body.effective_limits;
  assert.deepEqual(await limitsOf(wallet.live), { searches_per_second: 3, searches_in_flight: 2 });
  assert.deepEqual(await limitsOf(wallet.test), { searches_per_second: 2, searches_in_flight: 1 });
  assert.equal(await limitsOf(wallet.management), null);
  await limited.manage(wallet.management, "PATCH", `/v1/keys/${wallet.liveKeyId}`, { searches_per_second: 1 });
  assert.deepEqual(await limitsOf(wallet.live), { searches_per_second: 1, searches_in_flight: 2 });
});

test("two keys of a wallet together exceed its rate, and the response names the limit", async () => {
  for (const [mode, limit, max, name] of [
    ["live", "wallet_rate", 3, "wallet"],
    ["test", "wallet_test_rate", 2, "test"],
  ] as const) {
    let rejected: Reply | undefined;
    await until("a search exceeds the rate", async () => {
      const [one, other] = await createTwoKeys(mode);
      const replies: Reply[] = [];
      for (const key of [one, other, one, other, one]) replies.push(await limited.search(key, question));
      rejected = replies.find(({ status }) => status === 429);
      return rejected !== undefined;
    });
    assert(rejected);
    const body = assertProblem(rejected, "rate_limited");
    assert.deepEqual(body["exceeded"], {
      limit,
      applies_to: "wallet",
      max,
      window_seconds: 1,
      retry_after_seconds: 1,
    });
    assert.match(String(body["detail"]), new RegExp(`limit of ${max} requests per second for .*wallet`));
    assert.equal(rejected.headers.get("ratelimit-policy"), `"${name}";q=${max};w=1`);
    assert.equal(rejected.headers.get("retry-after"), "1");
  }
});

test("an invalid request with a test key does not count against the rate of test searches", async () => {
  const { test: key } = await createTestWallet(db, "1.00");
  for (let sent = 0; sent < 5; sent += 1) {
    const reply = await limited.search(key, { query: "cats", n: 0 });
    assert.deepEqual([reply.status, reply.headers.get("ratelimit-policy")], [400, '"test_requests";q=20;w=1']);
  }
  const reply = await limited.search(key, question);
  assert.deepEqual([reply.status, reply.headers.get("ratelimit-policy")], [200, '"test";q=2;w=1']);
});

test("two keys of a wallet together exceed its searches in flight, and another wallet does not", async () => {
  const [one, other] = await createTwoKeys("test");
  const slow = limited.search(one, { query: "test:slow=1000" });
  let rejected: Reply | undefined;
  await until("the slow search is in flight", async () => {
    rejected = await limited.search(other, question);
    return rejected.body.code === "concurrency_limited";
  });
  assert(rejected);
  assert.deepEqual(exceededOf(rejected), {
    limit: "wallet_test_in_flight",
    applies_to: "wallet",
    max: 1,
    retry_after_seconds: 1,
  });
  const stranger = await createTestWallet(db, "0.01");
  assert.equal((await limited.search(stranger.test, question)).status, 200);
  assert.equal((await slow).status, 200);
});

test("slow test searches occupy separate slots, and live searches have theirs", async () => {
  const wallets = await Promise.all(Array.from({ length: 4 }, () => createTestWallet(db, "1.00")));
  const slow = wallets.map(({ test: key }) => small.search(key, { query: "test:slow=1500" }));
  const extra = await createTestWallet(db, "1.00");
  let rejected: Reply | undefined;
  await until("the slots for test searches are occupied", async () => {
    rejected = await small.search(extra.test, question);
    return rejected.status !== 200;
  });
  assert.deepEqual(rejected && exceededOf(rejected), {
    limit: "server_test_in_flight",
    applies_to: "server",
    max: 4,
    retry_after_seconds: 2,
  });
  for (const wallet of wallets) assert.equal((await small.search(wallet.live, question)).status, 200);
  for (const reply of await Promise.all(slow)) assert.equal(reply.status, 200);
});

/** Sends all but the last byte of the body, so that no response follows. */
async function sendHalf(path: string, headers: string[], bytes = 100): Promise<RawConnection> {
  const connection = await openRaw(small.url);
  const lines = [...headers, "Content-Type: application/json", `Content-Length: ${bytes}`];
  connection.write(rawRequest(`POST ${path}`, lines, " ".repeat(bytes - 1)));
  return connection;
}

/** Adds half-sent requests until a whole one is rejected. Returns its response, and a function that ends the others. */
async function sendHalvesUntilRejected(path: string, headers: string[], sendWhole: () => Promise<Reply>) {
  const bytes = 20_000;
  const connections: RawConnection[] = [];
  let reply: Reply | undefined;
  await until("a request is rejected", async () => {
    connections.push(await sendHalf(path, headers, bytes));
    reply = await sendWhole();
    return reply.status !== 200;
  });
  const end = (): void => {
    for (const { socket } of connections) socket.destroy();
  };
  return { rejected: reply ?? assert.fail(), end };
}

test("half-sent bodies of a known caller use up the share of its wallet, and nothing of another's", async () => {
  const hostile = await createTestWallet(db, "1.00");
  const other = await createTestWallet(db, "1.00");
  const send = () => sendHalf("/v1/search", [`x-api-key: ${hostile.live}`]);
  const connections = await Promise.all(Array.from({ length: 4 }, send));
  const areInFlight = async () => /pennyblack_searches_in_flight 4\b/.test(await small.readMetrics());
  await until("all are in flight", areInFlight);
  const rejected = await small.search(hostile.live, question);
  assertProblem(rejected, "concurrency_limited");
  assert.deepEqual(exceededOf(rejected), {
    limit: "wallet_share",
    applies_to: "wallet",
    max: 4,
    retry_after_seconds: 2,
  });
  const management = await small.request("/v1/wallet", { headers: { "x-api-key": hostile.management } });
  assert.equal(exceededOf(management) && management.status, 429, "management counts against the same share");
  assert.equal((await small.search(other.live, question)).status, 200);
  for (const { socket } of connections) socket.destroy();
  await until("the slots are free", async () => (await small.search(hostile.live, question)).status === 200);
});

const freshSignature = (ageSeconds = 0): string =>
  `Stripe-Signature: t=${Math.floor(Date.now() / 1_000) - ageSeconds},v1=${"0".repeat(64)}`;

test("a payment webhook without a well-formed, fresh signature is rejected before its body is read", async () => {
  for (const headers of [[], ["Stripe-Signature: nonsense"], [freshSignature(301)], [freshSignature(-360)]]) {
    const connection = await sendHalf("/v1/payments/stripe/webhook", headers);
    const answer = await connection.answer();
    assert.equal(answer.status, 400);
    const { errors } = assertProblem(answer, "invalid_request", "/v1/payments/stripe/webhook");
    assert.equal((errors as { code: string }[])[0]?.code, "bad_signature");
    connection.socket.destroy();
  }
});

const deliverSmall = () =>
  small.request("/v1/payments/stripe/webhook", {
    method: "POST",
    ...signEvent({ id: "evt_2", type: "x" }, webhookSecret),
  });

test("half-sent webhooks of up to 16 KiB occupy no slot", async () => {
  const halves: RawConnection[] = [];
  for (let time = 0; time < 12; time += 1) {
    halves.push(await sendHalf("/v1/payments/stripe/webhook", [freshSignature()]));
    assert.equal((await deliverSmall()).status, 200);
  }
  const [first] = halves;
  first?.write(" ");
  assert.equal((await first?.answer())?.status, 400, "its signature does not match");
  for (const { socket } of halves) socket.destroy();
});

test("half-sent large webhooks with a fresh signature occupy only their own slots, and free them", async () => {
  const wallet = await createTestWallet(db, "1.00");
  const path = "/v1/payments/stripe/webhook";
  const deliver = () =>
    small.request(path, {
      method: "POST",
      ...signEvent({ id: "evt_1", type: "x", padding: "x".repeat(20_000) }, webhookSecret),
    });
  const { rejected, end } = await sendHalvesUntilRejected(path, [freshSignature()], deliver);
  assert.deepEqual(exceededOf(rejected), {
    limit: "network_share",
    applies_to: "network",
    max: 4,
    retry_after_seconds: 2,
  });
  assert.equal((await deliverSmall()).status, 200, "small events are received without a slot");
  assert.equal((await small.search(wallet.live, question)).status, 200);
  assert.equal((await small.request("/v1/lenses")).status, 200, "public pages have their own slots");
  end();
  await until("the slots are free", async () => (await deliver()).status === 200);
});

test("a payment webhook has at most 256 KiB", async () => {
  const lines = [freshSignature(), "Content-Type: application/json", "Content-Length: 262145"];
  const answer = await sendRaw(small.url, rawRequest("POST /v1/payments/stripe/webhook", lines));
  assert.equal(assertProblem(answer, "payload_too_large", "/v1/payments/stripe/webhook")["max_bytes"], 262_144);
});

test("look-ups of unknown keys wait in separate slots, and a key that worked before needs none", async () => {
  const known = await createTestWallet(db, "1.00");
  const unknown = await Promise.all(Array.from({ length: 5 }, () => createTestWallet(db, "1.00")));
  assert.equal((await small.search(known.live, question)).status, 200);
  const lock = await db.owner.connect();
  await lock.query("begin");
  await lock.query("lock table pb.keys in access exclusive mode");
  const waiting = unknown.slice(0, 4).map(({ live }) => small.search(live, question));
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await lock.query("select from pg_locks where not granted and relation = 'pb.keys'::regclass");
    return rows.length > 0;
  };
  await until("a look-up waits", isWaiting);
  const last = unknown[4] ?? assert.fail();
  let rejected: Reply | undefined;
  await until("the slots are occupied", async () => {
    rejected = await small.request("/v1/key", { headers: { "x-api-key": last.live } });
    return rejected.status !== 200;
  });
  assert.equal(rejected?.body.exceeded?.limit, "network_share", rejected?.text);
  await lock.query("rollback");
  lock.release();
  await Promise.all(waiting);
  assert.equal((await small.search(last.live, question)).status, 200);
});

test("callers of one network whose keys are not cached wait for a look-up and are not rejected", async () => {
  // Ten slots for look-ups, of which one network can occupy five.
  const cold = await startTestServer(db, {
    ...settings,
    ...replaceConstants({ maxInFlight: 200, lookUpWaitMs: 600_000 }),
  });
  try {
    const keys: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const { walletId } = await createTestWallet(db, "0.01");
      for (let index = 0; index < 29; index += 1)
        keys.push((await createTestKey(db, { walletId, mode: "live", name: `key ${index}` })).key);
    }
    // An empty body is rejected after the key is known.
    const replies = await Promise.all(keys.map((key) => cold.search(key, {})));
    assert.deepEqual([...new Set(replies.map(({ body }) => body.code))], ["invalid_request"]);
  } finally {
    await cold.close();
  }
});

test("rejections are counted by the limit that was exceeded", async () => {
  const metrics = await small.readMetrics();
  for (const limit of ["wallet_share", "network_share", "server_test_in_flight"])
    assert.match(metrics, new RegExp(`pennyblack_requests_rejected_by_limit_total\\{limit="${limit}"\\} [1-9]`));
  assert.match(metrics, /pennyblack_requests_rejected_by_limit_total\{limit="key_rate"\} 0/);
});
