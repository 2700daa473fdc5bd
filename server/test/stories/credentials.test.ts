import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createKey, revokeKey } from "../../src/keys/keys.ts";
import { createFixture } from "../fixture.ts";
import { seedKeyLimits } from "../support/data/seed-wallet.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { createTestKey, testPepper } from "../support/services/server.ts";

// Credentials, key state, scopes and budgets.

const { db, upstream, server, startServer, createWallet } = await createFixture();
const wallet = await createWallet("1.00");
const other = await createWallet("1.00");

const question = { query: "cats" };
const plainChallenge = 'Bearer realm="search"';
const invalidToken = 'Bearer realm="search", error="invalid_token"';

async function sendWith(...headerLines: string[]) {
  const lines = [...headerLines, "Content-Type: application/json"];
  const { status, headers, text } = await sendRaw(
    server.url,
    rawRequest("POST /v1/search", lines, JSON.stringify(question)),
  );
  return { status, challenge: headers.get("www-authenticate"), body: JSON.parse(text) };
}

test("either header is accepted, and both with the same key", async () => {
  for (const lines of [
    [`Authorization: Bearer ${wallet.live}`],
    [`x-api-key: ${wallet.live}`],
    [`AUTHORIZATION: bearer   ${wallet.live} `],
    [`X-Api-Key:${wallet.live}  `],
    [`Authorization: Bearer ${wallet.live}`, `x-api-key: ${wallet.live}`],
    [`x-api-key: ${wallet.live}`, `Authorization: BEARER ${wallet.live}`],
    [`Authorization: Bearer ${wallet.live}`, `Authorization: Bearer ${wallet.live}`],
    [`x-api-key: ${wallet.live}`, `x-api-key: ${wallet.live}`],
  ]) {
    assert.equal((await sendWith(...lines)).status, 200, lines.join(" + "));
  }
});

test("two different keys return 400 conflicting_credentials, valid or not, in any combination of headers", async () => {
  const [mine, theirs] = [wallet.live, other.live];
  for (const lines of [
    [`Authorization: Bearer ${mine}`, `x-api-key: ${theirs}`],
    [`x-api-key: ${theirs}`, `Authorization: Bearer ${mine}`],
    [`Authorization: Bearer ${mine}`, `Authorization: Bearer ${theirs}`],
    [`x-api-key: ${mine}`, `x-api-key: ${theirs}`],
    [`x-api-key: ${mine}`, "X-API-KEY: nonsense"],
    [`x-api-key: ${mine}`, `Authorization: Bearer ${mine}x`],
    [`Authorization: Bearer ${mine}`, `x-api-key: ${mine}`, `x-api-key: ${theirs}`],
  ]) {
    const { status, body } = await sendWith(...lines);
    assert.equal(status, 400, lines.join(" + "));
    assert.equal(body.code, "conflicting_credentials");
    assert.equal(body.errors[0].code, "conflicting_credentials");
  }
});

test("an Authorization header of another scheme is ignored when x-api-key is present", async () => {
  for (const scheme of ["Basic dXNlcjpwYXNz", "Digest x", `Token ${other.live}`, "Bearer", "Bearer a b"]) {
    assert.equal((await sendWith(`Authorization: ${scheme}`, `x-api-key: ${wallet.live}`)).status, 200, scheme);
  }
  assert.equal((await sendWith("x-api-key:", `Authorization: Bearer ${wallet.live}`)).status, 200);
});

test("a missing key returns 401 with a challenge and no error code", async () => {
  for (const lines of [
    [],
    ["Authorization: Basic dXNlcjpwYXNz"],
    ["Authorization: Bearer"],
    ["x-api-key:"],
    ["Cookie: x"],
  ]) {
    const { status, challenge, body } = await sendWith(...lines);
    assert.equal(status, 401);
    assert.equal(challenge, plainChallenge);
    assert.equal(body.code, "authentication_required");
  }
});

test("a key in the URL is never read", async () => {
  for (const name of ["api_key", "key", "x-api-key", "access_token", "authorization"]) {
    const reply = await server.request(`/v1/search?${name}=${wallet.live}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(question),
    });
    assert.equal(reply.status, 401);
    assert.equal(reply.body.code, "authentication_required");
    assert.ok(!reply.text.includes(wallet.live));
  }
});

test("a mistyped key, an invented one and one of another installation return 401 invalid_token", async () => {
  const elsewhere = await createKey(
    db.owner,
    { version: 1, bytes: randomBytes(32) },
    { walletId: wallet.walletId, mode: "live", name: "x" },
  );
  const mistyped = wallet.live.slice(0, -1) + (wallet.live.endsWith("a") ? "b" : "a");
  for (const key of ["nonsense", mistyped, wallet.live.toUpperCase(), `${wallet.live}x`, elsewhere.key, "pb_live_"]) {
    const { status, challenge, body } = await sendWith(`x-api-key: ${key}`);
    assert.equal(status, 401);
    assert.equal(challenge, invalidToken);
    assert.equal(body.code, "api_key_invalid");
  }
});

test("revoked and expired keys return 401 invalid_token with their own codes", async () => {
  const revoked = await createTestKey(db, { walletId: wallet.walletId });
  assert.equal(await revokeKey(db.owner, { walletId: wallet.walletId, keyId: revoked.id }), true);
  const expired = await createTestKey(db, { walletId: wallet.walletId, expiresAt: new Date(Date.now() - 1) });
  for (const [key, code] of [
    [revoked.key, "api_key_revoked"],
    [expired.key, "api_key_expired"],
  ]) {
    const { status, challenge, body } = await sendWith(`Authorization: Bearer ${key}`);
    assert.equal(status, 401);
    assert.equal(challenge, invalidToken);
    assert.equal(body.code, code);
  }
});

test("a revoked key cannot spend while the cache still has it", async () => {
  const { id, key } = await createTestKey(db, { walletId: wallet.walletId });
  for (let round = 0; round < 3; round += 1) assert.equal((await server.search(key, question)).status, 200);
  const before = await server.readMoney(wallet.management);
  const calls = upstream.requests.length;
  await revokeKey(db.owner, { walletId: wallet.walletId, keyId: id });
  const { status, body, headers } = await server.search(key, question);
  assert.equal(status, 401);
  assert.equal(body.code, "api_key_revoked");
  // The cache accepted the key, and the hold rejected it.
  assert.match(headers.get("server-timing") ?? "", /hold;/);
  assert.equal(headers.get("www-authenticate"), invalidToken);
  assert.equal(upstream.requests.length, calls);
  assert.deepEqual(await server.readMoney(wallet.management), before);
});

test("all keys of a suspended wallet return 403 while the cache still has them", async () => {
  const suspended = await createWallet("1.00");
  assert.equal((await server.search(suspended.live, question)).status, 200);
  await db.owner.query("select pb.suspend_wallet($1, true)", [suspended.walletId]);
  for (const key of [suspended.live, suspended.test, suspended.management]) {
    const { status, body } = await server.search(key, question);
    assert.equal(status, 403);
    assert.equal(body.code, "account_suspended");
  }
  await db.owner.query("select pb.suspend_wallet($1, false)", [suspended.walletId]);
});

test("a key without the scope returns 403 insufficient_scope with the required scope", async () => {
  const search = await server.search(wallet.management, question);
  assert.equal(search.status, 403);
  assert.equal(search.body.code, "insufficient_scope");
  assert.equal(search.body.required_scope, "search");
  assert.equal(
    search.headers.get("www-authenticate"),
    'Bearer realm="search", error="insufficient_scope", scope="search"',
  );
  for (const path of ["/v1/wallet", "/v1/wallet/entries"]) {
    const read = await server.request(path, { headers: { "x-api-key": wallet.live } });
    assert.equal(read.status, 403);
    assert.equal(read.body.required_scope, "wallet:read");
  }
});

test("a key limited to networks returns 403 from elsewhere, and X-Forwarded-For counts only from trusted proxies", async (t) => {
  const { walletId } = wallet;
  const far = await createTestKey(db, { walletId, mode: "test", allowedIps: ["10.0.0.0/8", "2001:db8::/32"] });
  const near = await createTestKey(db, { walletId, mode: "test", allowedIps: ["127.0.0.0/8", "::1/128"] });
  assert.equal((await server.search(near.key, question)).status, 200);
  for (const spoofed of ["10.1.2.3", "2001:db8::1"]) {
    const { status, body } = await server.search(far.key, question, { "x-forwarded-for": spoofed });
    assert.equal(status, 403);
    assert.equal(body.code, "ip_not_allowed");
  }
  const proxied = await startServer({ PENNYBLACK_TRUSTED_PROXIES: "127.0.0.1,::1" }, t);
  for (const [from, status] of [
    ["10.1.2.3", 200],
    ["2001:db8::1", 200],
    ["::ffff:10.1.2.3", 200],
    ["11.1.2.3", 403],
    ["10.1.2.3, 11.1.2.3", 403],
    ["garbage", 403],
    ["10.1.2.3:8080", 403],
  ] as const) {
    assert.equal((await proxied.search(far.key, question, { "x-forwarded-for": from })).status, status, from);
  }
});

test("a spent key budget returns 403 with its limit, amount spent and reset time", async () => {
  for (const [limits, resets] of [
    [{ total: 10_000n }, /^null$/],
    [{ day: 10_000n }, /^\d{4}-\d\d-\d\dT00:00:00.000Z$/],
    [{ month: 10_000n }, /^\d{4}-\d\d-01T00:00:00.000Z$/],
  ] as const) {
    const limitsId = await seedKeyLimits(db.owner, wallet.walletId, limits);
    const { key } = await createTestKey(db, { walletId: wallet.walletId, limitsId });
    assert.equal((await server.search(key, question)).status, 200);
    const { status, body } = await server.search(key, question);
    assert.equal(status, 403);
    assert.equal(body.code, "key_budget_spent");
    assert.deepEqual([body.limit, body.spent], ["0.01", "0.01"]);
    assert.match(String(body.resets_at), resets);
    if (body.resets_at !== null) assert.ok(new Date(body.resets_at) > new Date());
  }
});

test("a spent run budget returns 403, keeps its first max, and is shared by all keys of the wallet", async () => {
  const run = { "search-run": "nightly; max=0.02; ttl=60" };
  const sibling = await createTestKey(db, { walletId: wallet.walletId });
  assert.equal((await server.search(wallet.live, question, run)).status, 200);
  assert.equal((await server.search(sibling.key, question, { "search-run": "nightly; max=5.00" })).status, 200);
  for (const key of [wallet.live, sibling.key]) {
    const { status, body } = await server.search(key, question, { "search-run": "nightly; max=9.00; ttl=3600" });
    assert.equal(status, 403);
    assert.equal(body.code, "run_budget_spent");
    assert.deepEqual([body.limit, body.spent], ["0.02", "0.02"]);
    const inSeconds = (Date.parse(body.resets_at) - Date.now()) / 1000;
    assert.ok(inSeconds > 0 && inSeconds <= 60, body.resets_at);
  }
  // A run of another wallet with the same name is a different run.
  assert.equal((await server.search(other.live, question, run)).status, 200);
});

test("a failed search does not count against budgets", async () => {
  const limitsId = await seedKeyLimits(db.owner, wallet.walletId, { total: 10_000n });
  const { key } = await createTestKey(db, { walletId: wallet.walletId, limitsId });
  const run = { "search-run": "once; max=0.01" };
  await upstream.behave("status_503");
  assert.equal((await server.search(key, question, run)).status, 503);
  await upstream.behave("ok");
  assert.equal((await server.search(key, question, run)).status, 200);
});

test("a key created with an old pepper works until that pepper is removed", async (t) => {
  const old = `1:${testPepper.bytes.toString("base64")}`;
  const newer = { version: 2, bytes: randomBytes(32) };
  const added = `2:${newer.bytes.toString("base64")}`;
  const fresh = await createKey(db.owner, newer, { walletId: wallet.walletId, mode: "live", name: "fresh" });
  const both = await startServer({ PENNYBLACK_KEY_PEPPERS: `${old},${added}` }, t);
  assert.equal((await both.search(wallet.live, question)).status, 200);
  assert.equal((await both.search(fresh.key, question)).status, 200);
  const newOnly = await startServer({ PENNYBLACK_KEY_PEPPERS: added }, t);
  assert.equal((await newOnly.search(wallet.live, question)).status, 401);
  assert.equal((await newOnly.search(fresh.key, question)).status, 200);
});
