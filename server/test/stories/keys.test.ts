import assert from "node:assert/strict";
import { after, test } from "node:test";
import pg from "pg";
import { revokeKey, type Scope } from "../../src/keys/keys.ts";
import { until } from "../support/assertions/until.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestKey, createTestWallet, type Reply, startTestServer } from "../support/services/server.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// Keys as their owner manages them: with a management key, over the API.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const settings = { PENNYBLACK_SEARXNG_URL: upstream.url };
const server = await startTestServer(db, settings);
const wallet = await createTestWallet(db, "1.00");

after(async () => {
  await server.close();
  await upstream.close();
  await db.drop();
});

function manage(method: string, path: string, body?: unknown, key = wallet.management): Promise<Reply> {
  const headers = { "x-api-key": key, ...(body !== undefined && { "content-type": "application/json" }) };
  return server.request(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

async function make(wanted: object = {}): Promise<{ id: string; key: string }> {
  const { status, body, text } = await manage("POST", "/v1/keys", { mode: "live", name: "agent", ...wanted });
  assert.equal(status, 200, text);
  return body;
}

async function makeManager(scopes: Scope[]): Promise<{ id: string; key: string }> {
  return createTestKey(db, { walletId: wallet.walletId, mode: "mgmt", name: "less", scopes });
}

/** The state of a key is remembered for a second; a key nobody has used yet is not. */
async function searchOutcome(key: string): Promise<string> {
  const { status, body } = await server.search(key, { query: "cats" });
  return status === 200 ? "paid" : body.code;
}

test("a new key is shown once, works, and is in the list without its secret", async () => {
  const expires_at = "2099-01-31T12:00:00.000Z";
  const reply = await manage("POST", "/v1/keys", {
    mode: "live",
    name: "agent 7",
    scopes: ["search", "wallet:read"],
    allowed_ips: ["127.0.0.1", "2001:db8::/32"],
    expires_at,
    searches_per_second: 7,
    searches_in_flight: 3,
    budget: { total: "5", day: "0.02", month: null },
  });
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers.get("cache-control"), "no-store");
  const { key, id, created_at, budget, ...rest } = reply.body;
  assert.match(key, /^pb_live_[0-9A-Za-z]{36}$/);
  assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 10_000);
  assert.deepEqual(rest, {
    mode: "live",
    name: "agent 7",
    start: key.slice(0, 12),
    state: "active",
    scopes: ["search", "wallet:read"],
    allowed_ips: ["127.0.0.1/32", "2001:db8::/32"],
    searches_per_second: 7,
    searches_in_flight: 3,
    expires_at,
    revoked_at: null,
    revoked_reason: null,
    rotated_from: null,
    last_used_at: null,
  });
  const midnight = new Date();
  midnight.setUTCHours(24, 0, 0, 0);
  assert.deepEqual(budget, {
    total: { limit: "5.00", spent: "0.00", resets_at: null },
    day: { limit: "0.02", spent: "0.00", resets_at: midnight.toISOString() },
    month: null,
  });
  const paid = await server.search(key, { query: "cats" });
  assert.deepEqual([paid.status, paid.headers.has("wallet-balance")], [200, true]);
  assert.equal(paid.headers.get("ratelimit-policy"), '"key";q=7;w=1');
  for (const shown of [await manage("GET", `/v1/keys/${id}`), await manage("GET", "/v1/keys")]) {
    assert.ok(shown.text.includes(id));
    assert.ok(!shown.text.includes(key.slice(0, 20)));
  }
  assert.equal((await manage("GET", `/v1/keys/${id}`)).body.budget.day.spent, "0.01");
});

test("any key can ask what it is", async () => {
  for (const [key, mode] of [
    [wallet.live, "live"],
    [wallet.test, "test"],
    [wallet.management, "mgmt"],
  ] as const) {
    const { status, body } = await manage("GET", "/v1/key", undefined, key);
    assert.deepEqual([status, body.mode, body.start, body.budget], [200, mode, key.slice(0, 12), null]);
  }
  assert.equal((await server.request("/v1/key")).status, 401);
});

test("the list is paged, newest first, and whole", async () => {
  const other = await createTestWallet(db, "0.00");
  for (let made = 0; made < 5; made += 1) {
    await manage("POST", "/v1/keys", { mode: "test", name: `key ${made}` }, other.management);
  }
  const names: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const { body } = await manage(
      "GET",
      `/v1/keys?limit=3${cursor && `&cursor=${cursor}`}`,
      undefined,
      other.management,
    );
    assert.ok(body.keys.length <= 3);
    names.push(...body.keys.map(({ name }: { name: string }) => name));
    cursor = body.next_cursor;
  }
  assert.deepEqual(names, ["key 4", "key 3", "key 2", "key 1", "key 0", "management", "test", "live"]);
});

test("what does not fit is refused with its place, and nothing is made", async () => {
  const count = async () => (await db.owner.query("select from pb.keys")).rowCount;
  const before = await count();
  const faults: [object, string][] = [
    [{ mode: "admin" }, "#/mode"],
    [{ name: "" }, "#/name"],
    [{ name: " " }, "#/name"],
    [{ name: "a\nb" }, "#/name"],
    [{ name: "x".repeat(101) }, "#/name"],
    [{ scopes: [] }, "#/scopes"],
    [{ scopes: ["everything"] }, "#/scopes/0"],
    [{ scopes: ["search", "search"] }, "#/scopes"],
    [{ scopes: ["search", "keys:write"] }, "#/scopes"],
    [{ mode: "mgmt", scopes: ["search"] }, "#/scopes"],
    [{ allowed_ips: [] }, "#/allowed_ips"],
    [{ allowed_ips: ["10"] }, "#/allowed_ips/0"],
    [{ allowed_ips: ["192.0.2.0/33"] }, "#/allowed_ips/0"],
    [{ allowed_ips: ["192.0.2.1/24"] }, "#/allowed_ips"],
    [{ allowed_ips: ["example.org"] }, "#/allowed_ips/0"],
    [{ expires_at: "2020-01-01T00:00:00Z" }, "#/expires_at"],
    [{ expires_at: "2099-01-01" }, "#/expires_at"],
    [{ expires_at: "2099-13-01T00:00:00Z" }, "#/expires_at"],
    [{ searches_per_second: 0 }, "#/searches_per_second"],
    [{ searches_per_second: 1_001 }, "#/searches_per_second"],
    [{ searches_in_flight: "5" }, "#/searches_in_flight"],
    [{ budget: { day: 5 } }, "#/budget/day"],
    [{ budget: { day: "-1" } }, "#/budget/day"],
    [{ budget: { day: "0.0000001" } }, "#/budget/day"],
    [{ budget: { year: "1" } }, "#/budget/year"],
    [{ mode: "test", budget: { day: "1" } }, "#/budget"],
    [{ wallet_id: wallet.walletId }, "#/wallet_id"],
  ];
  for (const [fault, pointer] of faults) {
    const { status, body } = await manage("POST", "/v1/keys", { mode: "live", name: "agent", ...fault });
    assert.equal(status, 400, JSON.stringify(fault));
    assert.equal(body.code, "invalid_request");
    const places = body.errors.map((each: { pointer: string }) => each.pointer);
    assert.deepEqual(places, [pointer], JSON.stringify(body.errors));
  }
  assert.equal(await count(), before);
});

test("a key cannot hand on a scope that it does not have, neither by making a key nor by rotating one", async () => {
  const less = await makeManager(["keys:write", "wallet:read"]);
  const wish = (scopes?: Scope[]) => manage("POST", "/v1/keys", { mode: "mgmt", name: "more", scopes }, less.key);
  const refused = await wish(["wallet:write"]);
  assert.deepEqual([refused.status, refused.body.required_scope], [403, "wallet:write"]);
  assert.deepEqual((await wish()).body.scopes, ["wallet:read", "keys:write"]);
  const { id } = await makeManager(["keys:write", "webhooks:write"]);
  const rotated = await manage("POST", `/v1/keys/${id}/rotate`, { grace_seconds: 0 }, less.key);
  assert.deepEqual([rotated.status, rotated.body.required_scope], [403, "webhooks:write"]);
  assert.equal((await manage("POST", "/v1/keys", { mode: "live", name: "search" }, less.key)).status, 200);
  // The database says the same to a server that would not.
  const { rows } = await db.owner.query<{ covers: boolean }>(
    `select set_config('pb.wallet_id', $1, false), pb.can_grant_scopes($2, '{search,wallet:read}') as covers
     union all select '', pb.can_grant_scopes($2, '{wallet:write}')`,
    [wallet.walletId, less.id],
  );
  assert.deepEqual(
    rows.map(({ covers }) => covers),
    [true, false],
  );
});

test("only a key with keys:write manages keys", async () => {
  const reader = await makeManager(["wallet:read", "wallet:write"]);
  for (const key of [reader.key, wallet.live, wallet.test]) {
    for (const [method, path, body] of [
      ["GET", "/v1/keys"],
      ["POST", "/v1/keys", { mode: "live", name: "x" }],
      ["GET", `/v1/keys/${wallet.liveKeyId}`],
      ["PATCH", `/v1/keys/${wallet.liveKeyId}`, { name: "x" }],
      ["DELETE", `/v1/keys/${wallet.liveKeyId}`],
      ["POST", `/v1/keys/${wallet.liveKeyId}/rotate`, { grace_seconds: 0 }],
    ] as const) {
      const reply = await manage(method, path, body, key);
      assert.deepEqual([reply.status, reply.body.required_scope], [403, "keys:write"], `${method} ${path}`);
    }
  }
});

test("a budget is raised, lowered and removed, and every next search follows it", async () => {
  const { id, key } = await make({ budget: { total: "0.01" } });
  const change = async (budget: object | null) => (await manage("PATCH", `/v1/keys/${id}`, { budget })).body.budget;
  assert.deepEqual([await searchOutcome(key), await searchOutcome(key)], ["paid", "key_budget_spent"]);
  const raised = await change({ total: "0.03", day: "0.02" });
  assert.deepEqual([raised.total.limit, raised.total.spent, raised.day.spent], ["0.03", "0.01", "0.01"]);
  assert.deepEqual([await searchOutcome(key), await searchOutcome(key)], ["paid", "key_budget_spent"]);
  const withoutDay = await change({ day: null });
  assert.deepEqual([withoutDay.total.limit, withoutDay.day], ["0.03", null]);
  assert.deepEqual([await searchOutcome(key), await searchOutcome(key)], ["paid", "key_budget_spent"]);
  assert.equal((await change({ total: "0.005" })).total.spent, "0.03", "a limit may be below what is spent");
  assert.equal(await searchOutcome(key), "key_budget_spent");
  assert.equal(await change(null), null);
  assert.equal(await searchOutcome(key), "paid");
  const anew = await change({ month: "0.01" });
  assert.deepEqual([anew.total, anew.month.spent], [null, "0.00"]);
  assert.deepEqual([await searchOutcome(key), await searchOutcome(key)], ["paid", "key_budget_spent"]);
  const { id: testKey } = await make({ mode: "test" });
  assert.equal((await manage("PATCH", `/v1/keys/${testKey}`, { budget: { day: "1" } })).status, 400);
});

test("a change keeps what it does not name", async () => {
  const { id } = await make({ name: "before", allowed_ips: ["127.0.0.0/8"], searches_per_second: 5 });
  const { body } = await manage("PATCH", `/v1/keys/${id}`, { name: "after", expires_at: "2099-01-01T00:00:00+01:00" });
  assert.deepEqual(
    [body.name, body.allowed_ips, body.searches_per_second, body.expires_at],
    ["after", ["127.0.0.0/8"], 5, "2098-12-31T23:00:00.000Z"],
  );
  const open = await manage("PATCH", `/v1/keys/${id}`, { allowed_ips: null, expires_at: null, searches_in_flight: 9 });
  assert.deepEqual([open.body.allowed_ips, open.body.expires_at, open.body.searches_in_flight], [null, null, 9]);
  for (const wrong of [{}, { mode: "test" }, { scopes: ["search"] }, { name: null }]) {
    assert.equal((await manage("PATCH", `/v1/keys/${id}`, wrong)).status, 400, JSON.stringify(wrong));
  }
});

test("a rotated key lives on for its grace, on the same budget, and then is expired", async () => {
  const { id, key } = await make({ name: "worker", budget: { total: "0.03" }, searches_per_second: 50 });
  assert.equal(await searchOutcome(key), "paid");
  const { body: next } = await manage("POST", `/v1/keys/${id}/rotate`, { grace_seconds: 3_600 });
  assert.deepEqual([next.name, next.searches_per_second, next.rotated_from], ["worker", 50, id]);
  const revived = await manage("PATCH", `/v1/keys/${id}`, { expires_at: null });
  assert.deepEqual([revived.status, revived.body.code], [409, "key_not_active"], "its end is decided");
  assert.deepEqual([next.expires_at, next.budget.total.spent], [null, "0.01"]);
  assert.notEqual(next.key, key);
  assert.deepEqual([await searchOutcome(key), await searchOutcome(next.key)], ["paid", "paid"]);
  assert.equal(await searchOutcome(next.key), "key_budget_spent", "both spend one budget");
  const old = (await manage("GET", `/v1/keys/${id}`)).body;
  const graceMs = Date.parse(old.expires_at) - Date.now();
  assert.ok(graceMs > 3_590_000 && graceMs <= 3_600_000, old.expires_at);
  assert.equal((await manage("POST", `/v1/keys/${id}/rotate`, { grace_seconds: 0 })).body.code, "key_not_active");
  await db.owner.query("update pb.keys set expires_at = clock_timestamp() where id = $1", [id]);
  assert.equal(await searchOutcome(key), "api_key_expired");
  assert.equal((await manage("GET", `/v1/keys/${id}`)).body.state, "expired");
});

test("rotated without a grace, the old key ends at once, even the one that asks", async () => {
  const { id, key } = await make();
  assert.equal(await searchOutcome(key), "paid");
  const { body: next } = await manage("POST", `/v1/keys/${id}/rotate`, { grace_seconds: 0 });
  assert.deepEqual([await searchOutcome(key), await searchOutcome(next.key)], ["api_key_expired", "paid"]);
  const manager = await makeManager(["keys:write"]);
  const own = await manage("POST", `/v1/keys/${manager.id}/rotate`, { grace_seconds: 0 }, manager.key);
  assert.equal((await manage("POST", "/v1/keys", { mode: "test", name: "x" }, manager.key)).status, 401);
  assert.equal((await manage("GET", "/v1/keys", undefined, own.body.key)).status, 200);
  for (const grace_seconds of [-1, 2_592_001, 0.5, "0", null]) {
    assert.equal((await manage("POST", `/v1/keys/${next.id}/rotate`, { grace_seconds })).status, 400);
  }
});

test("a revoked key spends nothing, stays revoked and says when; revoking may be repeated", async () => {
  const { id, key } = await make();
  assert.equal(await searchOutcome(key), "paid");
  const { body } = await manage("DELETE", `/v1/keys/${id}`);
  assert.deepEqual([body.state, body.revoked_reason], ["revoked", "owner"]);
  assert.equal(await searchOutcome(key), "api_key_revoked");
  assert.equal((await manage("DELETE", `/v1/keys/${id}`)).body.revoked_at, body.revoked_at);
  assert.equal((await manage("PATCH", `/v1/keys/${id}`, { name: "x" })).body.code, "key_not_active");
  for (const unknown of [id.replace(/.{12}$/, "000000000000"), "x", id.toUpperCase()]) {
    assert.equal((await manage("DELETE", `/v1/keys/${unknown}`)).status, 404);
  }
});

test("a key is revoked for its own wallet alone", async () => {
  const { id, key } = await make();
  const stranger = await createTestWallet(db, "0.00");
  assert.equal(await revokeKey(db.owner, { walletId: stranger.walletId, keyId: id }), false);
  assert.equal((await manage("DELETE", `/v1/keys/${id}`, undefined, stranger.management)).status, 404);
  assert.equal(await searchOutcome(key), "paid");
  assert.equal(await revokeKey(db.owner, { walletId: wallet.walletId, keyId: id }), true);
});

test("a management key that was revoked makes no key, not even in the second for which it is remembered", async () => {
  const manager = await makeManager(["keys:write"]);
  const { id } = await make();
  assert.equal((await manage("GET", "/v1/keys", undefined, manager.key)).status, 200);
  await revokeKey(db.owner, { walletId: wallet.walletId, keyId: manager.id });
  assert.equal((await manage("GET", "/v1/keys", undefined, manager.key)).status, 200, "it is still remembered");
  for (const [method, path, body] of [
    ["POST", "/v1/keys", { mode: "live", name: "x" }],
    ["PATCH", `/v1/keys/${id}`, { name: "x" }],
    ["POST", `/v1/keys/${id}/rotate`, { grace_seconds: 0 }],
    ["DELETE", `/v1/keys/${id}`],
  ] as const) {
    assert.equal((await manage(method, path, body, manager.key)).body.code, "api_key_revoked", `${method} ${path}`);
  }
  assert.deepEqual((await manage("GET", `/v1/keys/${id}`)).body.state, "active");
});

test("a server notes which keys were used, at the latest when it stops", async () => {
  const { id, key } = await make();
  const unused = await make();
  const brief = await startTestServer(db, settings);
  await brief.search(key, { query: "cats" });
  await brief.close();
  const { body } = await manage("GET", `/v1/keys/${id}`);
  assert.ok(Math.abs(Date.parse(body.last_used_at) - Date.now()) < 10_000);
  assert.equal((await manage("GET", `/v1/keys/${unused.id}`)).body.last_used_at, null);
});

test("whatever is done to a key waits for the wallet's lock, as its holds do", async () => {
  const other = await createTestWallet(db, "1.00");
  const ids: string[] = [];
  for (const name of ["change", "rotate", "revoke"]) {
    ids.push((await manage("POST", "/v1/keys", { mode: "live", name }, other.management)).body.id);
  }
  const [changed, rotated, revoked] = ids;
  // Only a superuser sees what others wait for.
  const watcher = new pg.Client({ connectionString: db.superuserUrl });
  await watcher.connect();
  const lock = await db.owner.connect();
  await lock.query("begin");
  await lock.query("select from pb.wallets where id = $1 for no key update", [other.walletId]);
  const acts = Promise.all([
    manage("POST", "/v1/keys", { mode: "live", name: "x" }, other.management),
    manage("PATCH", `/v1/keys/${changed}`, { budget: { day: "0.00" } }, other.management),
    manage("POST", `/v1/keys/${rotated}/rotate`, { grace_seconds: 0 }, other.management),
    manage("DELETE", `/v1/keys/${revoked}`, undefined, other.management),
  ]);
  try {
    await until(
      "all four wait",
      async () => {
        const { rows } = await watcher.query(
          `select from pg_stat_activity where datname = $1 and usename = 'pennyblack_tenant' and wait_event_type = 'Lock'`,
          [db.name],
        );
        return rows.length === 4;
      },
      1_900,
    );
  } finally {
    await lock.query("rollback");
    lock.release();
    await watcher.end();
  }
  for (const { status, text } of await acts) assert.equal(status, 200, text);
});
