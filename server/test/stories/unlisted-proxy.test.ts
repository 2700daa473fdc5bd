import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mintKey } from "../../src/keys/key-format.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestKey, createTestWallet, startTestServer, type TestServer } from "../support/services/server.ts";

// Behind a proxy that PENNYBLACK_TRUSTED_PROXIES does not list, all clients have the proxy's address.

const token = "operator-token-of-at-least-32-characters";
const settings = { PENNYBLACK_OPERATORS: `olga:${token}` };
const db = await createTestDatabase();
const unlisted = await startTestServer(db, settings);
const listed = await startTestServer(db, { ...settings, PENNYBLACK_TRUSTED_PROXIES: "127.0.0.1" });
const { walletId } = await createTestWallet(db, "1.00");
const warning = "proxy not listed in PENNYBLACK_TRUSTED_PROXIES, its clients share one address";

after(async () => {
  await unlisted.close();
  await listed.close();
  await db.drop();
});

async function searchVia(server: TestServer, key: string, header: Record<string, string>): Promise<number> {
  return (await server.search(key, { query: "cats" }, header)).status;
}

async function attentionTitles(server: TestServer): Promise<string[]> {
  const reply = await fetch(`${server.opsUrl}/operator/attention`, { headers: { authorization: `Bearer ${token}` } });
  const { items } = (await reply.json()) as { items: { title: string; severity: string }[] };
  return items.map(({ severity, title }) => `${severity}: ${title}`);
}

function countWarnings(server: TestServer): number {
  return server.logged().split(warning).length - 1;
}

test("wrong keys behind an unlisted proxy lock out no key that has worked, and the operator is warned once", async () => {
  const good = await createTestKey(db, { walletId, mode: "test", name: "good" });
  assert.equal(await searchVia(unlisted, good.key, { "x-forwarded-for": "192.0.2.1" }), 200);
  const statuses: number[] = [];
  for (let turn = 0; turn < 110; turn += 1) {
    statuses.push(await searchVia(unlisted, mintKey("live"), { "x-forwarded-for": `198.51.100.${turn}` }));
  }
  assert.equal(statuses.at(-1), 429);
  for (let times = 0; times < 10; times += 1) {
    assert.equal(await searchVia(unlisted, good.key, { "x-forwarded-for": "192.0.2.1" }), 200);
  }
  assert.equal(countWarnings(unlisted), 1);
  assert.match(unlisted.logged(), /"peer":"127\.0\.0\.1"/);
  assert.deepEqual(await attentionTitles(unlisted), ["ticket: A proxy is not listed: 127.0.0.1"]);
});

test("a listed proxy causes no warning, and neither do direct clients", async () => {
  const good = await createTestKey(db, { walletId, mode: "test", name: "good" });
  for (let times = 0; times < 110; times += 1) {
    assert.equal(await searchVia(listed, good.key, { "x-forwarded-for": `198.51.100.${times}` }), 200);
    assert.equal(await searchVia(listed, good.key, {}), 200);
  }
  assert.equal(countWarnings(listed), 0);
  assert.deepEqual(await attentionTitles(listed), []);
});
