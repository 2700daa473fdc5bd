import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import pg from "pg";
import { createKeys, revokeKey, type Scope } from "../../src/keys/keys.ts";
import { createFixture } from "../fixture.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { until } from "../support/assertions/until.ts";
import { lockWallet } from "../support/data/lock-wallet.ts";
import { createTestKey, type Reply, testPepper } from "../support/services/server.ts";

// Key management with a management key.

const { db, server, startServer, createWallet } = await createFixture();
const wallet = await createWallet("1.00");

function manage(method: string, path: string, body?: unknown, key = wallet.management): Promise<Reply> {
  return server.manage(key, method, path, body);
}

async function create(options: object = {}): Promise<{ id: string; key: string }> {
  const { status, body, text } = await manage("POST", "/v1/keys", { mode: "live", name: "agent", ...options });
  assert.equal(status, 200, text);
  return body;
}

async function createManagementKey(scopes: Scope[]): Promise<{ id: string; key: string }> {
  return createTestKey(db, { walletId: wallet.walletId, mode: "mgmt", scopes });
}

async function searchOutcome(key: string): Promise<string> {
  const { status, body } = await server.search(key, { query: "cats" });
  return status === 200 ? "paid" : body.code;
}

test("a new key is returned once, works, and is listed without its secret", async () => {
  const expires_at = "2099-01-31T12:00:00.000Z";
  const unset = { end_user_limit: null, budgets: [], compat: null, sources: null, max_run: null, external_id: null };
  const before = Date.now();
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
  const { key, id, created_at, created_by: _by, budget, ...rest } = reply.body;
  assert.match(key, /^pb_live_[0-9A-Za-z]{36}$/);
  assert.ok(Date.parse(created_at) >= before && Date.parse(created_at) <= Date.now(), created_at);
  assert.deepEqual(rest, {
    mode: "live",
    name: "agent 7",
    start: key.slice(0, 12),
    state: "active",
    scopes: ["search", "wallet:read"],
    allowed_ips: ["127.0.0.1/32", "2001:db8::/32"],
    searches_per_second: 7,
    searches_in_flight: 3,
    ...unset,
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
  for (const { text } of [await manage("GET", `/v1/keys/${id}`), await manage("GET", "/v1/keys")]) {
    assert.ok(text.includes(id));
    assert.ok(!text.includes(key.slice(0, 20)));
  }
  assert.equal((await manage("GET", `/v1/keys/${id}`)).body.budget.day.spent, "0.01");
});

test("any key can read its own properties", async () => {
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

test("the list is paged, newest first, and complete", async () => {
  const other = await createWallet("0.00");
  for (let made = 0; made < 5; made += 1) {
    await manage("POST", "/v1/keys", { mode: "test", name: `key ${made}` }, other.management);
  }
  const names = pluck(await server.readPages(other.management, "/v1/keys?limit=3"), "name");
  assert.deepEqual(names, ["key 4", "key 3", "key 2", "key 1", "key 0", "management", "test", "live"]);
});

test("an invalid body returns 400 with the field's pointer and creates no key", async () => {
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
    [{ mode: "mgmt", budget: { day: "1" } }, "#/budget"],
    [{ compat: { ignore: ["domains", "freshnes"] } }, "#/compat/ignore/1"],
    [{ compat: { ignore: ["query"] } }, "#/compat/ignore/0"],
    [{ compat: { ignore: [""] } }, "#/compat/ignore/0"],
    [{ compat: { repeat: "20 minutes" } }, "#/compat/repeat"],
    [{ compat: { repeat: "25h" } }, "#/compat/repeat"],
    [{ compat: { run: { max: "0.50" } } }, "#/compat/run/ttl"],
    [{ compat: { run: { max: "0.009", ttl: "1h" } } }, "#/compat/run/max"],
    [{ compat: { run: { max: "0.50", ttl: "0s" } } }, "#/compat/run/ttl"],
    [{ wallet_id: wallet.walletId }, "#/wallet_id"],
  ];
  for (const [fault, pointer] of faults) {
    const { status, body } = await manage("POST", "/v1/keys", { mode: "live", name: "agent", ...fault });
    assert.equal(status, 400, JSON.stringify(fault));
    assert.equal(body.code, "invalid_request");
    const pointers = body.errors.map((each: { pointer: string }) => each.pointer);
    assert.deepEqual(pointers, [pointer], JSON.stringify(body.errors));
  }
  assert.equal(await count(), before);
});

test("a key cannot grant a scope it lacks, neither by creating a key nor by rotating one", async () => {
  const less = await createManagementKey(["keys:write", "wallet:read"]);
  const createWith = (scopes?: Scope[]) => manage("POST", "/v1/keys", { mode: "mgmt", name: "more", scopes }, less.key);
  const refused = await createWith(["wallet:write"]);
  assert.deepEqual([refused.status, refused.body.required_scope], [403, "wallet:write"]);
  assert.deepEqual((await createWith()).body.scopes, ["wallet:read", "keys:write"]);
  const { id } = await createManagementKey(["keys:write", "webhooks:write"]);
  const rotated = await manage("POST", `/v1/keys/${id}/rotate`, { grace_seconds: 0 }, less.key);
  assert.deepEqual([rotated.status, rotated.body.required_scope], [403, "webhooks:write"]);
  assert.equal((await manage("POST", "/v1/keys", { mode: "live", name: "search" }, less.key)).status, 200);
  // The database enforces the same rule.
  const { rows } = await db.owner.query<{ covers: boolean }>(
    `select set_config('pb.wallet_id', $1, false), pb.can_grant_scopes($2, '{search,wallet:read}') as covers
     union all select '', pb.can_grant_scopes($2, '{wallet:write}')`,
    [wallet.walletId, less.id],
  );
  assert.deepEqual(pluck(rows, "covers"), [true, false]);
});

test("for every set of scopes, a key grants exactly those it has and search, and the refusal names all that are missing", async () => {
  const subsets = (scopes: Scope[]): Scope[][] =>
    scopes.reduce<Scope[][]>((sets, scope) => [...sets, ...sets.map((set) => [...set, scope])], [[]]);
  const grants = [
    ...subsets(["wallet:read", "wallet:write", "keys:write", "webhooks:write"]).map(
      (scopes) => ["mgmt", scopes] as const,
    ),
    ...subsets(["search", "wallet:read"]).map((scopes) => ["live", scopes] as const),
  ].filter(([, scopes]) => scopes.length > 0);
  for (const others of subsets(["wallet:read", "wallet:write", "webhooks:write"])) {
    const own: Scope[] = ["keys:write", ...others];
    const manager = await createManagementKey(own);
    for (const [mode, scopes] of grants) {
      const reply = await manage("POST", "/v1/keys", { mode, name: "granted", scopes }, manager.key);
      const missing = scopes.filter((scope) => scope !== "search" && !own.includes(scope));
      assert.equal(
        reply.status,
        missing.length > 0 ? 403 : 200,
        `${own.join()} grants ${scopes.join()}: ${reply.text}`,
      );
      if (missing.length === 0) {
        assert.deepEqual(reply.body.scopes.toSorted(), scopes.toSorted());
        continue;
      }
      assert.equal(reply.body.required_scope, missing[0]);
      for (const scope of missing)
        assert.ok(reply.body.detail.includes(`\`${scope}\``), `${scope}: ${reply.body.detail}`);
      assert.ok(reply.headers.get("www-authenticate")?.endsWith(`scope="${missing.join(" ")}"`));
    }
    // The scopes of an existing key cannot be changed at all.
    const changed = await manage("PATCH", `/v1/keys/${manager.id}`, { scopes: own }, manager.key);
    assert.deepEqual([changed.status, changed.body.errors[0].code], [400, "unknown_field"]);
  }
});

test("managing keys requires keys:write, and reading them keys:read", async () => {
  const reader = await createManagementKey(["wallet:read", "wallet:write"]);
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
      const required = method === "GET" ? "keys:read" : "keys:write";
      assert.deepEqual([reply.status, reply.body.required_scope], [403, required], `${method} ${path}`);
    }
  }
});

test("keys:read lists and reads keys and changes nothing; keys:write includes it and can grant it", async () => {
  const writer = await createManagementKey(["keys:write"]);
  const auditor = (await manage("POST", "/v1/keys", { mode: "mgmt", name: "audit", scopes: ["keys:read"] }, writer.key))
    .body;
  assert.deepEqual(auditor.scopes, ["keys:read"]);
  for (const key of [writer.key, auditor.key]) {
    assert.equal((await manage("GET", "/v1/keys", undefined, key)).status, 200);
    assert.equal((await manage("GET", `/v1/keys/${auditor.id}`, undefined, key)).status, 200);
  }
  for (const [method, path, body] of [
    ["POST", "/v1/keys", { mode: "live", name: "x" }],
    ["POST", "/v1/keys", { mode: "mgmt", name: "x", scopes: ["keys:read"] }],
    ["PATCH", `/v1/keys/${auditor.id}`, { name: "x" }],
    ["DELETE", `/v1/keys/${auditor.id}`],
  ] as const) {
    const reply = await manage(method, path, body, auditor.key);
    assert.deepEqual([reply.status, reply.body.required_scope], [403, "keys:write"], `${method} ${path}`);
  }
});

test("a changed or removed budget applies to the next search", async () => {
  const { id, key } = await create({ budget: { total: "0.01" } });
  const change = async (budget: object | null) => (await manage("PATCH", `/v1/keys/${id}`, { budget })).body.budget;
  assert.deepEqual([await searchOutcome(key), await searchOutcome(key)], ["paid", "key_budget_spent"]);
  const raised = await change({ total: "0.03", day: "0.01" });
  assert.deepEqual([raised.total.limit, raised.total.spent], ["0.03", "0.01"]);
  assert.equal(raised.day.spent, "0.00", "a limit counts the searches since it was set");
  assert.deepEqual([await searchOutcome(key), await searchOutcome(key)], ["paid", "key_budget_spent"]);
  const withoutDay = await change({ day: null });
  assert.deepEqual([withoutDay.total.limit, withoutDay.day], ["0.03", null]);
  assert.deepEqual([await searchOutcome(key), await searchOutcome(key)], ["paid", "key_budget_spent"]);
  assert.equal((await change({ total: "0.02" })).total.spent, "0.03", "a limit can be below the amount spent");
  assert.equal(await searchOutcome(key), "key_budget_spent");
  assert.equal(await change(null), null);
  assert.equal(await searchOutcome(key), "paid");
  const replaced = await change({ month: "0.01" });
  assert.deepEqual([replaced.total, replaced.month.spent], [null, "0.00"]);
  assert.deepEqual([await searchOutcome(key), await searchOutcome(key)], ["paid", "key_budget_spent"]);
  const { id: managementKey } = await createManagementKey(["wallet:read"]);
  assert.equal((await manage("PATCH", `/v1/keys/${managementKey}`, { budget: { day: "1" } })).status, 400);
});

test("a change keeps the fields that it does not contain", async () => {
  const { id } = await create({ name: "before", allowed_ips: ["127.0.0.0/8"], searches_per_second: 5 });
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

test("settings for the compatibility endpoints are stored on the key, returned to the server and kept by a rotation", async () => {
  const compat = { ignore: ["domains", "freshness"], repeat: "20m", run: { max: "0.50", ttl: "1h" } };
  const { id, key } = await create({ compat });
  const keys = createKeys(db.ledger, [testPepper]);
  try {
    const compatOf = async (text: string) => (await keys.authenticate(text, "127.0.0.1", "search")).compat;
    const parsed = { ignore: compat.ignore, repeatSeconds: 1_200, run: { maxMicros: 500_000n, ttlSeconds: 3_600 } };
    assert.deepEqual(await compatOf(key), parsed);
    assert.equal(await compatOf(wallet.live), undefined);
    assert.deepEqual((await manage("PATCH", `/v1/keys/${id}`, { name: "renamed" })).body.compat, compat);
    const rotated = (await manage("POST", `/v1/keys/${id}/rotate`, { grace_seconds: 60 })).body;
    assert.deepEqual([rotated.compat, await compatOf(rotated.key)], [compat, parsed]);
    const replaced = await manage("PATCH", `/v1/keys/${id}`, { compat: { repeat: "90s" } });
    assert.deepEqual(replaced.body.compat, { repeat: "90s" }, "a change replaces all settings");
    await until("the changed settings are found", async () =>
      isDeepStrictEqual(await compatOf(key), { ignore: [], repeatSeconds: 90 }),
    );
    assert.equal((await manage("PATCH", `/v1/keys/${id}`, { compat: null })).body.compat, null);
  } finally {
    keys.close();
  }
});

test("a rotated key works for its grace period on the same budget and then expires", async () => {
  const { id, key } = await create({ name: "worker", budget: { total: "0.03" }, searches_per_second: 50 });
  assert.equal(await searchOutcome(key), "paid");
  const beforeMs = Date.now();
  const { body: next } = await manage("POST", `/v1/keys/${id}/rotate`, { grace_seconds: 3_600 });
  const afterMs = Date.now();
  assert.deepEqual([next.name, next.searches_per_second, next.rotated_from], ["worker", 50, id]);
  const revived = await manage("PATCH", `/v1/keys/${id}`, { expires_at: null });
  assert.deepEqual([revived.status, revived.body.code], [409, "key_not_active"], "its expiry is final");
  assert.deepEqual([next.expires_at, next.budget.total.spent], [null, "0.01"]);
  assert.notEqual(next.key, key);
  assert.deepEqual([await searchOutcome(key), await searchOutcome(next.key)], ["paid", "paid"]);
  assert.equal(await searchOutcome(next.key), "key_budget_spent", "both share one budget");
  const old = (await manage("GET", `/v1/keys/${id}`)).body;
  const rotatedMs = Date.parse(old.expires_at) - 3_600_000;
  assert.ok(rotatedMs >= beforeMs && rotatedMs <= afterMs, old.expires_at);
  assert.equal((await manage("POST", `/v1/keys/${id}/rotate`, { grace_seconds: 0 })).body.code, "key_not_active");
  await db.owner.query("update pb.keys set expires_at = clock_timestamp() where id = $1", [id]);
  assert.equal(await searchOutcome(key), "api_key_expired");
  assert.equal((await manage("GET", `/v1/keys/${id}`)).body.state, "expired");
});

test("a key rotated without a grace period expires immediately, even one that rotates itself", async () => {
  const { id, key } = await create();
  assert.equal(await searchOutcome(key), "paid");
  const { body: next } = await manage("POST", `/v1/keys/${id}/rotate`, { grace_seconds: 0 });
  assert.deepEqual([await searchOutcome(key), await searchOutcome(next.key)], ["api_key_expired", "paid"]);
  const manager = await createManagementKey(["keys:write"]);
  const own = await manage("POST", `/v1/keys/${manager.id}/rotate`, { grace_seconds: 0 }, manager.key);
  assert.equal((await manage("POST", "/v1/keys", { mode: "test", name: "x" }, manager.key)).status, 401);
  assert.equal((await manage("GET", "/v1/keys", undefined, own.body.key)).status, 200);
  for (const grace_seconds of [-1, 2_592_001, 0.5, "0", null]) {
    assert.equal((await manage("POST", `/v1/keys/${next.id}/rotate`, { grace_seconds })).status, 400);
  }
});

test("a revoked key cannot spend and stays revoked, and revoking can be repeated", async () => {
  const { id, key } = await create();
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

test("a key cannot be revoked by another wallet", async () => {
  const { id, key } = await create();
  const stranger = await createWallet("0.00");
  assert.equal(await revokeKey(db.owner, { walletId: stranger.walletId, keyId: id }), false);
  assert.equal((await manage("DELETE", `/v1/keys/${id}`, undefined, stranger.management)).status, 404);
  assert.equal(await searchOutcome(key), "paid");
  assert.equal(await revokeKey(db.owner, { walletId: wallet.walletId, keyId: id }), true);
});

test("a revoked management key cannot change keys while it is still cached", async () => {
  const manager = await createManagementKey(["keys:write"]);
  const { id } = await create();
  assert.equal((await manage("GET", "/v1/keys", undefined, manager.key)).status, 200);
  await revokeKey(db.owner, { walletId: wallet.walletId, keyId: manager.id });
  assert.equal((await manage("GET", "/v1/keys", undefined, manager.key)).status, 200, "it is still cached");
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

test("a server records the last use of keys at the latest when it stops", async (t) => {
  const [{ id, key }, unused] = [await create(), await create()];
  const other = await startServer({}, t);
  const before = Date.now();
  await other.search(key, { query: "cats" });
  await other.close();
  const { body } = await manage("GET", `/v1/keys/${id}`);
  assert.ok(Date.parse(body.last_used_at) >= before, body.last_used_at);
  assert.equal((await manage("GET", `/v1/keys/${unused.id}`)).body.last_used_at, null);
});

test("every change of a key waits for the wallet's lock", async () => {
  const other = await createWallet("1.00");
  const ids: string[] = [];
  for (const name of ["change", "rotate", "revoke"]) {
    ids.push((await manage("POST", "/v1/keys", { mode: "live", name }, other.management)).body.id);
  }
  const [changed, rotated, revoked] = ids;
  // Only a superuser sees the wait events of other roles.
  const watcher = new pg.Client({ connectionString: db.superuserUrl });
  await watcher.connect();
  const changes: [method: string, path: string, body?: unknown][] = [
    ["POST", "/v1/keys", { mode: "live", name: "x" }],
    ["PATCH", `/v1/keys/${changed}`, { budget: { day: "0.01" } }],
    ["POST", `/v1/keys/${rotated}/rotate`, { grace_seconds: 0 }],
    ["DELETE", `/v1/keys/${revoked}`],
  ];
  const isWaiting = async (): Promise<boolean> => {
    const sql = `select from pg_stat_activity where datname = $1 and usename = 'pennyblack_tenant' and wait_event_type = 'Lock'`;
    return (await watcher.query(sql, [db.name])).rowCount === 1;
  };
  // One after another, because a wallet has one connection for changes.
  for (const [method, path, body] of changes) {
    // A foreign key waits for a stronger lock too, which would hide a missing one.
    const lock = await lockWallet(db, other, "no key update");
    const change = manage(method, path, body, other.management);
    try {
      await until(`${method} ${path} waits`, isWaiting, 1_900);
    } finally {
      await lock.release();
    }
    const { status, text } = await change;
    assert.equal(status, 200, text);
  }
  await watcher.end();
});
