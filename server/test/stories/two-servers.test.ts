import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createFixture } from "../fixture.ts";
import { countBy } from "../support/assertions/count-by.ts";
import { until } from "../support/assertions/until.ts";
import { connectMcp, revisions } from "../support/clients/mcp-clients.ts";
import type { Reply } from "../support/services/server.ts";
import { startServerProcess } from "../support/services/server-process.ts";

// Balances, budgets and revocations with two server processes that share only the database.

const { db, upstream, server, createWallet, assertBooksBalance } = await createFixture();
const settings = { PENNYBLACK_SEARXNG_URL: upstream.url, PENNYBLACK_LOG_LEVEL: "warn" };
const servers = await Promise.all([startServerProcess(db, settings), startServerProcess(db, settings)]);

const urlOf = (number: number): string => servers[number % servers.length]?.url ?? "";

type Answer = Pick<Reply, "status" | "body">;

async function manage(url: string, key: string, method: string, path: string, body?: object, more = {}) {
  const response = await fetch(url + path, {
    method,
    headers: { "x-api-key": key, ...(body && { "content-type": "application/json" }), ...more },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer: Answer = { status: response.status, body: await response.json() };
  return answer;
}

const search = (url: string, key: string, headers: Record<string, string> = {}): Promise<Answer> =>
  manage(url, key, "POST", "/v1/search", { query: "cats" }, headers);

/** Concurrent searches that alternate between the servers. */
function searchConcurrently(key: string, times: number, headers?: Record<string, string>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: times }, (_, index) => search(urlOf(index), key, headers)));
}

/** Concurrent callers, each of which alternates between the servers. With more of them, a slow machine refuses some. */
async function searchRepeatedly(
  key: string,
  { callers, times }: { callers: number; times: number },
): Promise<Answer[]> {
  const call = async (_: unknown, caller: number): Promise<Answer[]> => {
    const answers: Answer[] = [];
    for (let time = 0; time < times; time += 1) answers.push(await search(urlOf(caller + time), key));
    return answers;
  };
  return (await Promise.all(Array.from({ length: callers }, call))).flat();
}

/** 200 concurrent searches: fifty are paid, the others return the limit that they exceeded. */
async function assertFiftyOf200(key: string, code: string, headers: Record<string, string>): Promise<Answer[]> {
  const answers = await searchConcurrently(key, 200, headers);
  const refused = answers.filter(({ status }) => status !== 200);
  assert.equal(answers.length - refused.length, 50);
  for (const { status, body } of refused) {
    assert.deepEqual([status, body.code, body.limit, body.spent], [403, code, "0.50", "0.50"]);
  }
  return refused;
}

const tally = (answers: Answer[]) => countBy(answers, ({ status, body }) => `${status} ${body.code ?? "paid"}`);

test("500 searches by 100 concurrent callers of two servers with a balance of 0.05: five are charged, 495 return 402", async () => {
  const wallet = await createWallet("0.05");
  upstream.requests.length = 0;
  const {
    "402 insufficient_balance": insufficient = 0,
    "402 balance_reserved": reserved = 0,
    ...others
  } = tally(await searchRepeatedly(wallet.live, { callers: 100, times: 5 }));
  assert.deepEqual(others, { "200 paid": 5 });
  assert.equal(insufficient + reserved, 495);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.00", held: "0.00" });
  assert.equal(upstream.requests.length, 5, "the upstream is called only for paid searches");
  await assertBooksBalance();
});

test("searches that fail upstream leave the balance for later ones", async () => {
  const wallet = await createWallet("0.05");
  await upstream.behave("status_503");
  const failed = tally(await searchConcurrently(wallet.live, 100));
  assert.ok((failed["503 upstream_error"] ?? 0) >= 5);
  assert.equal(failed["200 paid"], undefined);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
  await upstream.behave("ok");
  assert.equal(tally(await searchConcurrently(wallet.live, 100))["200 paid"], 5);
  await assertBooksBalance();
});

test("the holds of a killed server keep their money reserved until they expire, and are not charged", async () => {
  const wallet = await createWallet("0.05");
  await upstream.behave("ok_when_released");
  const killed = await startServerProcess(db, settings);
  const running = Promise.allSettled(Array.from({ length: 5 }, () => search(killed.url, wallet.live)));
  await until("all five are held", async () => (await server.readMoney(wallet.management)).held === "0.05");
  killed.process.kill("SIGKILL");
  await killed.ended;
  await running;
  await upstream.behave("ok");
  assert.equal((await server.search(wallet.live, { query: "cats" })).body.code, "balance_reserved");
  await db.owner.query("update pb.searches set expires_at = clock_timestamp() where wallet_id = $1", [wallet.walletId]);
  await db.owner.query("select pb.sweep(100)");
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
  assert.equal((await server.search(wallet.live, { query: "cats" })).status, 200);
  await assertBooksBalance();
});

test("200 concurrent searches with a run budget of 0.50: fifty are charged, 150 return 403", async () => {
  const wallet = await createWallet("5.00");
  const beforeMs = Date.now();
  const refused = await assertFiftyOf200(wallet.live, "run_budget_spent", { "search-run": "task; max=0.50; ttl=3600" });
  const afterMs = Date.now();
  for (const { body } of refused) {
    const startedMs = Date.parse(body.resets_at) - 3_600_000;
    assert.ok(startedMs >= beforeMs - 1 && startedMs <= afterMs, body.resets_at);
  }
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "4.50", held: "0.00" });
  await assertBooksBalance();
});

test("200 concurrent searches with a daily key budget of 0.50: fifty are charged, 150 return 403", async () => {
  const wallet = await createWallet("5.00");
  const options = { mode: "live", name: "agent", budget: { day: "0.50" } };
  const { body: made } = await manage(urlOf(0), wallet.management, "POST", "/v1/keys", options);
  const refused = await assertFiftyOf200(made.key, "key_budget_spent", {});
  const midnight = new Date(new Date().setUTCHours(24, 0, 0, 0)).toISOString();
  for (const { body } of refused) assert.equal(body.resets_at, midnight);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "4.50", held: "0.00" });
  const { body: seen } = await manage(urlOf(1), made.key, "GET", "/v1/key");
  assert.deepEqual(seen.budget, {
    total: null,
    day: { limit: "0.50", spent: "0.50", resets_at: midnight },
    month: null,
  });
  await assertBooksBalance();
});

for (const revision of revisions) {
  test(`100 concurrent MCP tool calls (${revision}) with a daily key budget of 0.10: ten are charged, 90 are refused`, async (t) => {
    const wallet = await createWallet("5.00");
    const options = { mode: "live", name: "agent", budget: { day: "0.10" } };
    const { body: made } = await manage(urlOf(0), wallet.management, "POST", "/v1/keys", options);
    const clients = await Promise.all(servers.map(({ url }) => connectMcp(revision, url, made.key)));
    t.after(() => Promise.all(clients.map((client) => client.close())));
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        // A new run is not a new budget.
        clients.map((client) => client.call("web_search", { query: "cats", run: { id: `run-${index}`, max: "9.00" } })),
      ).flat(),
    );
    const outcomes = countBy(replies, ({ isError, text }) =>
      isError ? (/Reason: (\w+)/.exec(text)?.[1] ?? text) : "paid",
    );
    assert.deepEqual(outcomes, { paid: 10, key_budget_spent: 90 });
    assert.deepEqual(await server.readMoney(wallet.management), { balance: "4.90", held: "0.00" });
    await assertBooksBalance();
  });
}

test("no search that starts after a revocation is charged, in 100 revocations under load", async (t) => {
  const wallet = await createWallet("100.00");
  let paid = 0;
  let refusedAfter = 0;
  for (let trial = 0; trial < 100; trial += 1) {
    const options = { mode: "live", name: `trial ${trial}` };
    const { body: made } = await manage(urlOf(trial + 1), wallet.management, "POST", "/v1/keys", options);
    let isRevoked = false;
    const searches: { beganAfter: boolean; status: number; code: unknown }[] = [];
    const searchOn = async (number: number): Promise<void> => {
      for (let afterwards = 0; afterwards < 2; ) {
        const beganAfter = isRevoked;
        const { status, body } = await search(urlOf(number), made.key);
        searches.push({ beganAfter, status, code: body.code });
        if (beganAfter) afterwards += 1;
      }
    };
    const searching = Promise.all([0, 1, 0, 1].map(searchOn));
    // By now both servers have cached the key.
    while (searches.length < 4 + (trial % 5)) await setImmediate();
    const revoked = await manage(urlOf(trial), wallet.management, "DELETE", `/v1/keys/${made.id}`);
    isRevoked = true;
    assert.equal(revoked.status, 200);
    await searching;
    for (const { beganAfter, status, code } of searches) {
      if (status === 200) paid += 1;
      else assert.deepEqual([status, code], [401, "api_key_revoked"]);
      if (beganAfter) assert.equal(status, 401, `trial ${trial}`);
      if (beganAfter) refusedAfter += 1;
    }
  }
  assert.ok(refusedAfter >= 800);
  const { rows } = await db.owner.query<{ captured: number; late: number }>(
    `select count(*) filter (where s.state = 'captured')::integer as captured,
       count(*) filter (where s.held_at > k.revoked_at)::integer as late
     from pb.searches s join pb.keys k on k.id = s.key_id where s.wallet_id = $1`,
    [wallet.walletId],
  );
  assert.deepEqual(rows, [{ captured: paid, late: 0 }]);
  await assertBooksBalance();
  t.diagnostic(`${paid} paid before and ${refusedAfter} rejected after 100 revocations`);
});

test("both servers stop with exit code 0", async () => {
  for (const { process } of servers) process.kill("SIGTERM");
  assert.deepEqual(await Promise.all(servers.map(({ ended }) => ended)), [0, 0]);
});
