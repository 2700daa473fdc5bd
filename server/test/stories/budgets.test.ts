import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { seedKeyLimits } from "../support/data/seed-wallet.ts";
import { createTestKey, type Reply, type TestWallet } from "../support/services/server.ts";

// Run and key budgets as callers see them in the response headers, and their rehearsal with play money.

const { db, upstream, server, createWallet, assertBooksBalance } = await createFixture();
const question = { query: "cats" };

const runOf = ({ headers }: Reply): string | null => headers.get("search-run");
/** Without the seconds until the reset. */
const keyBudgetOf = ({ headers }: Reply): string | undefined =>
  headers.get("key-budget")?.replaceAll(/resets=\d+/g, "resets");

async function createBudgetedKey(
  wallet: TestWallet,
  limits: { total?: bigint; day?: bigint; month?: bigint },
  mode: "live" | "test" = "live",
): Promise<string> {
  const limitsId = await seedKeyLimits(db.owner, wallet.walletId, limits, mode);
  return (await createTestKey(db, { walletId: wallet.walletId, mode, limitsId })).key;
}

async function readRun(wallet: TestWallet, name: string): Promise<string | undefined> {
  const { body } = await server.manage(wallet.management, "GET", "/v1/runs");
  return body.runs.find(({ run }: { run: string }) => run === name)?.spent;
}

test("a paid search returns how much its run and its key have spent and can still spend", async () => {
  const wallet = await createWallet("1.00");
  const key = await createBudgetedKey(wallet, { total: 50_000n, day: 30_000n, month: 1_000_000n });
  const run = { "search-run": "team/nightly@7; max=0.025; ttl=60" };
  const first = await server.search(key, question, run);
  assert.equal(first.status, 200, first.text);
  assert.equal(runOf(first), "team/nightly@7; spent=0.01; left=0.015");
  assert.equal(
    keyBudgetOf(first),
    "total; spent=0.01; left=0.04, day; spent=0.01; left=0.02; resets, month; spent=0.01; left=0.99; resets",
  );
  const resets = [...(first.headers.get("key-budget") ?? "").matchAll(/resets=(\d+)/g)].map(([, text]) => Number(text));
  assert.ok(resets.every((seconds) => seconds > 0) && Math.max(...resets) <= 31 * 86_400, String(resets));
  assert.ok((resets[0] ?? 0) <= 86_400 && (resets[0] ?? 0) <= (resets[1] ?? 0), "the day ends first");

  assert.equal(runOf(await server.search(key, question, run)), "team/nightly@7; spent=0.02; left=0.005");
  const spent = await server.search(key, question, run);
  assertProblem(spent, "run_budget_spent");
  assert.equal(runOf(spent), "team/nightly@7; spent=0.02; left=0.005");
  assert.match(keyBudgetOf(spent) ?? "", /^total; spent=0\.02; left=0\.03, /);

  // The max of the run that exists counts, not the one in the request.
  const other = await server.search(wallet.live, question, { "search-run": "team/nightly@7; max=9.00" });
  assert.deepEqual([other.status, runOf(other), keyBudgetOf(other)], [403, runOf(spent), undefined]);

  assert.equal((await server.search(key, question)).status, 200);
  const refused = await server.search(key, question, { "search-run": "new; max=0.50" });
  assertProblem(refused, "key_budget_spent");
  assert.deepEqual(
    [runOf(refused), keyBudgetOf(refused)?.split(", ")[1]],
    ["new; spent=0.00; left=0.50", "day; spent=0.03; left=0.00; resets"],
  );
});

test("a search without a run and without a key budget has neither header", async () => {
  const wallet = await createWallet("1.00");
  for (const key of [wallet.live, wallet.test])
    for (const headers of [{}, { "idempotency-key": "plain" }]) {
      const reply = await server.search(key, question, headers);
      assert.deepEqual([reply.status, runOf(reply), keyBudgetOf(reply)], [200, null, undefined]);
    }
});

test("a failed search, a 402 and a replay return the budgets without a charge, and other errors none", async () => {
  const wallet = await createWallet("0.02");
  const key = await createBudgetedKey(wallet, { total: 100_000n });
  const run = { "search-run": "mixed; max=0.10" };
  const retry = { ...run, "idempotency-key": "retry" };
  const outcome = (reply: Reply) => [reply.status, runOf(reply), keyBudgetOf(reply)];
  const before = ["mixed; spent=0.00; left=0.10", "total; spent=0.00; left=0.10"];
  for (const status of [500, 503, 429] as const) {
    await upstream.behave(`status_${status}`);
    assert.deepEqual(outcome(await server.search(key, question, retry)), [status, ...before]);
  }
  await upstream.behave("ok");

  const after = ["mixed; spent=0.01; left=0.09", "total; spent=0.01; left=0.09"];
  assert.deepEqual(outcome(await server.search(key, question, retry)), [200, ...after]);
  const replay = await server.search(key, question, retry);
  assert.deepEqual([replay.headers.get("idempotent-replayed"), ...outcome(replay)], ["true", 200, ...after]);
  const reused = await server.search(key, { query: "dogs" }, retry);
  assert.deepEqual([reused.body.code, ...outcome(reused)], ["idempotency_key_reused", 422, ...after]);

  assert.equal((await server.search(wallet.live, question)).status, 200);
  assert.deepEqual(outcome(await server.search(key, question, run)), [402, ...after]);

  // The ledger was not read.
  const slow = await createTestKey(db, { walletId: wallet.walletId, searchesPerSecond: 1 });
  const burst = await Promise.all([1, 2, 3, 4].map(() => server.search(slow.key, question, run)));
  const limited = burst.find(({ status }) => status === 429);
  for (const reply of [await server.search(key, { query: "" }, run), limited])
    assert.deepEqual(reply && outcome(reply).slice(1), [null, undefined]);
  await assertBooksBalance();
});

test("concurrent searches return the amounts of their own transactions", async () => {
  const wallet = await createWallet("1.00");
  const run = { "search-run": "parallel; max=0.03" };
  for (const key of [wallet.live, wallet.test]) {
    const replies = await Promise.all(Array.from({ length: 8 }, () => server.search(key, question, run)));
    const paid = replies.filter(({ status }) => status === 200).map(runOf);
    assert.deepEqual(
      new Set(paid),
      new Set([
        "parallel; spent=0.01; left=0.02",
        "parallel; spent=0.02; left=0.01",
        "parallel; spent=0.03; left=0.00",
      ]),
    );
    assert.equal(paid.length, 3);
    const refused = replies.filter(({ status }) => status !== 200);
    assert.deepEqual([...new Set(refused.map(({ body }) => body.code))], ["run_budget_spent"]);
    assert.deepEqual([...new Set(refused.map(runOf))], ["parallel; spent=0.03; left=0.00"]);
  }
});

test("a test key spends a run to its limit with play money, and the live run of that name is untouched", async () => {
  const wallet = await createWallet("0.05");
  const run = { "search-run": "rehearsal; max=0.03; ttl=60" };
  assert.equal(runOf(await server.search(wallet.live, question, run)), "rehearsal; spent=0.01; left=0.02");
  const money = await server.readMoney(wallet.management);

  const replies: Reply[] = [];
  for (let sent = 0; sent < 5; sent += 1) replies.push(await server.search(wallet.test, question, run));
  assert.deepEqual(pluck(replies, "status"), [200, 200, 200, 403, 403]);
  assert.deepEqual([...new Set(replies.map(({ headers }) => headers.get("wallet-charge")))], ["0.00;currency=usd"]);
  assert.deepEqual(replies.map(runOf), [
    "rehearsal; spent=0.01; left=0.02",
    "rehearsal; spent=0.02; left=0.01",
    "rehearsal; spent=0.03; left=0.00",
    "rehearsal; spent=0.03; left=0.00",
    "rehearsal; spent=0.03; left=0.00",
  ]);
  assert.deepEqual(await server.readMoney(wallet.management), money);
  assert.equal(await readRun(wallet, "rehearsal"), "0.01");

  for (let sent = 0; sent < 2; sent += 1)
    assert.equal((await server.search(wallet.live, question, run)).status, 200, "tests do not exhaust a live run");
  const refusals = [replies[3], await server.search(wallet.live, question, run)].map((reply) => {
    assert.ok(reply);
    const { request_id, resets_at, ...body } = assertProblem(reply, "run_budget_spent");
    assert.ok(request_id && Date.parse(String(resets_at)) > Date.now());
    return [reply.status, body, runOf(reply)];
  });
  assert.deepEqual(refusals[0], refusals[1], "a test key is refused exactly like a live key");
  const { rows } = await db.owner.query("select from pb.transfers where wallet_id = $1 and kind = 'capture'", [
    wallet.walletId,
  ]);
  assert.equal(rows.length, 3);
  await assertBooksBalance();
});

test("failed and replayed test searches spend no play money", async () => {
  const wallet = await createWallet("0.00");
  const key = await createBudgetedKey(wallet, { day: 20_000n }, "test");
  const run = { "search-run": "retries; max=0.02" };
  const outcome = (reply: Reply) => [reply.status, runOf(reply), keyBudgetOf(reply)];
  for (const [query, status] of [
    ["test:upstream_503", 503],
    ["test:upstream_429", 429],
    ["test:insufficient_balance", 402],
  ] as const) {
    const failed = await server.search(key, { query }, run);
    assert.deepEqual(outcome(failed), [status, "retries; spent=0.00; left=0.02", "day; spent=0.00; left=0.02; resets"]);
  }
  const retry = { ...run, "idempotency-key": "once" };
  for (let sent = 0; sent < 3; sent += 1)
    assert.deepEqual(outcome(await server.search(key, question, retry)), [
      200,
      "retries; spent=0.01; left=0.01",
      "day; spent=0.01; left=0.01; resets",
    ]);
  await assertBooksBalance();
});

test("a test key's budget is spent with play money, read with GET /v1/key, and kept by a rotation", async () => {
  const wallet = await createWallet("1.00");
  const manage = async (method: string, path: string, body?: unknown) => {
    const reply = await server.manage(wallet.management, method, path, body);
    assert.equal(reply.status, 200, reply.text);
    return reply.body;
  };
  const { id, key } = await manage("POST", "/v1/keys", { mode: "test", name: "trial", budget: { total: "0.02" } });
  const money = await server.readMoney(wallet.management);
  for (const left of ["0.01", "0.00"])
    assert.equal(keyBudgetOf(await server.search(key, question))?.slice(-9), `left=${left}`);
  assert.equal(assertProblem(await server.search(key, question), "key_budget_spent")["spent"], "0.02");
  const own = await server.manage(key, "GET", "/v1/key");
  assert.deepEqual(own.body.budget.total, { limit: "0.02", spent: "0.02", resets_at: null });

  assert.equal((await manage("PATCH", `/v1/keys/${id}`, { budget: { total: "0.03" } })).budget.total.spent, "0.02");
  const rotated = await manage("POST", `/v1/keys/${id}/rotate`, { grace_seconds: 60 });
  assert.equal(keyBudgetOf(await server.search(rotated.key, question)), "total; spent=0.03; left=0.00");
  assert.equal((await server.search(key, question)).status, 403);
  assert.deepEqual(await server.readMoney(wallet.management), money);
  await assertBooksBalance();
});

test("a key cannot have the budget of a key of another mode", async () => {
  const wallet = await createWallet("1.00");
  for (const [mode, other] of [
    ["live", "test"],
    ["test", "live"],
  ] as const) {
    const limitsId = await seedKeyLimits(db.owner, wallet.walletId, { total: 10_000n }, mode);
    await assert.rejects(createTestKey(db, { walletId: wallet.walletId, mode: other, limitsId }), {
      constraint: "key_limits_of_same_wallet_and_mode",
    });
  }
});
