import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import { scopesOf } from "../../src/keys/scopes.ts";
import { digestToken } from "../../src/lib/token.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { type Browser, createConsoleFixture, makeStale, someone } from "../support/console-fixture.ts";
import { seedBudgetRequest } from "../support/data/seed-wallet.ts";
import { shiftCalendar } from "../support/data/shift-calendar.ts";
import { createTestKey, type Reply } from "../support/services/server.ts";

// A key whose shared budget is spent asks for more, and a person decides.

const fixture = await createConsoleFixture();
const { db, server, assertBooksBalance } = fixture;
const question = { query: "cats" };
const requestPath = "/v1/key/budget-requests";

interface Team {
  email: string;
  accountId: string;
  walletId: string;
  owner: Browser;
  /** Sends a request to the console's API of the wallet. */
  send(method: string, path: string, body?: unknown, browser?: Browser): Promise<Reply>;
  createBudget(fields?: object): Promise<string>;
  createKey(budgets: string[], fields?: object): Promise<{ id: string; key: string }>;
}

async function openTeam(): Promise<Team> {
  const email = someone("owner");
  const { accountId, walletId } = await fixture.openAccount(email);
  const owner = await fixture.signIn(email);
  const send: Team["send"] = (method, path, body, browser = owner) =>
    browser.send(method, `wallets/${walletId}/${path}`, body);
  const create = async (path: string, body: object): Promise<{ id: string; key: string }> => {
    const reply = await send("POST", path, body);
    assert.equal(reply.status, 200, reply.text);
    return reply.body;
  };
  return {
    email,
    accountId,
    walletId,
    owner,
    send,
    createBudget: async (fields = {}) =>
      (await create("budgets", { mode: "live", name: "research", amount: "0.02", period: "week", ...fields })).id,
    createKey: (budgets, fields = {}) =>
      create("keys", { mode: "live", name: "agent", budgets, scopes: ["search", "budgets:request"], ...fields }),
  };
}

const ask = (key: string, budget: string, fields: object = {}): Promise<Reply> =>
  server.manage(key, "POST", requestPath, { budget, amount: "0.03", hours: 2, ...fields });

const search = async (key: string, count = 1): Promise<number[]> => {
  const statuses: number[] = [];
  for (let n = 0; n < count; n += 1) statuses.push((await server.search(key, question)).status);
  return statuses;
};

const decide = (team: Team, id: string, decision: "approve" | "deny", browser = team.owner): Promise<Reply> =>
  team.send("POST", `budget-requests/${id}/${decision}`, undefined, browser);

/** Moves the end of the raise into the past. No job runs in this test. */
const endRaise = (budget: string) =>
  db.owner.query("update pb.budgets set raise_ends_at = clock_timestamp() where id = $1", [budget]);

const eventsOf = async (walletId: string, type: string): Promise<Record<string, unknown>[]> => {
  const text = "select data from pb.events where wallet_id = $1 and type = $2 order by created_at";
  const { rows } = await db.owner.query<{ data: Record<string, unknown> }>(text, [walletId, type]);
  return rows.map(({ data }) => data);
};

test("the 403 of a spent budget has the request, a person approves it, and the raise ends without a job", async () => {
  const team = await openTeam();
  const budget = await team.createBudget();
  const { key, id: keyId } = await team.createKey([budget]);
  assert.deepEqual(await search(key, 3), [200, 200, 403]);
  const { increase } = assertProblem(await server.search(key, question), "key_budget_spent") as {
    increase?: { url: string; request: { body: object } };
  };
  assert.deepEqual(increase, {
    url: `http://search.test/console/w/${team.walletId}/budgets`,
    request: {
      method: "POST",
      url: `http://search.test${requestPath}`,
      required_scope: "budgets:request",
      body: { budget, amount: "1.00", hours: 24 },
    },
  });
  const asked = await ask(key, budget);
  assert.equal(asked.status, 200, asked.text);
  assert.deepEqual(await search(key), [403], "a request changes nothing");
  const { requests } = (await team.send("GET", "budget-requests")).body;
  assert.deepEqual(pluck(requests, "id", "state", "amount", "hours"), [[asked.body.id, "open", "0.03", 2]]);
  assert.deepEqual(requests[0].key, { id: keyId, name: "agent" });

  const approved = await decide(team, asked.body.id, "approve");
  assert.equal(approved.status, 200, approved.text);
  assert.deepEqual([approved.body.increase.amount, approved.body.replaced], ["0.03", null]);
  const hoursLeft = (Date.parse(approved.body.increase.ends_at) - Date.now()) / 3_600_000;
  assert.ok(hoursLeft > 1.9 && hoursLeft <= 2.1, approved.text);
  assert.equal((await server.manage(key, "GET", "/v1/key")).body.budgets[0].limit, "0.05");
  assert.deepEqual(await search(key, 4), [200, 200, 200, 403]);
  assert.deepEqual((await team.send("GET", `budgets/${budget}`)).body.increase, approved.body.increase);

  await endRaise(budget);
  const problem = assertProblem(await server.search(key, question), "key_budget_spent");
  assert.deepEqual([problem["limit"], problem["spent"]], ["0.02", "0.05"]);
  assert.equal((await team.send("GET", `budgets/${budget}`)).body.increase, null);
  await shiftCalendar(db.owner, [team.walletId], "next week");
  assert.deepEqual(await search(key, 3), [200, 200, 403], "the next period has the amount without the raise");
  await assertBooksBalance();
});

test("no API key of any scope can approve or deny a request", async () => {
  const team = await openTeam();
  const budget = await team.createBudget();
  const { key } = await team.createKey([budget]);
  const { id } = (await ask(key, budget)).body;
  const keys = await Promise.all(
    (["live", "test", "mgmt"] as const).map((mode) =>
      createTestKey(db, { walletId: team.walletId, mode, scopes: scopesOf[mode] }),
    ),
  );
  const paths = [
    `/console/api/wallets/${team.walletId}/budget-requests/${id}`,
    `/v1/budget-requests/${id}`,
    `${requestPath}/${id}`,
    `/v1/budgets/${budget}/requests/${id}`,
  ];
  for (const { key: anyKey } of [...keys, { key }])
    for (const path of paths)
      for (const decision of ["approve", "deny"]) {
        const headers = { "x-pennyblack-csrf": "1", origin: "http://search.test" };
        const cookie = { cookie: `pennyblack=${anyKey}`, ...headers };
        for (const credential of [{ authorization: `Bearer ${anyKey}`, ...headers }, { "x-api-key": anyKey }, cookie]) {
          const reply = await server.request(`${path}/${decision}`, { method: "POST", headers: credential });
          assert.ok([401, 403, 404].includes(reply.status), `${path}: ${reply.text}`);
        }
      }
  // Not with the id of a key instead of a session either.
  const { rows } = await db.people.query<{ decision: { outcome: string } }>(
    "select pb.decide_budget_request(uuid_send($1::uuid), $2, $3, true) as decision",
    [keys[2]?.id, team.walletId, id],
  );
  assert.equal(rows[0]?.decision.outcome, "api_key_invalid");
  assert.deepEqual(pluck((await team.send("GET", "budget-requests")).body.requests, "state"), ["open"]);
});

test("an approval requires a recent sign-in and the role of a developer, and a request is decided once", async () => {
  const team = await openTeam();
  const budget = await team.createBudget();
  const { key } = await team.createKey([budget]);
  const { id } = (await ask(key, budget)).body;
  const [viewer, stranger] = [someone("viewer"), await openTeam()];
  await fixture.addMember(team.accountId, viewer, "viewer");
  const path = `/console/api/wallets/${team.walletId}/budget-requests/${id}/approve`;
  assertProblem(await decide(team, id, "approve", await fixture.signIn(viewer)), "insufficient_role", path);
  assertProblem(await decide(team, id, "approve", stranger.owner), "not_found", path);
  const own = `/console/api/wallets/${stranger.walletId}/budget-requests/${id}/approve`;
  assertProblem(await decide(stranger, id, "approve"), "not_found", own);
  await makeStale(db, team.email);
  assertProblem(await decide(team, id, "approve"), "reauthentication_required", path);
  assert.deepEqual(await search(key, 3), [200, 200, 403]);
  assert.equal((await decide(team, id, "deny")).status, 200, "a denial does not");
  assertProblem(await decide(team, id, "approve", await fixture.signIn(team.email)), "not_found", path);
  assert.deepEqual(await search(key), [403]);
});

test("an approval requires a recent sign-in, which the database checks itself", async () => {
  const team = await openTeam();
  const { requestId } = await seedBudgetRequest(db.owner, team.walletId);
  const decideDirectly = async (isApproved: boolean): Promise<string | undefined> => {
    const { rows } = await db.people.query<{ decision: { outcome: string } }>(
      "select pb.decide_budget_request($1, $2, $3, $4) as decision",
      [digestToken(team.owner.token()), team.walletId, requestId, isApproved],
    );
    return rows[0]?.decision.outcome;
  };
  await makeStale(db, team.email);
  assert.equal(await decideDirectly(true), "reauthentication_required");
  assert.equal(await decideDirectly(false), "done");
});

test("a budget has one raise: another approval replaces it, and the answer has both", async () => {
  const team = await openTeam();
  const budget = await team.createBudget();
  const { key } = await team.createKey([budget]);
  const first = (await ask(key, budget)).body;
  const second = (await ask(key, budget, { amount: "0.01", hours: 1 })).body;
  const raised = (await decide(team, first.id, "approve")).body.increase;
  const { increase, replaced } = (await decide(team, second.id, "approve")).body;
  assert.deepEqual(replaced, raised);
  assert.equal(increase.amount, "0.01");
  assert.deepEqual(await search(key, 4), [200, 200, 200, 403], "the raises are not added up");
  const { activity: lines } = (await team.send("GET", "activity?act=budget")).body;
  assert.deepEqual(
    lines.map(({ act, actor }: { act: string; actor: { type: string } }) => `${actor.type} ${act}`),
    [
      "person budget.approve_increase",
      "person budget.approve_increase",
      "key budget.request_increase",
      "key budget.request_increase",
      "person budget.create",
    ],
  );
});

test("a key has at most 3 open requests and a wallet 20, and an equal request is the same one", async () => {
  const team = await openTeam();
  const budget = await team.createBudget();
  const keys = await Promise.all(Array.from({ length: 8 }, () => team.createKey([budget])));
  const [{ key } = assert.fail()] = keys;
  const parallel = await Promise.all(Array.from({ length: 5 }, (_, n) => ask(key, budget, { hours: n + 1 })));
  const [kept = assert.fail(), ...more] = parallel.filter(({ status }) => status === 200);
  assert.deepEqual([more.length, parallel.filter(({ status }) => status === 409).length], [2, 2]);
  assert.equal((await ask(key, budget, { hours: kept.body.hours })).body.id, kept.body.id);
  const others: Reply[] = [];
  for (const hours of [1, 2, 3])
    others.push(...(await Promise.all(keys.slice(1).map((each) => ask(each.key, budget, { hours })))));
  assert.equal(others.filter(({ status }) => status === 200).length, 17, "20 of the wallet");
  assertProblem(others.find(({ status }) => status !== 200) ?? assert.fail(), "budget_requests_open", requestPath);
  await db.owner.query(
    "update pb.budget_requests set created_at = created_at - interval '7 days' where wallet_id = $1",
    [team.walletId],
  );
  assert.equal((await ask(key, budget)).status, 200, "requests expire after seven days");
});

test("each request sends an event, and at most ten an hour send an e-mail", async () => {
  const team = await openTeam();
  const budget = await team.createBudget();
  await team.send("PUT", "wallet/alerts", { email: "owner@example.com", low_balance: null });
  const keys = await Promise.all(Array.from({ length: 4 }, () => team.createKey([budget])));
  for (const { key } of keys)
    for (const hours of [1, 2, 3]) assert.equal((await ask(key, budget, { hours })).status, 200);
  const events = await eventsOf(team.walletId, "budget.increase_requested");
  assert.equal(events.length, 12);
  const { request_id: _, key, ...data } = events[0] ?? {};
  assert.deepEqual(data, {
    wallet_id: team.walletId,
    currency: "usd",
    budget: { id: budget, name: "research" },
    amount: "0.03",
    hours: 1,
    limit: "0.02",
    period: "week",
  });
  assert.equal((key as { id: string }).id, keys[0]?.id);
  await db.worker.query("select pb.dispatch_events(1000, true)");
  const sent = "select from pb.events where wallet_id = $1 and email_due_at is not null";
  assert.equal((await db.owner.query(sent, [team.walletId])).rows.length, 10);
});

test("only a key with the scope requests, only for its own shared budgets, and without text", async () => {
  const team = await openTeam();
  const stranger = await openTeam();
  const [budget, other, foreign] = await Promise.all([
    team.createBudget(),
    team.createBudget(),
    stranger.createBudget(),
  ]);
  const perEndUser = await team.createBudget({ per: "end_user", alerts: [] });
  const { key } = await team.createKey([budget, perEndUser]);
  const plain = await team.createKey([budget], { scopes: ["search"] });
  await team.createKey([other]);
  const { key: management } = await createTestKey(db, { walletId: team.walletId, mode: "mgmt", scopes: scopesOf.mgmt });
  for (const without of [plain.key, management]) {
    const { detail } = assertProblem(await ask(without, budget), "insufficient_scope", requestPath);
    assert.match(String(detail), /Use a live or test key that has it, or create one with `POST \/v1\/keys`\.$/);
  }
  for (const id of [other, foreign, randomUUIDv7()]) assertProblem(await ask(key, id), "not_found", requestPath);
  const invalid = [
    { budget: perEndUser },
    { amount: "0.001" },
    { hours: 0 },
    { hours: 169 },
    { budget: "research" },
    { reason: "I need to find the cats of Ada" },
  ];
  for (const fields of invalid) assertProblem(await ask(key, budget, fields), "invalid_request", requestPath);
  const { rows } = await db.owner.query("select from pb.budget_requests where wallet_id = $1", [team.walletId]);
  assert.equal(rows.length, 0);
});
