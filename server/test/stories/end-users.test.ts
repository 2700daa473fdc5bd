import assert from "node:assert/strict";
import { before, test } from "node:test";
import { rollUpUsage } from "../../src/usage/roll-up.ts";
import { deleteEndedWindows, deleteOldEndUsers } from "../../src/wallet/upkeep/prune.ts";
import { createFixture } from "../fixture.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { countBy } from "../support/assertions/count-by.ts";
import { until } from "../support/assertions/until.ts";
import { replaceConstants } from "../support/replace-constants.ts";
import type { Reply } from "../support/services/server.ts";

// End users: the ids in Search-For, usage by end user, and limits per end user.

const { db, upstream, server, startServer, createWallet, assertBooksBalance } = await createFixture();
const other = await startServer();
const wallet = await createWallet("2.00");
const stranger = await createWallet("1.00");
const question = { query: "cats" };

const searchFor = (key: string, id: string, headers = {}): Promise<Reply> =>
  server.search(key, question, { "search-for": id, ...headers });

const read = (path: string, key = wallet.management): Promise<Reply> => server.manage(key, "GET", path);

interface Line {
  mode: string;
  end_user: string;
  searches: number;
  charged: string;
}

async function usage(parameters: string, key?: string): Promise<string[]> {
  const { status, body, text } = await read(`/v1/usage?${parameters}`, key);
  assert.equal(status, 200, text);
  return body.usage.map(({ mode, searches, charged }: Line) => `${mode} ${searches} ${charged}`);
}

async function createKey(
  end_user_limit: object | null,
  mode = "live",
  owner = wallet,
): Promise<Record<string, string>> {
  const { body, status, text } = await server.manage(owner.management, "POST", "/v1/keys", {
    mode,
    name: "app",
    end_user_limit,
  });
  assert.equal(status, 200, text);
  return body;
}

/** Ages the searches by three minutes, so that the roll-up counts them. */
async function rollUp(): Promise<void> {
  await db.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp()");
  await rollUpUsage(db.owner, new AbortController().signal);
}

before(async () => {
  for (const id of ["ada-canary", "ada-canary", "bob-canary"]) await searchFor(wallet.live, id);
  await searchFor(wallet.test, "ada-canary");
  await searchFor(stranger.live, "ada-canary");
  await server.search(wallet.live, question);
});

test("usage is counted by end user, the same before and after the roll-up, and only the wallet's own", async () => {
  const all = ["live 1 0.01", "live 2 0.02", "test 1 0.00"];
  for (const moment of ["before", "after"]) {
    assert.deepEqual((await usage("group=end_user")).toSorted(), all, moment);
    assert.deepEqual(await usage("group=end_user&for=ada-canary"), ["live 2 0.02", "test 1 0.00"], moment);
    assert.deepEqual(await usage("for=bob-canary"), ["live 1 0.01"], moment);
    assert.deepEqual(await usage("for=unknown"), [], moment);
    assert.deepEqual(await usage("group=end_user", stranger.management), ["live 1 0.01"], moment);
    assert.deepEqual(await usage(""), ["live 4 0.04", "test 1 0.00"], moment);
    if (moment === "before") await rollUp();
  }
  const pages = await server.readPages(wallet.management, "/v1/usage?group=end_user&limit=2");
  assert.deepEqual(
    countBy(pages, ({ searches }: Line) => String(searches)),
    { 1: 2, 2: 1 },
  );
  for (const query of ["group=end_user,key", "group=end_user&by=hour", "for=ada&group=key", "for=a%20b", "for=~x"]) {
    assert.equal((await read(`/v1/usage?${query}`)).status, 400, query);
  }
});

test("searches are found by the id that was sent and by the stored hash, which differs between wallets", async () => {
  const find = async (id: string, key?: string): Promise<{ end_user: string; mode: string }[]> =>
    (await read(`/v1/searches?for=${encodeURIComponent(id)}`, key)).body.searches;
  const own = await find("ada-canary");
  assert.deepEqual(
    countBy(own, ({ mode }) => mode),
    { live: 2, test: 1 },
  );
  const [hash = ""] = own.map((search) => search.end_user);
  assert.match(hash, /^~[\w-]{22}$/);
  assert.deepEqual(await find(hash), own);
  const [foreign] = await find("ada-canary", stranger.management);
  assert.notEqual(foreign?.end_user, hash);
  assert.deepEqual(await find(hash, stranger.management), []);
});

/** The tables with the text in any column, as text or as bytes. */
async function findText(text: string): Promise<string[]> {
  const { rows } = await db.owner.query<{ name: string }>(
    "select oid::regclass::text as name from pg_class where relnamespace = 'pb'::regnamespace and relkind = 'r'",
  );
  const sql = rows
    .map(({ name }) => `select '${name}' as name from ${name} t where t::text like any ($1)`)
    .join(" union ");
  const found = await db.owner.query<{ name: string }>(sql, [[`%${text}%`, `%${Buffer.from(text).toString("hex")}%`]]);
  return found.rows.map(({ name }) => name);
}

test("an id is nowhere in the database unless the owner chooses to store plain ids", async () => {
  assert.deepEqual(await findText("-canary"), []);
  const plain = await createWallet("1.00");
  assert.deepEqual((await read("/v1/wallet/end-users", plain.management)).body, { ids: "hashed" });
  await searchFor(plain.live, "before-plain");
  assert.equal((await server.manage(plain.management, "PUT", "/v1/wallet/end-users", { ids: "plain" })).status, 200);
  assert.deepEqual((await read("/v1/wallet/end-users", plain.management)).body, { ids: "plain" });
  await until("the server stores plain ids", async () => {
    await searchFor(plain.live, "ada-plain");
    return (await findText("ada-plain")).length > 0;
  });
  assert.deepEqual(await findText("before-plain"), []);
  assert.deepEqual(await usage("for=before-plain", plain.management), ["live 1 0.01"], "found by either form");
});

test("an invalid Search-For is refused before the hold, and names the header", async () => {
  for (const id of ["", "a b", "é", "~hash", "x".repeat(65), "a,b"]) {
    const { errors } = assertProblem(await searchFor(wallet.live, id), "invalid_request") as { errors: object[] };
    assert.deepEqual(pick(errors), [["invalid_header", true]], id);
  }
  for (const id of ["auth0|5f7c8ec7", "ada@example.org", "QWRh+/=", "x".repeat(64)])
    assert.equal((await searchFor(wallet.test, id)).status, 200, id);
});

const pick = (errors: object[]): [string, boolean][] =>
  (errors as { code: string; detail: string }[]).map(({ code, detail }) => [code, detail.includes("`Search-For`")]);

test("50 concurrent searches on two servers with a limit of 0.10 per end user: ten are charged, for each end user", async () => {
  const { key = "" } = await createKey({ amount: "0.10", period: "day" });
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      (index % 2 === 0 ? server : other).search(key, question, { "search-for": "greedy" }),
    ),
  );
  assert.deepEqual(
    countBy(results, ({ body }) => body.code ?? "paid"),
    { paid: 10, end_user_budget_spent: 40 },
  );
  const refused = await searchFor(key, "greedy");
  const { limit, spent, resets_at } = assertProblem(refused, "end_user_budget_spent");
  assert.deepEqual([limit, spent], ["0.10", "0.10"]);
  assert.equal(resets_at, new Date(new Date().setUTCHours(24, 0, 0, 0)).toISOString());
  assert.match(refused.headers.get("end-user-budget") ?? "", /^spent=0\.10; left=0\.00; resets=\d+$/);
  const modest = await searchFor(key, "modest");
  assert.match(modest.headers.get("end-user-budget") ?? "", /^spent=0\.01; left=0\.09; resets=\d+$/);
  assert.equal(modest.headers.get("key-budget"), null);
  await assertBooksBalance();
});

test("a failed search returns its amount, and a replay does not count", async () => {
  const { key = "", id } = await createKey({ amount: "0.02", period: "month" });
  await upstream.behave("status_503");
  for (let time = 0; time < 3; time += 1)
    assert.match((await searchFor(key, "ada")).headers.get("end-user-budget") ?? "", /^spent=0\.00; left=0\.02/);
  await upstream.behave("ok");
  const idempotent = { "idempotency-key": "6f1e" };
  for (const spent of ["0.01", "0.01", "0.01"]) {
    const reply = await searchFor(key, "ada", idempotent);
    assert.match(reply.headers.get("end-user-budget") ?? "", new RegExp(`^spent=${spent}; `));
  }
  assert.equal((await searchFor(key, "ada")).status, 200);
  assert.equal((await searchFor(key, "ada")).body.code, "end_user_budget_spent");
  assert.equal((await searchFor(key, "ada", idempotent)).headers.get("idempotent-replayed"), "true");

  // A rotated key shares the limit. The period can be changed, which starts a new count.
  const rotated = await server.manage(wallet.management, "POST", `/v1/keys/${id}/rotate`, { grace_seconds: 60 });
  assert.deepEqual(rotated.body.end_user_limit, { amount: "0.02", period: "month" });
  assert.equal((await searchFor(rotated.body.key, "ada")).body.code, "end_user_budget_spent");
  await assertBooksBalance();
});

test("a key with a limit refuses searches without Search-For until the limit is removed", async () => {
  const { key = "", id } = await createKey({ amount: "0.01", period: "day" });
  assertProblem(await server.search(key, question), "end_user_required");
  assert.equal((await searchFor(key, "ada")).status, 200);
  const change = async (changes: object) =>
    (await server.manage(wallet.management, "PATCH", `/v1/keys/${id}`, changes)).body;
  const { budget, end_user_limit } = await change({ budget: { total: "1.00" } });
  assert.deepEqual([budget.total.limit, budget.total.spent], ["1.00", "0.00"]);
  assert.deepEqual(end_user_limit, { amount: "0.01", period: "day" });
  assert.equal((await searchFor(key, "ada")).body.code, "end_user_budget_spent");
  assert.equal((await change({ end_user_limit: { amount: "0.02", period: "day" } })).budget.total.limit, "1.00");
  assert.equal((await searchFor(key, "ada")).status, 200, "a raised limit applies to the next search");
  assert.deepEqual((await change({ budget: null })).budget, null);
  assert.equal((await searchFor(key, "ada")).body.code, "end_user_budget_spent");
  assert.equal((await change({ end_user_limit: null })).end_user_limit, null);
  assert.equal((await server.search(key, question)).status, 200);
  for (const invalid of [{ amount: "1" }, { amount: "1", period: "year" }, { amount: "-1", period: "day" }, "1.00"])
    assert.equal(
      (await server.manage(wallet.management, "PATCH", `/v1/keys/${id}`, { end_user_limit: invalid })).status,
      400,
    );
  const onManagement = { mode: "mgmt", name: "m", end_user_limit: { amount: "1.00", period: "day" } };
  const { errors } = (await server.manage(wallet.management, "POST", "/v1/keys", onManagement)).body;
  assert.equal(errors[0].pointer, "#/end_user_limit");
});

test("test keys spend play money against the limit, apart from live keys", async () => {
  const { key = "" } = await createKey({ amount: "0.01", period: "day" }, "test");
  assert.equal((await searchFor(key, "ada")).status, 200);
  assert.equal((await searchFor(key, "ada")).body.code, "end_user_budget_spent");
  assert.equal((await searchFor(wallet.test, "ada")).status, 200);
  const rehearsed = await server.search(wallet.test, { query: "test:end_user_budget_spent" });
  assert.equal(assertProblem(rehearsed, "end_user_budget_spent")["limit"], "0.10");
});

test("test keys of a wallet name a limited number of end users per day, and live keys any number", async (t) => {
  const limited = await startServer(replaceConstants({ testEndUsersPerDay: 2 }), t);
  const owner = await createWallet("1.00");
  const { key = "" } = await createKey(null, "test", owner);
  const search = (by: string, id: string): Promise<Reply> => limited.search(by, question, { "search-for": id });
  for (const id of ["ada", "bob", "ada"]) assert.equal((await search(owner.test, id)).status, 200);
  const rejected = await search(key, "eve");
  const { exceeded } = assertProblem(rejected, "rate_limited");
  const { limit, max, window_seconds: seconds } = exceeded as Record<string, unknown>;
  assert.deepEqual([limit, max, seconds], ["wallet_test_end_users", 2, 86_400]);
  assert.equal((await search(key, "bob")).status, 200);
  for (const id of ["ada", "bob", "eve"]) assert.equal((await search(owner.live, id)).status, 200);
  assert.deepEqual((await usage("group=end_user", owner.management)).toSorted(), [
    "live 1 0.01",
    "live 1 0.01",
    "live 1 0.01",
    "test 2 0.00",
    "test 2 0.00",
  ]);
});

test("windows that have ended and old usage are deleted", async () => {
  await db.owner.query("update pb.budget_windows set resets_at = resets_at - interval '40 days'");
  await db.owner.query("update pb.budgets set archived_at = archived_at - interval '2 hours'");
  const { key = "" } = await createKey({ amount: "0.01", period: "day" });
  assert.equal((await searchFor(key, "ada")).status, 200);
  await db.owner.query(
    "insert into pb.usage_end_users select wallet_id, day - 91, mode, end_user, 1, 0 from pb.usage_end_users",
  );
  const left = async (table: string) => (await db.owner.query(`select from pb.${table}`)).rowCount;
  const usageRows = (await left("usage_end_users")) ?? 0;
  const windows = (await left("budget_windows")) ?? 0;
  assert.equal(await deleteEndedWindows(db.worker, 1_000), windows - 1);
  assert.equal(await left("budget_windows"), 1);
  assert.equal(await left("budgets where archived_at is not null"), 0);
  assert.equal(await deleteOldEndUsers(db.worker, 1_000), usageRows / 2);
  assert.equal(await left("usage_end_users"), usageRows / 2);
});
