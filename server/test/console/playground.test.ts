import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { type Browser, createConsoleFixture, someone } from "../support/console-fixture.ts";
import { seedKeyLimits } from "../support/data/seed-wallet.ts";
import { createTestKey, createTestWallet, type Reply } from "../support/services/server.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// A search from the console is a paid search with the chosen key.

const upstream = await startHostileUpstream();
const fixture = await createConsoleFixture({ PENNYBLACK_SEARXNG_URL: upstream.url });
const { db, server } = fixture;
const [owner, viewer] = [someone("owner"), someone("viewer")];
const { walletId, accountId, liveKey, managementKey } = await fixture.openAccount(owner);
await fixture.addMember(accountId, viewer, "viewer");
const browser = await fixture.signIn(owner);

after(async () => {
  await fixture.close();
  await upstream.close();
});

function searchInPlayground(body: object, by: Browser = browser): Promise<Reply> {
  return by.send("POST", `wallets/${walletId}/playground/search`, body);
}

async function keyIdOf(mode: "live" | "test" | "mgmt", more = {}): Promise<string> {
  const { id } = await createTestKey(db, { walletId, mode, name: mode, ...more });
  return id;
}

test("responds and charges like /v1/search with the same key, including Rank-Explain", async () => {
  const keyId = await keyIdOf("live");
  const search = { query: "cats", n: 3 };
  const direct = await server.search(liveKey, search, { "rank-explain": "1" });
  const { balance } = await server.readMoney(managementKey);
  const reply = await searchInPlayground({ key_id: keyId, ...search, explain: true });
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(reply.body, direct.body);
  for (const header of ["wallet-charge", "rank-lens", "rank-explain", "search-upstreams", "content-type"])
    assert.equal(reply.headers.get(header), direct.headers.get(header), header);
  assert.match(reply.headers.get("server-timing") ?? "", /hold.*upstream.*capture/);
  assert.equal(reply.headers.get("wallet-charge"), "0.01;currency=usd");
  assert.equal(Number((Number(balance) - Number((await server.readMoney(managementKey)).balance)).toFixed(2)), 0.01);
  const { body } = await browser.get(
    `wallets/${walletId}/wallet/entries?request_id=${reply.headers.get("request-id")}`,
  );
  assert.equal(body.entries.length, 1);
  assert.equal((await searchInPlayground({ key_id: keyId, ...search })).headers.get("rank-explain"), null);
});

test("applies the source policy of the key", async () => {
  const keyId = await keyIdOf("live");
  const all = await searchInPlayground({ key_id: keyId, query: "cats" });
  const hosts = all.body.results.map(({ url }: { url: string }) => new URL(url).hostname);
  const sources = JSON.stringify({ block: [hosts[0]] });
  await db.owner.query("update pb.keys set sources = $2 where id = $1", [keyId, sources]);
  const reply = await searchInPlayground({ key_id: keyId, query: "cats" });
  assert.ok(!reply.text.includes(`https://${hosts[0]}`));
  assert.ok(Number(reply.headers.get("search-filtered")) > 0);
});

test("checks the key's budget, IP addresses, expiry and wallet as /v1/search does", async () => {
  const stranger = await createTestWallet(db, "1.00");
  const limitsId = await seedKeyLimits(db.owner, walletId, { day: 0n });
  const revoked = await keyIdOf("live");
  await db.owner.query("select pb.revoke_key($1, $2)", [walletId, revoked]);
  for (const [keyId, code] of [
    [await keyIdOf("live", { limitsId }), "key_budget_spent"],
    [await keyIdOf("live", { allowedIps: ["192.0.2.0/24"] }), "ip_not_allowed"],
    [await keyIdOf("live", { expiresAt: new Date(Date.now() - 1) }), "api_key_expired"],
    [await keyIdOf("mgmt"), "insufficient_scope"],
    [revoked, "api_key_revoked"],
    [stranger.liveKeyId, "not_found"],
    [randomUUIDv7(), "not_found"],
    ["nonsense", "invalid_request"],
  ] as const) {
    const { body } = await searchInPlayground({ key_id: keyId, query: "cats" });
    assert.equal(body.code, code);
  }
  const keyId = await keyIdOf("live");
  for (const fault of [
    {},
    { query: "cats", n: 0 },
    { query: 5 },
    { query: "cats", category: "x" },
    { query: "x", more: 1 },
  ]) {
    const { status, body } = await searchInPlayground({ key_id: keyId, ...fault });
    assert.deepEqual([status, body.code, body.charged], [400, "invalid_request", false]);
  }
});

test("viewers can search only with test keys, including simulated failures", async () => {
  const viewing = await fixture.signIn(viewer);
  const [live, free] = [await keyIdOf("live"), await keyIdOf("test")];
  assert.equal((await searchInPlayground({ key_id: live, query: "cats" }, viewing)).body.code, "insufficient_role");
  const reply = await searchInPlayground({ key_id: free, query: "cats" }, viewing);
  assert.deepEqual([reply.status, reply.headers.get("wallet-charge")], [200, "0.00;currency=usd"]);
  assert.equal(
    (await searchInPlayground({ key_id: free, query: "test:upstream_timeout" }, viewing)).body.code,
    "upstream_timeout",
  );
});
