import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../server/test/database.ts";
import { createTestWallet, startTestServer } from "../../server/test/server.ts";
import { Pennyblack, PermissionError, RequestError } from "./sdk.ts";

// What owners do over the API, against the real server.

const db = await createTestDatabase();
const server = await startTestServer(db);
const wallet = await createTestWallet(db, "1.00");
const manager = new Pennyblack({ apiKey: wallet.management, baseUrl: server.url });

after(async () => {
  await server.close();
  await db.drop();
});

test("the wallet is shown to its owner, and to no key that only searches", async () => {
  assert.equal((await manager.wallet()).available, "1.00");
  const searcher = new Pennyblack({ apiKey: wallet.live, baseUrl: server.url });
  await assert.rejects(searcher.wallet(), PermissionError);
});

test("a key is made, used, changed, replaced and ended", async () => {
  const made = await manager.keys.create({ mode: "test", name: "agent" });
  const client = new Pennyblack({ apiKey: made.key, baseUrl: server.url });
  assert.equal((await client.search("cats", { n: 1 })).n, 1);
  assert.equal((await client.key()).id, made.id);
  assert.equal((await manager.keys.update(made.id, { name: "renamed" })).name, "renamed");
  assert.equal((await manager.keys.get(made.id)).name, "renamed");

  const replaced = await manager.keys.rotate(made.id, { graceSeconds: 60 });
  assert.notEqual(replaced.key, made.key);
  assert.equal((await manager.keys.revoke(replaced.id)).state, "revoked");
  const names: string[] = [];
  for await (const { name } of manager.keys.list({ limit: 2 })) names.push(name);
  assert.deepEqual(names.toSorted(), ["live", "management", "renamed", "renamed", "test"]);

  await assert.rejects(manager.keys.get("no such key"), RequestError);
  await assert.rejects(client.keys.list().page(), PermissionError);
});

test("usage is asked for in its own words", async () => {
  const from = new Date(Date.now() - 86_400_000);
  const page = await manager.usage({ from, to: new Date(), by: "hour", group: ["key", "outcome"] }).page();
  assert.ok(Array.isArray(page.items));
  await assert.rejects(manager.usage({ from: "yesterday" }).page(), { code: "invalid_request" });
});

test("a top-up without a processor is refused in words", async () => {
  await assert.rejects(manager.topUps.create({ amount: "20.00" }, { timeoutMs: 1_000 }), {
    code: "payments_not_configured",
  });
  assert.deepEqual((await manager.topUps.list().page()).items, []);
});
