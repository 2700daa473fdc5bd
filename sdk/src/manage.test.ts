import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../server/test/support/services/database.ts";
import { createTestWallet, startTestServer } from "../../server/test/support/services/server.ts";
import { startHostileUpstream } from "../../server/test/support/upstreams/hostile-upstream.ts";
import { Pennyblack, PermissionError, RequestError } from "./sdk.ts";

// Management calls against the real server.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });
const wallet = await createTestWallet(db, "1.00");
const manager = new Pennyblack({ apiKey: wallet.management, baseUrl: server.url });

after(async () => {
  await server.close();
  await upstream.close();
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

test("entries, searches, runs and the summary show the cost of a search", async () => {
  const searcher = new Pennyblack({ apiKey: wallet.live, baseUrl: server.url });
  const run = { id: "sdk-test", max: "0.05" };
  const { meta } = await searcher.search("flood warning levels", { run, explain: true });
  assert.deepEqual(
    meta.explanation?.map(({ position }) => position),
    [...(meta.explanation?.keys() ?? [])].map((index) => index + 1),
  );
  assert.ok(meta.explanation?.every(({ tier, reason, score }) => tier && reason && score > 0));

  const charges = await manager.entries({ kind: "search", from: new Date(Date.now() - 60_000) }).page();
  assert.deepEqual(
    charges.items.map(({ amount }) => amount),
    ["-0.01"],
  );
  assert.deepEqual((await manager.entries({ kind: "refund" }).page()).items, []);
  const listed = await manager.searches.list({ mode: "live", outcome: "ok" }).page();
  assert.deepEqual(
    listed.items.map(({ request_id }) => request_id),
    [meta.requestId],
  );
  const search = await manager.searches.get(meta.requestId);
  assert.deepEqual([search.charged, search.run, search.entries.length], ["0.01", "sdk-test", 1]);
  for await (const { run: id, spent, limit } of manager.runs.list()) {
    assert.deepEqual([id, spent, limit], ["sdk-test", "0.01", "0.05"]);
  }
  assert.equal((await manager.summary()).balance, "0.99");
});

test("webhooks can be created, tested, replayed, rotated, updated and deleted", async () => {
  const created = await manager.webhooks.create({ url: "https://hooks.example/pennyblack", events: ["key.created"] });
  assert.match(created.secret, /^whsec_/);
  const delivery = await manager.webhooks.test(created.id);
  const replay = await manager.webhooks.deliveries.replay(delivery.id);
  assert.equal(replay.event.id, delivery.event.id);
  const deliveries: string[] = [];
  for await (const { id } of manager.webhooks.deliveries.list(created.id, { limit: 1 })) deliveries.push(id);
  assert.deepEqual(deliveries.toSorted(), [delivery.id, replay.id].toSorted());
  assert.notEqual((await manager.webhooks.rotateSecret(created.id)).secret, created.secret);
  assert.equal((await manager.webhooks.update(created.id, { enabled: false })).enabled, false);
  assert.equal((await manager.webhooks.get(created.id)).disabled_reason, "owner");
  assert.equal((await manager.webhooks.list().page()).items.length, 1);
  assert.equal((await manager.webhooks.delete(created.id)).deleted, true);
  for await (const webhook of manager.webhooks.list()) assert.fail(webhook.id);
});

test("alerts and the automatic top-up can be read and set", async () => {
  const settings = { email: null, low_balance: "0.50" };
  assert.deepEqual(await manager.alerts.update(settings), settings);
  assert.deepEqual(await manager.alerts.get(), settings);
  assert.equal((await manager.autoTopUp.get()).state, "none");
  const rule = { threshold: "1.00", amount: "20.00", monthly_cap: "100.00" };
  await assert.rejects(manager.autoTopUp.update(rule, { timeoutMs: 1_000 }), { code: "payments_not_configured" });
});

test("lenses are listed, and their text is returned", async () => {
  const names: string[] = [];
  for await (const { name } of manager.lenses.list()) names.push(name);
  assert.ok(names.includes("base"));
  assert.match(await manager.lenses.get("base"), /^\S/m);
  await assert.rejects(manager.lenses.get("none"), { code: "not_found" });
});

test("a top-up fails with payments_not_configured when no payment processor is set up", async () => {
  await assert.rejects(manager.topUps.create({ amount: "20.00" }, { timeoutMs: 1_000 }), {
    code: "payments_not_configured",
  });
  assert.deepEqual((await manager.topUps.list().page()).items, []);
});
