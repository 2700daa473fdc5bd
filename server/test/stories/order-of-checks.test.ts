import assert from "node:assert/strict";
import { test } from "node:test";
import { revokeKey } from "../../src/keys/keys.ts";
import { createFixture } from "../fixture.ts";
import { seedKeyLimits } from "../support/data/seed-wallet.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { createTestKey } from "../support/services/server.ts";

// The documented order: route, method, credentials, key state (403), rate and concurrency (429), media type, size, parse,
// validate, idempotency look-up, hold (402 wallet, then 403 budgets), upstream. Each test sends a request with two or more
// neighbouring errors and expects the earlier one.

const { db, upstream, server, createWallet } = await createFixture();
await upstream.behave("status_503");
const wallet = await createWallet("1.00");
const empty = await createWallet("0.00");
const { walletId } = wallet;

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

/** A key with a limit of one search per second. */
async function slowKey(options: object = {}): Promise<string> {
  return (await createTestKey(db, { walletId, searchesPerSecond: 1, ...options })).key;
}

test("checks the route, then the method, then credentials", async () => {
  const faults = { key: "nonsense", type: "garbage", body: tooLarge };
  assert.equal(await codeOf({ ...faults, line: "PUT /v1/search/" }), "404 not_found");
  assert.equal(await codeOf({ ...faults, line: "PUT /v1/search" }), "405 method_not_allowed");
  assert.equal(await codeOf({ type: "garbage", body: tooLarge, line: "GET /v1/search" }), "405 method_not_allowed");
  assert.equal(await codeOf(faults), "401 api_key_invalid");
});

test("checks for conflicting credentials, then invalid ones, then the body", async () => {
  const faults = { type: "garbage", body: tooLarge };
  assert.equal(
    await codeOf({ ...faults, key: "nonsense", lines: ["x-api-key: other"] }),
    "400 conflicting_credentials",
  );
  assert.equal(await codeOf({ ...faults }), "401 authentication_required");
  assert.equal(await codeOf({ ...faults, key: "nonsense" }), "401 api_key_invalid");
  assert.equal(await codeOf({ body: "{" }), "401 authentication_required");
});

test("checks the key's state, then its scope and address, then rate limits and the body", async () => {
  const suspended = await createWallet("0.00");
  await db.owner.query("select pb.suspend_wallet($1, true)", [suspended.walletId]);
  const limited = { searchesPerSecond: 1, allowedIps: ["10.0.0.0/8"] };
  const far = await slowKey({ allowedIps: ["10.0.0.0/8"] });
  const revoked = await createTestKey(db, { walletId: suspended.walletId, ...limited });
  await revokeKey(db.owner, { walletId: suspended.walletId, keyId: revoked.id });
  const old = { expiresAt: new Date(Date.now() - 1_000) };
  const expired = await createTestKey(db, { walletId: suspended.walletId, ...limited, ...old });
  const frozen = await createTestKey(db, { walletId: suspended.walletId, ...limited });
  const faults = { type: "garbage", body: tooLarge };
  for (let round = 0; round < 2; round += 1) {
    assert.equal(await codeOf({ ...faults, key: revoked.key }), "401 api_key_revoked");
    assert.equal(await codeOf({ ...faults, key: expired.key }), "401 api_key_expired");
    assert.equal(await codeOf({ ...faults, key: frozen.key }), "403 account_suspended");
    assert.equal(await codeOf({ ...faults, key: far }), "403 ip_not_allowed");
    assert.equal(await codeOf({ ...faults, key: wallet.management }), "403 insufficient_scope");
  }
});

test("checks rate limits before the body, so that invalid requests are limited too", async () => {
  const broken = [{ type: "garbage" }, { body: tooLarge }, { body: "{" }, { body: "{}" }];
  for (const faults of broken) {
    const key = await slowKey();
    const [first, second] = await Promise.all([codeOf({ ...faults, key }), codeOf({ ...faults, key })]);
    assert.ok([first, second].includes("429 rate_limited"), `${first}, ${second}`);
    assert.ok([first, second].some((code) => code.startsWith("4") && code !== "429 rate_limited"));
  }
});

test("checks the media type, then the size, then the syntax, then the fields", async () => {
  const key = wallet.live;
  assert.equal(await codeOf({ key, type: "text/plain", body: tooLarge }), "415 unsupported_media_type");
  assert.equal(await codeOf({ key, body: tooLarge }), "413 payload_too_large");
  assert.equal(await codeOf({ key, body: '{"n":0,' }), "400 malformed_json");
  assert.equal(await codeOf({ key, body: '{"n":0}', lines: ["Idempotency-Key: caf\u00e9"] }), "400 invalid_request");
});

test("checks the fields before the balance", async () => {
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

test("checks the Idempotency-Key before the balance", async () => {
  const cent = await createWallet("0.01");
  const lines = ["Idempotency-Key: once"];
  await upstream.behave("ok");
  const first = await server.search(cent.live, { query: "cats" }, { "idempotency-key": "once" });
  await upstream.behave("status_503");
  assert.equal(first.status, 200);
  assert.equal(await codeOf({ key: cent.live, body: '{"query":"dogs"}', lines }), "422 idempotency_key_reused");
  assert.equal(await codeOf({ key: cent.live, body: '{"query":"dogs"}' }), "402 insufficient_balance");
});

test("checks the balance (402), then the key's budget, then the run's budget (403), then calls the upstream", async () => {
  const capped = async (wallet: string) => {
    const limitsId = await seedKeyLimits(db.owner, wallet, { total: 0n });
    return (await createTestKey(db, { walletId: wallet, limitsId })).key;
  };
  const lines = ["Search-Run: spent; max=0.01"];
  await upstream.behave("ok");
  assert.equal(await codeOf({ key: wallet.live, lines }), "200 undefined");
  await upstream.behave("status_503");
  const calls = upstream.requests.length;
  assert.equal(await codeOf({ key: await capped(empty.walletId), lines }), "402 insufficient_balance");
  assert.equal(await codeOf({ key: await capped(walletId), lines }), "403 key_budget_spent");
  assert.equal(await codeOf({ key: wallet.live, lines }), "403 run_budget_spent");
  assert.equal(upstream.requests.length, calls);
  assert.equal(await codeOf({ key: wallet.live }), "503 upstream_error");
});
