import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { ProblemCode } from "../../src/problems/problems.ts";
import { eventTypes } from "../../src/webhooks/event-types.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { closeAfter } from "../support/close-after.ts";
import { createTestKey, type ManageRequest, type Reply, type TestWallet } from "../support/services/server.ts";
import { startReceiver } from "../support/services/webhook-receiver.ts";
import { createWebhookFixture } from "../support/webhook-fixture.ts";

// Management of webhooks and alerts, for the wallet's own keys only.

const fixture = await createWebhookFixture();
const receiver = closeAfter(await startReceiver());
const wallet = await fixture.createWallet("1.00");
const stranger = await fixture.createWallet("1.00");

/** A problem of any path. */
const assertRejected = (reply: Reply, code: ProblemCode): Record<string, unknown> =>
  assertProblem(reply, code, reply.body.instance);

test("an endpoint is created, listed, changed and deleted", async () => {
  const owner = await fixture.createWallet();
  const made = await fixture.manage(owner, "POST", "/v1/webhooks", { url: receiver.url, description: "Ours" });
  const { secret, ...endpoint } = made.body;
  assert.match(secret, /^whsec_/);
  assert.deepEqual(endpoint.events, eventTypes, "subscribed to all events by default");
  assert.deepEqual((await fixture.manage(owner, "GET", "/v1/webhooks")).body, { endpoints: [endpoint] });
  const path = `/v1/webhooks/${endpoint.id}`;
  assert.deepEqual((await fixture.manage(owner, "GET", path)).body, endpoint);

  const change = { url: `${receiver.url}/new`, events: ["wallet.depleted"] };
  const changed = await fixture.manage(owner, "PATCH", path, change);
  assert.deepEqual(changed.body, { ...endpoint, ...change });
  const disabled = await fixture.manage(owner, "PATCH", path, { enabled: false });
  assert.deepEqual(disabled.body, { ...changed.body, enabled: false, disabled_reason: "owner" });

  assert.deepEqual((await fixture.manage(owner, "DELETE", path)).body, { id: endpoint.id, deleted: true });
  assertRejected(await fixture.manage(owner, "GET", path), "not_found");
  assertRejected(await fixture.manage(owner, "DELETE", path), "not_found");
});

test("an invalid body returns 400 with the field's pointer", async () => {
  const url = "https://hooks.example.com/";
  const faults: [body: unknown, pointer: string][] = [
    [{}, "#/url"],
    [{ url: "hooks.example.com" }, "#/url"],
    [{ url: `https://hooks.example.com/${"x".repeat(2048)}` }, "#/url"],
    [{ url, events: [] }, "#/events"],
    [{ url, events: ["wallet.exploded"] }, "#/events/0"],
    [{ url, events: ["webhook.disabled"] }, "#/events/0"],
    [{ url, description: "x".repeat(201) }, "#/description"],
    [{ url, secret: "mine" }, "#/secret"],
  ];
  for (const [body, pointer] of faults) {
    const problem = assertRejected(await fixture.manage(wallet, "POST", "/v1/webhooks", body), "invalid_request");
    const [first] = problem["errors"] as { pointer: string }[];
    assert.equal(first?.pointer, pointer, JSON.stringify(body));
  }
});

test("without the development setting, only public https URLs are accepted", async (t) => {
  const strict = await fixture.startServer({ PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE: "false" }, t);
  const owner = await fixture.createWallet();
  const manage = (...request: ManageRequest) => strict.manage(owner.management, ...request);
  for (const url of ["http://hooks.example.com/", "https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/"])
    assertRejected(await manage("POST", "/v1/webhooks", { url }), "invalid_request");
  const accepted = await manage("POST", "/v1/webhooks", { url: "https://hooks.example.com/" });
  assert.equal(accepted.status, 200);
  const changed = await manage("PATCH", `/v1/webhooks/${accepted.body.id}`, { url: "https://10.0.0.1/" });
  assertRejected(changed, "invalid_request");
  assert.ok(!strict.logged().includes("ALLOW_PRIVATE"));
  assert.match(fixture.server.logged(), /webhooks to private addresses allowed/);
});

test("a wallet has at most ten endpoints, even if they are created concurrently", async () => {
  const owner = await fixture.createWallet();
  const replies = await Promise.all(
    Array.from({ length: 14 }, () => fixture.manage(owner, "POST", "/v1/webhooks", { url: receiver.url })),
  );
  assert.equal(replies.filter(({ status }) => status === 200).length, 10);
  for (const reply of replies.filter(({ status }) => status !== 200)) assertRejected(reply, "invalid_request");
});

test("deliveries are listed in pages, newest first, each once", async () => {
  const owner = await fixture.createWallet();
  const { id } = await fixture.subscribe(owner, receiver.url);
  for (let count = 0; count < 5; count += 1) await fixture.emitEvent(owner, "key.created");
  await fixture.send();
  const path = `/v1/webhooks/${id}/deliveries?limit=2`;
  const seen = pluck(await fixture.server.readPages(owner.management, path), "id");
  assert.equal(seen.length, 5);
  assert.deepEqual(seen, [...new Set(seen.map(String))].toSorted().toReversed());
  for (const query of ["?limit=0", "?limit=101", "?cursor=x", "?state=failed"]) {
    assertRejected(await fixture.manage(owner, "GET", `/v1/webhooks/${id}/deliveries${query}`), "invalid_request");
  }
});

test("every route returns 404 for another tenant's endpoints and deliveries and changes nothing", async () => {
  const { id } = await fixture.subscribe(wallet, receiver.url);
  await fixture.emitEvent(wallet, "key.created");
  await fixture.send();
  const [delivery] = await fixture.deliveriesOf(wallet, id);
  const before = await fixture.db.owner.query("select * from pb.webhook_endpoints where id = $1", [id]);
  const deliveries = "select count(*) from pb.webhook_deliveries";
  const countBefore = (await fixture.db.owner.query(deliveries)).rows;

  const document = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8"));
  const tried: string[] = [];
  for (const [path, operations] of Object.entries<object>(document.paths)) {
    if (!path.startsWith("/v1/webhooks/")) continue;
    const foreign = path.replace("{id}", path.includes("/deliveries/{id}") ? delivery.id : id);
    for (const method of Object.keys(operations).map((name) => name.toUpperCase())) {
      const body = method === "PATCH" ? { enabled: false } : undefined;
      assertRejected(await fixture.manage(stranger, method, foreign, body), "not_found");
      assertRejected(await fixture.manage(stranger, method, path.replace("{id}", randomUUIDv7()), body), "not_found");
      assertRejected(await fixture.manage(stranger, method, path.replace("{id}", "1"), body), "not_found");
      tried.push(`${method} ${path}`);
    }
  }
  assert.equal(tried.length, 7, tried.join("\n"));
  const { body: mine } = await fixture.manage(stranger, "GET", "/v1/webhooks");
  assert.deepEqual(mine, { endpoints: [] });
  assert.deepEqual(
    (await fixture.db.owner.query("select * from pb.webhook_endpoints where id = $1", [id])).rows,
    before.rows,
  );
  assert.deepEqual((await fixture.db.owner.query(deliveries)).rows, countBefore);
});

test("webhooks require webhooks:write, alerts wallet:read and wallet:write", async () => {
  const keyWith = async (scope: "wallet:read" | "wallet:write" | "webhooks:write"): Promise<TestWallet> => {
    const { key } = await createTestKey(fixture.db, { walletId: wallet.walletId, mode: "mgmt", scopes: [scope] });
    return { ...wallet, management: key };
  };
  const [reader, writer, hooks] = [
    await keyWith("wallet:read"),
    await keyWith("wallet:write"),
    await keyWith("webhooks:write"),
  ];
  const alerts = { email: null, low_balance: null };
  assert.equal((await fixture.manage(hooks, "GET", "/v1/webhooks")).status, 200);
  assert.equal((await fixture.manage(reader, "GET", "/v1/wallet/alerts")).status, 200);
  assert.equal((await fixture.manage(writer, "PUT", "/v1/wallet/alerts", alerts)).status, 200);
  assertRejected(await fixture.manage(reader, "GET", "/v1/webhooks"), "insufficient_scope");
  assertRejected(await fixture.manage(writer, "POST", "/v1/webhooks", { url: receiver.url }), "insufficient_scope");
  assertRejected(await fixture.manage(reader, "PUT", "/v1/wallet/alerts", alerts), "insufficient_scope");
  assertRejected(await fixture.manage(hooks, "GET", "/v1/wallet/alerts"), "insufficient_scope");
});

test("alert settings are replaced as a whole, for the caller's wallet only", async () => {
  const none = { email: null, low_balance: null };
  assert.deepEqual((await fixture.manage(stranger, "GET", "/v1/wallet/alerts")).body, none);
  const set = await fixture.manage(wallet, "PUT", "/v1/wallet/alerts", {
    email: "owner@example.com",
    low_balance: "5",
  });
  assert.deepEqual(set.body, { email: "owner@example.com", low_balance: "5.00" });
  assert.deepEqual((await fixture.manage(wallet, "GET", "/v1/wallet/alerts")).body, set.body);
  assert.deepEqual((await fixture.manage(stranger, "GET", "/v1/wallet/alerts")).body, none);
  for (const body of [
    { email: "owner@example.com" },
    { email: "a@example.com, b@example.com", low_balance: null },
    { email: "Owner <owner@example.com>", low_balance: null },
    { email: "owner@example.com\r\nBcc: all@example.com", low_balance: null },
    { email: "owner", low_balance: null },
    { email: null, low_balance: "0" },
    { email: null, low_balance: "-1" },
    { email: null, low_balance: 5 },
    { email: null, low_balance: "1e3" },
    { ...none, wallet_id: stranger.walletId },
  ]) {
    assertRejected(await fixture.manage(wallet, "PUT", "/v1/wallet/alerts", body), "invalid_request");
  }
  assert.deepEqual((await fixture.manage(wallet, "GET", "/v1/wallet/alerts")).body, set.body);
  assert.deepEqual((await fixture.manage(wallet, "PUT", "/v1/wallet/alerts", none)).body, none);
});
