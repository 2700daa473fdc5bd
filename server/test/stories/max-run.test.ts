import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { until } from "../support/assertions/until.ts";
import { connectMcp, revisions } from "../support/clients/mcp-clients.ts";
import type { Reply, TestWallet } from "../support/services/server.ts";

// `max_run` of a key: its owner, and not its callers, decides how much a run may spend.

const { upstream, server, createWallet, assertBooksBalance } = await createFixture();

const manage = (wallet: TestWallet, method: string, path: string, body?: unknown): Promise<Reply> =>
  server.manage(wallet.management, method, path, body);

async function createKey(wallet: TestWallet, max_run: object, fields = {}): Promise<{ id: string; key: string }> {
  const body = { mode: "live", name: "agent", max_run, ...fields };
  const { status, body: created, text } = await manage(wallet, "POST", "/v1/keys", body);
  assert.equal(status, 200, text);
  return created;
}

function search(key: string, run?: string): Promise<Reply> {
  return server.search(key, { query: "cats" }, run === undefined ? {} : { "search-run": run });
}

test("a search cannot name a larger budget for its run than its key allows, and is not charged", async () => {
  const wallet = await createWallet("1.00");
  const { key } = await createKey(wallet, { max: "0.50" });
  const sentBefore = upstream.requests.length;
  const refused = await search(key, "task; max=0.51");
  const problem = assertProblem(refused, "invalid_request");
  assert.deepEqual(problem["errors"], [
    {
      pointer: "#",
      code: "invalid_header",
      detail: "`Search-Run` must have a `max` of at most 0.50 USD, the limit of this key, but it is 0.51",
    },
  ]);
  assert.equal(upstream.requests.length, sentBefore);
  assert.equal((await search(key, "task; max=0.5")).status, 200);
  assert.equal((await search(key)).status, 200, "no run is required");
  // Another key opened a run with a larger budget. This one may join it, with a `max` that it may name.
  assert.equal((await search(wallet.live, "shared; max=0.90")).status, 200);
  assertProblem(await search(key, "shared; max=0.90"), "invalid_request");
  const joined = await search(key, "shared; max=0.50");
  assert.equal(joined.headers.get("search-run"), "shared; spent=0.02; left=0.88");
  assert.equal((await server.readMoney(wallet.management)).balance, "0.96");
  await assertBooksBalance();
});

test("a key that requires a run rejects searches without one, on every endpoint", async (t) => {
  const wallet = await createWallet("1.00");
  const { key } = await createKey(wallet, { max: "0.10", required: true }, { mode: "test" });
  const refused = assertProblem(await search(key), "invalid_request");
  assert.match(String(refused["detail"]), /`Search-Run` is required by this key/);
  const tavily = await manage({ ...wallet, management: key }, "POST", "/compat/tavily/search", { query: "cats" });
  assert.equal(tavily.status, 400, tavily.text);
  assert.match(tavily.text, /`Search-Run` is required by this key, with a `max` of at most 0\.10 USD/);
  const client = await connectMcp(revisions[0], server.url, key);
  t.after(() => client.close());
  const withoutRun = await client.call("web_search", { query: "cats" });
  assert.match(withoutRun.text, /`run` is required by this key, with a `max` of at most 0\.10 USD/);
  const tooLarge = await client.call("web_search", { query: "cats", run: { id: "report", max: "9.00" } });
  assert.match(tooLarge.text, /`run` must have a `max` of at most 0\.10 USD, the limit of this key/);
  const accepted = await client.call("web_search", { query: "cats", run: { id: "report", max: "0.10" } });
  assert.equal(accepted.isError, false, accepted.text);
  assert.equal((await search(key, "task; max=0.10")).status, 200);
});

test("the limit can be changed and removed, and a rotated key keeps it", async () => {
  const wallet = await createWallet("1.00");
  const created = await createKey(wallet, { max: "0.5" });
  assert.deepEqual((await manage(wallet, "GET", `/v1/keys/${created.id}`)).body.max_run, {
    max: "0.50",
    required: false,
  });
  assert.deepEqual((await server.manage(created.key, "GET", "/v1/key")).body.max_run, { max: "0.50", required: false });
  const change = (max_run: unknown): Promise<Reply> => manage(wallet, "PATCH", `/v1/keys/${created.id}`, { max_run });
  assert.equal((await search(created.key, "a; max=0.50")).status, 200);
  assert.deepEqual((await change({ max: "0.20", required: true })).body.max_run, { max: "0.20", required: true });
  await until("servers have the new limit", async () => (await search(created.key, "b; max=0.50")).status === 400);
  const rotated = await manage(wallet, "POST", `/v1/keys/${created.id}/rotate`, { grace_seconds: 60 });
  assert.deepEqual(rotated.body.max_run, { max: "0.20", required: true });
  assert.equal((await search(rotated.body.key)).status, 400);
  assert.equal((await change(null)).body.max_run, null);
  await until("the limit is gone", async () => (await search(created.key, "c; max=9.00")).status === 200);
  const { body } = await manage(wallet, "GET", `/v1/activity?subject_id=${created.id}`);
  assert.deepEqual(body.activity[0].before.max_run, { max: "0.20", required: true });
});

test("a limit below the price of a search, or of a management key, is rejected", async () => {
  const wallet = await createWallet("0.00");
  const make = (body: object): Promise<Reply> => manage(wallet, "POST", "/v1/keys", { name: "agent", ...body });
  const cheap = assertProblem(await make({ mode: "live", max_run: { max: "0.001" } }), "invalid_request", "/v1/keys");
  assert.match(JSON.stringify(cheap["errors"]), /#\/max_run\/max.*at least 0\.01 USD/);
  assertProblem(await make({ mode: "live", max_run: { required: true } }), "invalid_request", "/v1/keys");
  const management = assertProblem(
    await make({ mode: "mgmt", max_run: { max: "1.00" } }),
    "invalid_request",
    "/v1/keys",
  );
  assert.match(JSON.stringify(management["errors"]), /max_run.*not allowed for a management key/);
  const { body: key } = await make({ mode: "mgmt" });
  assertProblem(
    await manage(wallet, "PATCH", `/v1/keys/${key.id}`, { max_run: { max: "1.00" } }),
    "invalid_request",
    `/v1/keys/${key.id}`,
  );
});
