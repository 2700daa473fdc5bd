import assert from "node:assert/strict";
import { after, test } from "node:test";
import { revokeKey } from "../../src/keys/keys.ts";
import { seedBudget } from "../support/data/seed-wallet.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestKey, createTestWallet, startTestServer } from "../support/services/server.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// The published order: route, method, credentials, key state (403), rate and concurrency (429), media type, size,
// parse, validate, idempotency look-up, hold (402 wallet, then 403 budgets), upstream. Each test sends two faults that
// are neighbours in it, or more, and the earlier one must win.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
await upstream.behave("status_503");
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });
const wallet = await createTestWallet(db, "1.00");
const empty = await createTestWallet(db, "0.00");
const { walletId } = wallet;

after(async () => {
  await server.close();
  await upstream.close();
  await db.drop();
});

const tooLarge = "x".repeat(16_385);
const good = JSON.stringify({ query: "cats" });

interface Faults {
  line?: string;
  key?: string | undefined;
  type?: string;
  body?: string;
  lines?: string[];
}

async function codeOf({ line = "POST /v1/search", key, type = "application/json", body = good, lines = [] }: Faults) {
  const headers = [...(key ? [`x-api-key: ${key}`] : []), `Content-Type: ${type}`, ...lines];
  const { status, text } = await sendRaw(server.url, rawRequest(line, headers, body));
  return `${status} ${JSON.parse(text).code}`;
}

/** A key that has used up its one search of this second, whatever becomes of the next. */
async function exhaustedKey(more: object = {}): Promise<string> {
  const { key } = await createTestKey(db, { walletId, mode: "live", name: "slow", searchesPerSecond: 1, ...more });
  return key;
}

test("route before method before credentials", async () => {
  const faults = { key: "nonsense", type: "garbage", body: tooLarge };
  assert.equal(await codeOf({ ...faults, line: "PUT /v1/search/" }), "404 not_found");
  assert.equal(await codeOf({ ...faults, line: "PUT /v1/search" }), "405 method_not_allowed");
  assert.equal(await codeOf({ type: "garbage", body: tooLarge, line: "GET /v1/search" }), "405 method_not_allowed");
  assert.equal(await codeOf(faults), "401 api_key_invalid");
});

test("conflicting credentials before invalid ones; credentials before the body, its type and its size", async () => {
  const faults = { type: "garbage", body: tooLarge };
  assert.equal(
    await codeOf({ ...faults, key: "nonsense", lines: ["x-api-key: other"] }),
    "400 conflicting_credentials",
  );
  assert.equal(await codeOf({ ...faults }), "401 authentication_required");
  assert.equal(await codeOf({ ...faults, key: "nonsense" }), "401 api_key_invalid");
  assert.equal(await codeOf({ body: "{" }), "401 authentication_required");
});

test("the key's own state before its scope and address, and those before rate limits and the body", async () => {
  const suspended = await createTestWallet(db, "0.00");
  await db.owner.query("select pb.suspend_wallet($1, true)", [suspended.walletId]);
  const limited = { searchesPerSecond: 1, allowedIps: ["10.0.0.0/8"] };
  const far = await exhaustedKey({ allowedIps: ["10.0.0.0/8"] });
  const revoked = await createTestKey(db, { walletId: suspended.walletId, mode: "live", name: "revoked", ...limited });
  await revokeKey(db.owner, { walletId: suspended.walletId, keyId: revoked.id });
  const old = { expiresAt: new Date(Date.now() - 1_000) };
  const expired = await createTestKey(db, {
    walletId: suspended.walletId,
    mode: "live",
    name: "old",
    ...limited,
    ...old,
  });
  const frozen = await createTestKey(db, { walletId: suspended.walletId, mode: "live", name: "far", ...limited });
  const faults = { type: "garbage", body: tooLarge };
  for (let round = 0; round < 2; round += 1) {
    assert.equal(await codeOf({ ...faults, key: revoked.key }), "401 api_key_revoked");
    assert.equal(await codeOf({ ...faults, key: expired.key }), "401 api_key_expired");
    assert.equal(await codeOf({ ...faults, key: frozen.key }), "403 account_suspended");
    assert.equal(await codeOf({ ...faults, key: far }), "403 ip_not_allowed");
    assert.equal(await codeOf({ ...faults, key: wallet.management }), "403 insufficient_scope");
  }
});

test("rate limits before media type, size, parse and validate: invalid requests are not free and unlimited", async () => {
  const broken = [{ type: "garbage" }, { body: tooLarge }, { body: "{" }, { body: "{}" }];
  for (const faults of broken) {
    const key = await exhaustedKey();
    const [first, second] = await Promise.all([codeOf({ ...faults, key }), codeOf({ ...faults, key })]);
    assert.ok([first, second].includes("429 rate_limited"), `${first}, ${second}`);
    assert.ok([first, second].some((code) => code.startsWith("4") && code !== "429 rate_limited"));
  }
});

test("media type before size before parse before validate", async () => {
  const key = wallet.live;
  assert.equal(await codeOf({ key, type: "text/plain", body: tooLarge }), "415 unsupported_media_type");
  assert.equal(await codeOf({ key, body: tooLarge }), "413 payload_too_large");
  assert.equal(await codeOf({ key, body: '{"n":0,' }), "400 malformed_json");
  assert.equal(await codeOf({ key, body: '{"n":0}', lines: ["Idempotency-Key: caf\u00e9"] }), "400 invalid_request");
});

test("validation before money: a broken request never asks for money", async () => {
  const key = empty.live;
  for (const body of [
    "{",
    "{}",
    '{"query":"cats","n":21}',
    '{"query":"cats","limit":1}',
    JSON.stringify({ query: "x".repeat(2049) }),
  ]) {
    assert.match(await codeOf({ key, body }), /^400 /);
  }
  assert.equal(await codeOf({ key, lines: ["Idempotency-Key:"] }), "400 invalid_request");
  assert.equal(await codeOf({ key, lines: ["Search-Run: x"] }), "400 invalid_request");
  assert.equal(await codeOf({ key }), "402 insufficient_balance");
});

test("the idempotency look-up before the hold: a reused key is 422 with an empty wallet too", async () => {
  const cent = await createTestWallet(db, "0.01");
  const lines = ["Idempotency-Key: once"];
  await upstream.behave("ok");
  const first = await server.search(cent.live, { query: "cats" }, { "idempotency-key": "once" });
  await upstream.behave("status_503");
  assert.equal(first.status, 200);
  assert.equal(await codeOf({ key: cent.live, body: '{"query":"dogs"}', lines }), "422 idempotency_key_reused");
  assert.equal(await codeOf({ key: cent.live, body: '{"query":"dogs"}' }), "402 insufficient_balance");
});

test("the wallet (402) before the key's budget before the run's budget (403), and all before the upstream", async () => {
  const asked = upstream.requests.length;
  const capped = async (wallet: string) => {
    const budgetId = await seedBudget(db.owner, wallet, { total: 0n });
    return (await createTestKey(db, { walletId: wallet, mode: "live", name: "capped", budgetId })).key;
  };
  const lines = ["Search-Run: nothing; max=0.00"];
  assert.equal(await codeOf({ key: await capped(empty.walletId), lines }), "402 insufficient_balance");
  assert.equal(await codeOf({ key: await capped(walletId), lines }), "403 key_budget_spent");
  assert.equal(await codeOf({ key: wallet.live, lines }), "403 run_budget_spent");
  assert.equal(upstream.requests.length, asked);
  assert.equal(await codeOf({ key: wallet.live }), "503 upstream_error");
});

test("the hold before the upstream: an upstream that is down does not hide an empty wallet", async () => {
  const asked = upstream.requests.length;
  assert.equal(await codeOf({ key: empty.live }), "402 insufficient_balance");
  assert.equal(upstream.requests.length, asked);
});
