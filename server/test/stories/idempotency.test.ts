import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, test } from "node:test";
import { topUpBatch } from "../../src/wallet/statements.ts";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { createTestKey, type Reply, type TestWallet } from "../support/services/server.ts";

// Idempotency-Key: a retry is never charged twice, and only the sender of the key can read the stored answer.

const { db, upstream, server, startServer, createWallet } = await createFixture();

afterEach(async () => {
  await upstream.behave("ok");
  upstream.requests.length = 0;
});

const question = { query: "cats", n: 3 };

function idempotencyKey(key: string = randomUUID()): Record<string, string> {
  return { "idempotency-key": key };
}

function assertReplayOf(first: Reply, second: Reply): void {
  assert.equal(first.status, 200);
  assert.equal(second.status, 200, second.text);
  assert.equal(second.text, first.text);
  assert.equal(second.headers.get("content-type"), first.headers.get("content-type"));
  assert.equal(first.headers.get("idempotent-replayed"), null);
  assert.equal(second.headers.get("idempotent-replayed"), "true");
  assert.equal(second.headers.get("wallet-charge"), "0.00;currency=usd");
  assert.notEqual(second.headers.get("request-id"), first.headers.get("request-id"));
}

/** Moves a wallet's claims into the past. */
async function age(wallet: TestWallet, interval: string): Promise<void> {
  await db.owner.query("update pb.idempotency set claimed_at = claimed_at - $2::interval where wallet_id = $1", [
    wallet.walletId,
    interval,
  ]);
}

/** A search that the upstream answers when `upstream.release` is called. */
async function startSearch(key: string, headers: Record<string, string>): Promise<Promise<Reply>[]> {
  await upstream.behave("ok_when_released");
  upstream.requests.length = 0;
  const running = server.search(key, question, headers);
  await until("the upstream is called", () => upstream.requests.length === 1);
  await upstream.behave("ok");
  return [running];
}

test("the same key and body return the same bytes, marked as replayed and free", async () => {
  const wallet = await createWallet("0.05");
  const headers = idempotencyKey();
  const first = await server.search(wallet.live, question, headers);
  assert.equal(first.headers.get("wallet-charge"), "0.01;currency=usd");
  await upstream.behave("ok", { hits: 1 });
  for (let round = 0; round < 3; round += 1) assertReplayOf(first, await server.search(wallet.live, question, headers));
  assert.equal(upstream.requests.length, 1);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
});

test("equivalent JSON is the same body", async () => {
  const wallet = await createWallet("0.05");
  const headers = idempotencyKey();
  const first = await server.search(wallet.live, { query: "cats" }, headers);
  for (const body of ['{ "n" : 10, "query": "  cats\\n" }', '{"query":"\\u0063ats","n":1e1}']) {
    assertReplayOf(first, await server.search(wallet.live, body, headers));
  }
});

test("another query, n or category with the same key returns 422 without a charge", async () => {
  const wallet = await createWallet("0.05");
  const headers = idempotencyKey();
  await server.search(wallet.live, question, headers);
  for (const body of [
    { query: "dogs", n: 3 },
    { query: "cats" },
    { ...question, n: 4 },
    { ...question, category: "gov" },
    { query: "Cats", n: 3 },
  ]) {
    const reply = await server.search(wallet.live, body, headers);
    assert.deepEqual([reply.status, reply.body.code], [422, "idempotency_key_reused"], JSON.stringify(body));
  }
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
});

test("a retry while the first is in flight returns 409 with Retry-After, and later a replay", async () => {
  const wallet = await createWallet("0.05");
  const headers = idempotencyKey();
  const [running] = await startSearch(wallet.live, headers);
  const second = await server.search(wallet.live, question, headers);
  assert.deepEqual(
    [second.status, second.body.code, second.headers.get("retry-after")],
    [409, "idempotency_in_progress", "1"],
  );
  // Another body is a conflict, even while the first is in flight.
  assert.equal((await server.search(wallet.live, { query: "dogs" }, headers)).status, 422);
  upstream.release();
  const first = await running;
  assert.ok(first);
  assertReplayOf(first, await server.search(wallet.live, question, headers));
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
});

test("of thirty concurrent requests with one key one is charged, and the others get 409 or its answer", async () => {
  const wallet = await createWallet("0.50");
  const headers = idempotencyKey();
  const replies = await Promise.all(Array.from({ length: 30 }, () => server.search(wallet.live, question, headers)));
  const paid = replies.filter((reply) => reply.headers.get("wallet-charge") === "0.01;currency=usd");
  assert.equal(paid.length, 1);
  for (const reply of replies) assert.ok(reply.status === 409 || reply.text === paid[0]?.text, reply.text);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.49", held: "0.00" });
});

test("a failed search frees its key, and the retry is charged once", async () => {
  const wallet = await createWallet("0.05");
  const headers = idempotencyKey();
  for (const behaviour of ["status_503", "truncated_json", "reset_before_headers"] as const) {
    await upstream.behave(behaviour);
    assert.notEqual((await server.search(wallet.live, question, headers)).status, 200);
  }
  await upstream.behave("ok");
  // The key is free for any body, not only for the one that failed.
  const reply = await server.search(wallet.live, { query: "dogs" }, headers);
  assert.equal(reply.status, 200);
  assert.equal(reply.headers.get("idempotent-replayed"), null);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
});

test("a rejected search stores nothing, so the same key works after a top-up", async () => {
  const wallet = await createWallet("0.00");
  const headers = idempotencyKey();
  assert.equal((await server.search(wallet.live, question, headers)).status, 402);
  await topUpBatch(db.owner, "top_up", [{ paymentId: "later", walletId: wallet.walletId, amount: 10_000n }]);
  assert.equal((await server.search(wallet.live, question, headers)).status, 200);
});

test("quoted and raw forms are the same key, with up to 255 printable ASCII characters", async () => {
  const wallet = await createWallet("0.10");
  const first = await server.search(wallet.live, question, idempotencyKey("order-1"));
  assertReplayOf(first, await server.search(wallet.live, question, idempotencyKey('"order-1"')));
  const longest = await server.search(wallet.live, question, idempotencyKey("~".repeat(255)));
  assertReplayOf(longest, await server.search(wallet.live, question, idempotencyKey(`"${"~".repeat(255)}"`)));
  const spaced = await server.search(wallet.live, question, idempotencyKey('a "quoted" word'));
  assertReplayOf(spaced, await server.search(wallet.live, question, idempotencyKey('a "quoted" word')));
});

test("keys are scoped to the wallet and the mode", async () => {
  const [wallet, other] = [await createWallet("0.05"), await createWallet("0.05")];
  const sibling = await createTestKey(db, { walletId: wallet.walletId });
  const headers = idempotencyKey("shared");
  const first = await server.search(wallet.live, question, headers);
  assertReplayOf(first, await server.search(sibling.key, question, headers));
  const stranger = await server.search(other.live, { query: "dogs" }, headers);
  assert.deepEqual([stranger.status, stranger.headers.get("wallet-charge")], [200, "0.01;currency=usd"]);
  const tested = await server.search(wallet.test, { query: "birds" }, headers);
  assert.deepEqual([tested.status, tested.body.query], [200, "birds"]);
  assertReplayOf(tested, await server.search(wallet.test, { query: "birds" }, headers));
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.04", held: "0.00" });
});

test("a paid answer can be fetched again with an empty wallet and from another server", async (t) => {
  const wallet = await createWallet("0.01");
  const headers = idempotencyKey();
  const first = await server.search(wallet.live, question, headers);
  assert.equal((await server.search(wallet.live, question)).status, 402);
  const second = await startServer({}, t);
  assertReplayOf(first, await second.search(wallet.live, question, headers));
});

test("a claim whose search has not finished after 15 s is taken over, and one of the two is charged", async () => {
  const wallet = await createWallet("0.01");
  const headers = idempotencyKey();
  const [stalled] = await startSearch(wallet.live, headers);
  await age(wallet, "14 seconds");
  assert.equal((await server.search(wallet.live, question, headers)).status, 409);
  await age(wallet, "1 second");
  const taken = await server.search(wallet.live, question, headers);
  assert.deepEqual([taken.status, taken.headers.get("wallet-charge")], [200, "0.01;currency=usd"]);
  upstream.release();
  const late = await stalled;
  assert.deepEqual(
    [late?.status, late?.body.code, late?.headers.get("wallet-charge")],
    [503, "ledger_unavailable", "0.00;currency=usd"],
  );
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.00", held: "0.00" });
  assert.match(await server.readMetrics(), /pennyblack_lost_captures_total\{reason="expired"\} 1/);
  assertReplayOf(taken, await server.search(wallet.live, question, headers));
});

test("after 24 hours the key is free and the search is charged again", async () => {
  const wallet = await createWallet("0.05");
  const headers = idempotencyKey();
  const first = await server.search(wallet.live, question, headers);
  await age(wallet, "23 hours 59 minutes");
  assertReplayOf(first, await server.search(wallet.live, question, headers));
  await age(wallet, "1 minute");
  const again = await server.search(wallet.live, { query: "dogs" }, headers);
  assert.deepEqual([again.status, again.headers.get("wallet-charge")], [200, "0.01;currency=usd"]);
  assertReplayOf(again, await server.search(wallet.live, { query: "dogs" }, headers));
});

test("the stored answer contains neither the query nor the key in plain text", async () => {
  const wallet = await createWallet("0.05");
  const marker = "xylophone-marker";
  const headers = idempotencyKey("a-key-of-the-caller");
  const { text } = await server.search(wallet.live, { query: marker }, headers);
  assert.ok(text.includes(marker));
  const { rows } = await db.owner.query<{ answer: Buffer; key_hmac: Buffer }>(
    "select answer, key_hmac from pb.idempotency where wallet_id = $1",
    [wallet.walletId],
  );
  assert.equal(rows.length, 1);
  for (const bytes of Object.values(rows[0] ?? {})) {
    assert.ok(!bytes.includes(marker) && !bytes.includes("example.org") && !bytes.includes("a-key-of-the-caller"));
  }
  // The encryption is randomized, so equal answers have different ciphertexts.
  const second = await server.search(wallet.live, { query: marker }, idempotencyKey("another-key"));
  assert.equal(second.text, text);
  const { rows: answers } = await db.owner.query<{ count: bigint }>(
    "select count(distinct answer) as count from pb.idempotency where wallet_id = $1",
    [wallet.walletId],
  );
  assert.equal(answers[0]?.count, 2n);
});
