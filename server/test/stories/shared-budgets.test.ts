import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { countBy } from "../support/assertions/count-by.ts";
import { pluck } from "../support/assertions/pluck.ts";
import type { Reply, TestWallet } from "../support/services/server.ts";

// Budgets that several keys spend from, as their owner creates them and as callers meet them.

const { db, upstream, server, startServer, createWallet, assertBooksBalance } = await createFixture();
const question = { query: "cats" };

const manage = (wallet: TestWallet, method: string, path: string, body?: unknown): Promise<Reply> =>
  server.manage(wallet.management, method, path, body);

async function createBudget(wallet: TestWallet, fields: object): Promise<{ id: string; [field: string]: unknown }> {
  const defaults = { mode: "live", name: "research", amount: "0.03", period: "day" };
  const { status, body, text } = await manage(wallet, "POST", "/v1/budgets", { ...defaults, ...fields });
  assert.equal(status, 200, text);
  return body;
}

async function createKey(wallet: TestWallet, fields: object): Promise<{ id: string; key: string; budgets: Json[] }> {
  const { status, body, text } = await manage(wallet, "POST", "/v1/keys", { mode: "live", name: "agent", ...fields });
  assert.equal(status, 200, text);
  return body;
}

type Json = Record<string, unknown>;

const search = (key: string, headers = {}): Promise<Reply> => server.search(key, question, headers);

test("two keys and two servers spend one budget to its limit, and the refusal names it", async (t) => {
  const wallet = await createWallet("1.00");
  const other = await startServer({}, t);
  const budget = await createBudget(wallet, { amount: "0.10", period: "week" });
  const keys = await Promise.all([1, 2].map(() => createKey(wallet, { budgets: [budget.id] })));
  const replies = await Promise.all(
    Array.from({ length: 40 }, (_, n) => (n % 4 < 2 ? server : other).search(keys[n % 2]?.key ?? "", question)),
  );
  assert.deepEqual(
    countBy(replies, ({ body, status }) => (status === 200 ? "paid" : body.code)),
    {
      paid: 10,
      key_budget_spent: 30,
    },
  );
  const refused = await search(keys[0]?.key ?? "");
  const problem = assertProblem(refused, "key_budget_spent");
  assert.deepEqual(problem["budget"], { id: budget.id, name: "research", period: "week" });
  assert.match(
    String(problem["detail"]),
    /^0\.10 USD of the 0\.10 USD of the shared budget "research" are spent\. You were/,
  );
  assert.deepEqual([problem["limit"], problem["spent"]], ["0.10", "0.10"]);
  const monday = new Date(String(problem["resets_at"]));
  assert.deepEqual([monday.getUTCDay(), monday.getTime() % 86_400_000], [1, 0], "an ISO week ends on Monday, UTC");
  assert.ok(monday.getTime() - Date.now() <= 7 * 86_400_000);
  assert.match(
    refused.headers.get("key-budget") ?? "",
    new RegExp(`^week; spent=0\\.10; left=0\\.00; resets=\\d+; budget=${budget.id}$`),
  );
  assert.equal((await manage(wallet, "GET", `/v1/budgets/${budget.id}`)).body.spent, "0.10");
  assert.equal((await search(wallet.live)).status, 200, "a key that does not name it is not limited");
  await assertBooksBalance();
});

test("a search must fit into every budget, and one that is refused spends from none", async () => {
  const wallet = await createWallet("1.00");
  const small = await createBudget(wallet, { name: "small", amount: "0.02", period: "month" });
  const large = await createBudget(wallet, { name: "large", amount: "0.05", period: "total" });
  const { key } = await createKey(wallet, { budget: { day: "0.04" }, budgets: [large.id, small.id] });
  const run = { "search-run": "task; max=0.50" };
  assert.deepEqual(pluck([await search(key, run), await search(key, run)], "status"), [200, 200]);
  const refused = await search(key, run);
  assert.deepEqual(assertProblem(refused, "key_budget_spent")["budget"], {
    id: small.id,
    name: "small",
    period: "month",
  });
  assert.equal(refused.headers.get("search-run"), "task; spent=0.02; left=0.48");
  assert.deepEqual(
    (refused.headers.get("key-budget") ?? "").split(", ").map((item) => item.replace(/ resets=\d+;?| budget=.*/g, "")),
    ["day; spent=0.02; left=0.02;", "total; spent=0.02; left=0.03;", "month; spent=0.02; left=0.00;"],
    "the key's own limits, then the shared budgets in the order in which the key names them",
  );

  await upstream.behave("status_500");
  await manage(wallet, "PATCH", `/v1/budgets/${small.id}`, { amount: "0.03" });
  assert.equal((await search(key, run)).status, 500);
  await upstream.behave("ok");
  assert.equal((await search(key, run)).status, 200, "a failed search gives back to every budget");
  const own = await createKey(wallet, { budget: { total: "0.01" }, budgets: [large.id] });
  await search(own.key);
  assert.deepEqual(assertProblem(await search(own.key), "key_budget_spent")["budget"], {
    id: null,
    name: null,
    period: "total",
  });
  await assertBooksBalance();
});

test("a budget per end user gives each end user the amount, over all keys that name it", async () => {
  const wallet = await createWallet("1.00");
  const budget = await createBudget(wallet, { per: "end_user", amount: "0.02", period: "week" });
  assert.deepEqual([budget["per"], budget["spent"], budget["alerts"]], ["end_user", null, []]);
  const [first, second] = await Promise.all([1, 2].map(() => createKey(wallet, { budgets: [budget.id] })));
  assertProblem(await search(first?.key ?? ""), "end_user_required");
  const ada = { "search-for": "ada" };
  assert.equal((await search(first?.key ?? "", ada)).status, 200);
  const last = await search(second?.key ?? "", ada);
  assert.equal(last.status, 200);
  assert.match(last.headers.get("end-user-budget") ?? "", /^spent=0\.02; left=0\.00; resets=\d+$/);
  const problem = assertProblem(await search(first?.key ?? "", ada), "end_user_budget_spent");
  assert.deepEqual(problem["budget"], { id: budget.id, name: "research", period: "week" });
  assert.match(
    String(problem["detail"]),
    /that the shared budget "research" allows each end user\. You were not charged/,
  );
  assert.equal((await search(second?.key ?? "", { "search-for": "bob" })).status, 200);
  for (const invalid of [
    { per: "end_user", period: "total" },
    { per: "end_user", alerts: [50] },
  ]) {
    const body = { mode: "live", name: "x", amount: "1.00", period: "day", ...invalid };
    assertProblem(await manage(wallet, "POST", "/v1/budgets", body), "invalid_request", "/v1/budgets");
  }
  assertProblem(
    await manage(wallet, "PATCH", `/v1/budgets/${budget.id}`, { alerts: [50] }),
    "invalid_request",
    `/v1/budgets/${budget.id}`,
  );
});

test("name, amount and alerts can be changed, period and per cannot, and a changed amount applies at once", async () => {
  const wallet = await createWallet("1.00");
  const budget = await createBudget(wallet, { amount: "0.01" });
  const path = `/v1/budgets/${budget.id}`;
  const { key } = await createKey(wallet, { budgets: [budget.id] });
  assert.equal((await search(key)).status, 200);
  assert.equal((await search(key)).status, 403);
  const changed = await manage(wallet, "PATCH", path, { name: "team", amount: "0.02", alerts: [90, 50] });
  assert.deepEqual(
    [changed.body.name, changed.body.amount, changed.body.alerts, changed.body.spent],
    ["team", "0.02", [50, 90], "0.01"],
  );
  assert.equal((await search(key)).status, 200);
  await manage(wallet, "PATCH", path, { amount: "0.01" });
  assert.equal(assertProblem(await search(key), "key_budget_spent")["spent"], "0.02", "below the amount already spent");
  for (const body of [{ period: "week" }, { per: "end_user" }, { mode: "test" }, {}])
    assertProblem(await manage(wallet, "PATCH", path, body), "invalid_request", path);
});

test("amounts below the price of a search are rejected everywhere", async () => {
  const wallet = await createWallet("0.00");
  const budget = await createBudget(wallet, {});
  const key = await createKey(wallet, {});
  const agent = { mode: "live", name: "agent" };
  const requests: [string, string, object, string][] = [
    ["POST", "/v1/budgets", { ...agent, period: "day", amount: "0.009999" }, "#/amount"],
    ["PATCH", `/v1/budgets/${budget.id}`, { amount: "0.00" }, "#/amount"],
    ["POST", "/v1/keys", { ...agent, budget: { day: "0.00" } }, "#/budget/day"],
    ["PATCH", `/v1/keys/${key.id}`, { budget: { total: "0.001" } }, "#/budget/total"],
    ["PATCH", `/v1/keys/${key.id}`, { end_user_limit: { amount: "0", period: "day" } }, "#/end_user_limit/amount"],
  ];
  for (const [method, path, body, pointer] of requests) {
    const { errors } = assertProblem(await manage(wallet, method, path, body), "invalid_request", path);
    assert.deepEqual(pluck(errors as { pointer: string }[], "pointer"), [pointer]);
  }
});

test("a budget that a key names cannot be archived until the key is changed or revoked", async () => {
  const wallet = await createWallet("1.00");
  const budget = await createBudget(wallet, {});
  const path = `/v1/budgets/${budget.id}`;
  const changed = await createKey(wallet, { name: "changed", budgets: [budget.id] });
  const revoked = await createKey(wallet, { name: "revoked", budgets: [budget.id] });
  const inUse = async (): Promise<unknown> =>
    assertProblem(await manage(wallet, "DELETE", path), "budget_in_use", path)["keys"];
  assert.deepEqual(await inUse(), [
    { id: revoked.id, name: "revoked" },
    { id: changed.id, name: "changed" },
  ]);
  await search(revoked.key);
  await manage(wallet, "DELETE", `/v1/keys/${revoked.id}`);
  const { body } = await manage(wallet, "PATCH", `/v1/keys/${changed.id}`, { budgets: [] });
  assert.deepEqual(body.budgets, []);
  const archived = await manage(wallet, "DELETE", path);
  assert.ok(archived.body.archived_at, archived.text);
  assert.equal((await manage(wallet, "DELETE", path)).body.archived_at, archived.body.archived_at);
  assert.deepEqual((await manage(wallet, "GET", "/v1/budgets")).body.budgets, []);
  assertProblem(await manage(wallet, "PATCH", path, { amount: "1.00" }), "not_found", path);
  assert.equal((await search(changed.key)).status, 200);
  const { rows } = await db.owner.query("select from pb.key_limit_budgets where budget_id = $1", [budget.id]);
  assert.equal(rows.length, 0);
  await assertBooksBalance();
});

test("a key names up to eight budgets of its wallet and mode, and shows them with what is left", async () => {
  const wallet = await createWallet("1.00");
  const stranger = await createWallet("1.00");
  const budgets = await Promise.all(Array.from({ length: 9 }, (_, n) => createBudget(wallet, { name: `budget ${n}` })));
  const ids = pluck(budgets, "id");
  const { key, budgets: shown } = await createKey(wallet, { budgets: ids.slice(0, 8).toReversed() });
  assert.deepEqual(pluck(shown, "id"), ids.slice(0, 8).toReversed());
  assert.equal((await search(key)).status, 200);
  const own = await server.manage(key, "GET", "/v1/key");
  assert.deepEqual(pluck(own.body.budgets as Json[], "spent"), Array(8).fill("0.01"));
  const testBudget = await createBudget(wallet, { mode: "test" });
  const foreign = await createBudget(stranger, {});
  const archived = await createBudget(wallet, {});
  await manage(wallet, "DELETE", `/v1/budgets/${archived.id}`);
  const refused = [ids, [ids[0], ids[0]], [testBudget.id], [foreign.id], [archived.id], ["research"]];
  for (const given of refused) {
    const reply = await manage(wallet, "POST", "/v1/keys", { mode: "live", name: "agent", budgets: given });
    assertProblem(reply, "invalid_request", "/v1/keys");
  }
  const managing = { mode: "mgmt", name: "manager", budgets: [ids[0]] };
  assertProblem(await manage(wallet, "POST", "/v1/keys", managing), "invalid_request", "/v1/keys");
});

test("a rotated key and its successor share the budgets, and test keys spend play money from theirs", async () => {
  const wallet = await createWallet("1.00");
  const budget = await createBudget(wallet, { amount: "0.02" });
  const { id, key } = await createKey(wallet, { budgets: [budget.id] });
  const rotated = (await manage(wallet, "POST", `/v1/keys/${id}/rotate`, { grace_seconds: 60 })).body;
  assert.deepEqual(pluck([await search(key), await search(rotated.key), await search(key)], "status"), [200, 200, 403]);
  const rehearsal = await createBudget(wallet, { mode: "test", amount: "0.01" });
  const testKey = await createKey(wallet, { mode: "test", budgets: [rehearsal.id] });
  const replies = [await search(testKey.key), await search(testKey.key)];
  assert.deepEqual(pluck(replies, "status"), [200, 403]);
  assert.equal(replies[0]?.headers.get("wallet-charge"), "0.00;currency=usd");
});

test("half of a surrogate pair in the name of a budget or key becomes U+FFFD", async () => {
  const wallet = await createWallet("1.00");
  const half = { name: "a\ud83d" };
  const [budget, key] = [await createBudget(wallet, half), await createKey(wallet, half)];
  const changed = [
    await manage(wallet, "PATCH", `/v1/budgets/${budget.id}`, half),
    await manage(wallet, "PATCH", `/v1/keys/${key.id}`, half),
  ];
  assert.deepEqual(
    changed.map(({ body }) => body.name),
    ["a\ufffd", "a\ufffd"],
  );
});
