import assert from "node:assert/strict";
import { before, test } from "node:test";
import { readVersion } from "../../src/wallet/reads/read-version.ts";
import { createFixture } from "../fixture.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { until } from "../support/assertions/until.ts";
import { createTestKey, type Reply } from "../support/services/server.ts";

// Single refusals and replays in the list of searches.

const { db, server, createWallet } = await createFixture();
const wallet = await createWallet("1.00");
const other = await createWallet("1.00");
const blocked = await createTestKey(db, { walletId: wallet.walletId });
const sent: Record<string, string> = {};

async function send(name: string, key: string, body: object, headers: Record<string, string> = {}): Promise<Reply> {
  const reply = await server.search(key, body, headers);
  sent[name] = reply.headers.get("request-id") ?? "";
  return reply;
}

interface Item {
  request_id: string;
  kind: string;
  outcome: string;
}

async function list(parameters: string, key = wallet.management): Promise<Item[]> {
  const items: Item[] = [];
  let cursor = "";
  do {
    const { status, body } = await server.manage(key, "GET", `/v1/searches?${parameters}${cursor}`);
    assert.equal(status, 200, JSON.stringify(body));
    items.push(...body.searches);
    cursor = body.next_cursor === null ? "" : `&cursor=${body.next_cursor}`;
  } while (cursor !== "");
  return items;
}

const names = (items: readonly Item[]): (string | undefined)[] =>
  items.map(({ request_id: id }) => Object.entries(sent).find(([, each]) => each === id)?.[0]);

before(async () => {
  await db.owner.query("update pb.keys set allowed_ips = '{192.0.2.0/24}' where id = $1", [blocked.id]);
  await send("paid", wallet.live, { query: "cats" }, { "idempotency-key": "once" });
  await send("replay", wallet.live, { query: "cats" }, { "idempotency-key": "once" });
  await send("run", wallet.live, { query: "cats" }, { "search-run": "nightly; max=0.01", "search-for": "ada" });
  await send("run spent", wallet.live, { query: "cats" }, { "search-run": "nightly; max=0.01", "search-for": "ada" });
  await send("failed", wallet.test, { query: "test:upstream_503" });
  await send("invalid", wallet.test, { query: "" });
  await send("address", blocked.key, { query: "cats" });
  await send("unknown key", `${wallet.live.slice(0, -4)}0000`, { query: "cats" });
  await send("management key", wallet.management, { query: "cats" });
  await send("other wallet", other.live, {});
  await until("all refusals are stored", async () => (await list("kind=all")).length === 7);
});

test("refusals and replays are listed with their key, code, run, end user and transport, and cost nothing", async () => {
  assert.deepEqual(names(await list("kind=refused")), ["address", "invalid", "run spent"]);
  assert.deepEqual(names(await list("kind=replayed")), ["replay"]);
  assert.deepEqual(names(await list("")), ["failed", "run", "paid"]);
  const [refused] = await list("kind=refused&run=nightly");
  const { at, end_user, ...rest } = refused as Item & { at: string; end_user: string };
  assert.ok(Math.abs(Date.parse(at) - Date.now()) < 600_000, at);
  assert.match(end_user, /^~/);
  assert.deepEqual(rest, {
    request_id: sent["run spent"],
    kind: "refused",
    mode: "live",
    key_id: wallet.liveKeyId,
    key_name: "live",
    category: null,
    outcome: "run_budget_spent",
    charged: "0.00",
    ms: null,
    steps: null,
    run: "nightly",
    transport: "http",
  });
  const { status, body } = await server.manage(wallet.management, "GET", `/v1/searches/${sent["run spent"]}`);
  assert.deepEqual([status, body.outcome, body.entries], [200, "run_budget_spent", []]);
});

test("all kinds are one list, in the order of the requests, on pages of any size", async () => {
  const all = ["address", "invalid", "failed", "run spent", "run", "replay", "paid"];
  for (const size of [1, 2, 3, 100])
    assert.deepEqual(names(await list(`kind=all&limit=${size}`)), all, `pages of ${size}`);
  assert.deepEqual(pluck(await list("kind=all"), "kind").slice(-3), ["search", "replayed", "search"]);
});

test("the list of all kinds has the filters of searches", async () => {
  const { body } = await server.manage(wallet.management, "GET", `/v1/searches/${sent["run spent"]}`);
  const expected: Record<string, string[]> = {
    "kind=all&outcome=failed": ["address", "invalid", "failed", "run spent"],
    "kind=all&outcome=ok": ["run", "paid"],
    "kind=all&outcome=run_budget_spent": ["run spent"],
    "kind=refused&outcome=replayed": [],
    "kind=all&mode=test": ["invalid", "failed"],
    [`kind=all&key_id=${blocked.id}`]: ["address"],
    "kind=all&run=nightly": ["run spent", "run"],
    "kind=all&for=ada": ["run spent", "run"],
    [`kind=refused&from=${body.at}`]: ["address", "invalid", "run spent"],
    [`kind=refused&to=${body.at}`]: [],
    "kind=all&category=gov": [],
    "kind=refused&category=none": ["address", "invalid", "run spent"],
  };
  for (const [parameters, found] of Object.entries(expected))
    assert.deepEqual(names(await list(parameters)), found, parameters);
  const { status } = await server.manage(wallet.management, "GET", "/v1/searches?kind=refused&category=gov");
  assert.equal(status, 400);
});

test("requests beyond the limits are counted as unlisted", async () => {
  const key = await createTestKey(db, { walletId: wallet.walletId });
  const read = async (parameters: string) =>
    (await server.manage(wallet.management, "GET", `/v1/searches?kind=refused&${parameters}`)).body.unlisted;
  assert.deepEqual(pluck([await read("")], "count", "at_least"), [[0, false]]);
  for (let count = 0; count < 23; count += 1) await server.search(key.key, { query: "" });
  await until("the others are counted", async () => (await read(`key_id=${key.id}`)).count === 3);
  assert.equal((await list(`kind=refused&key_id=${key.id}`)).length, 20);
  assert.deepEqual([(await read("mode=test")).count, (await read("outcome=run_budget_spent")).count], [0, 0]);
  assert.equal((await server.manage(wallet.management, "GET", "/v1/searches?kind=replayed")).body.unlisted.count, 0);
  assert.equal(await read("run=nightly"), null, "runs are not counted");
  const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000);
  await db.owner.query("insert into pb.incomplete_hours values ($1) on conflict do nothing", [hour]);
  assert.equal((await read("")).at_least, true);
});

test("a wallet sees only its own refusals", async () => {
  assert.deepEqual(names(await list("kind=all", other.management)), ["other wallet"]);
  const { status } = await server.manage(other.management, "GET", `/v1/searches/${sent["run spent"]}`);
  assert.equal(status, 404);
});

test("open pages notice a refusal", async () => {
  const before = await readVersion(db.tenant, wallet.walletId);
  await server.search(wallet.live, {});
  await until("the version changes", async () => (await readVersion(db.tenant, wallet.walletId)) !== before);
  assert.notEqual(before, "");
});
