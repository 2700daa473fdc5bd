import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../server/test/support/services/database.ts";
import { createTestWallet, startTestServer } from "../../server/test/support/services/server.ts";
import { Pennyblack, PermissionError, RequestError } from "./sdk.ts";

// Management calls against the real server.

const db = await createTestDatabase();
const server = await startTestServer(db);
const wallet = await createTestWallet(db, "1.00");
const manager = new Pennyblack({ apiKey: wallet.management, baseUrl: server.url });

after(async () => {
  await server.close();
  await db.drop();
});

test("a management key can read the wallet, a search key cannot", async () => {
  assert.equal((await manager.wallet()).available, "1.00");
  const searcher = new Pennyblack({ apiKey: wallet.live, baseUrl: server.url });
  await assert.rejects(searcher.wallet(), PermissionError);
});

test("a key can be created, used, updated, rotated and revoked", async () => {
  const created = await manager.keys.create({ mode: "test", name: "agent" });
  const client = new Pennyblack({ apiKey: created.key, baseUrl: server.url });
  assert.equal((await client.search("cats", { n: 1 })).n, 1);
  assert.equal((await client.key()).id, created.id);
  assert.equal((await manager.keys.update(created.id, { name: "renamed" })).name, "renamed");
  assert.equal((await manager.keys.get(created.id)).name, "renamed");

  const rotated = await manager.keys.rotate(created.id, { graceSeconds: 60 });
  assert.notEqual(rotated.key, created.key);
  assert.equal((await manager.keys.revoke(rotated.id)).state, "revoked");
  const names: string[] = [];
  for await (const { name } of manager.keys.list({ limit: 2 })) names.push(name);
  assert.deepEqual(names.toSorted(), ["live", "management", "renamed", "renamed", "test"]);

  await assert.rejects(manager.keys.get("no such key"), RequestError);
  await assert.rejects(client.keys.list().page(), PermissionError);
});

test("usage accepts its filters and rejects an invalid time", async () => {
  const from = new Date(Date.now() - 86_400_000);
  const page = await manager.usage({ from, to: new Date(), by: "hour", group: ["key", "outcome"] }).page();
  assert.ok(Array.isArray(page.items));
  await assert.rejects(manager.usage({ from: "yesterday" }).page(), { code: "invalid_request" });
});

test("a top-up fails with payments_not_configured when no payment processor is set up", async () => {
  await assert.rejects(manager.topUps.create({ amount: "20.00" }, { timeoutMs: 1_000 }), {
    code: "payments_not_configured",
  });
  assert.deepEqual((await manager.topUps.list().page()).items, []);
});
