import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { before, test } from "node:test";
import { rollUpUsage } from "../../src/usage/roll-up.ts";
import { readVersion } from "../../src/wallet/reads/read-version.ts";
import { expireHolds, holdBatch, refundBatch, releaseBatch } from "../../src/wallet/statements.ts";
import { createFixture } from "../fixture.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { until } from "../support/assertions/until.ts";
import { createTestKey, type Reply } from "../support/services/server.ts";

// The list of searches, single searches, runs and the summary.

const { db, upstream, server, createWallet } = await createFixture();
const wallet = await createWallet("1.00");
const other = await createWallet("1.00");
const second = await createTestKey(db, { walletId: wallet.walletId });

interface Search {
  request_id: string;
  outcome: string;
  key_name: string;
}

const get = (path: string, key = wallet.management): Promise<Reply> => server.manage(key, "GET", path);

async function list(parameters = ""): Promise<Search[]> {
  const { status, body } = await get(`/v1/searches?${parameters}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.searches;
}

const outcomes = (searches: Search[]): string[] => searches.map(({ outcome }) => outcome);
const sent: Record<string, string> = {};

async function send(name: string, key: string, body: object, headers: Record<string, string> = {}): Promise<void> {
  sent[name] = (await server.search(key, body, headers)).headers.get("request-id") ?? "";
}

before(async () => {
  await send("other wallet", other.live, { query: "cats" });
  await send("first", wallet.live, { query: "cats", category: "gov" }, { "search-run": "tidy; max=0.50" });
  await send("test", wallet.test, { query: "cats" });
  await send("failed test", wallet.test, { query: "test:upstream_503" });
  await upstream.behave("status_503");
  await send("failed", wallet.live, { query: "cats" });
  await upstream.behave("ok");
  await send("by the second", second.key, { query: "cats" });
  const searchId = randomUUIDv7();
  await holdBatch(db.ledger, [{ searchId, walletId: wallet.walletId, keyId: wallet.liveKeyId }]);
  sent["expired"] = searchId;
  await db.owner.query("update pb.searches set expires_at = held_at where id = $1", [searchId]);
  await expireHolds(db.owner, 10);
  await send("last", wallet.live, { query: "cats" }, { "search-run": "tidy; max=0.50" });
});

test("finished searches are listed newest first with their outcome", async () => {
  const searches = await list();
  assert.deepEqual(outcomes(searches), ["ok", "expired", "ok", "upstream_error", "upstream_error", "ok", "ok"]);
  const names = ["last", "expired", "by the second", "failed", "failed test", "test", "first"];
  assert.deepEqual(
    pluck(searches, "request_id"),
    names.map((name) => sent[name]),
  );
  const { request_id, at, ms, steps, ...first } = (await get(`/v1/searches/${sent["first"]}`)).body;
  assert.equal(request_id, sent["first"]);
  assert.ok(Math.abs(Date.parse(at) - Date.now()) < 600_000 && ms >= 0 && ms < 600_000, `${at} ${ms}`);
  const parts: number[] = [steps.auth, steps.hold, steps.upstream, steps.rank, steps.ledger];
  assert.ok(
    parts.every((part) => part >= 0) && parts.reduce((sum, part) => sum + part, 0) >= ms,
    JSON.stringify(steps),
  );
  const [entry] = first.entries;
  assert.deepEqual(first, {
    mode: "live",
    key_id: wallet.liveKeyId,
    key_name: "live",
    category: "gov",
    outcome: "ok",
    charged: "0.01",
    end_user: null,
    kind: "search",
    run: "tidy",
    transport: null,
    entries: [entry],
  });
  assert.deepEqual(
    [entry.kind, entry.amount, entry.request_id, entry.balance],
    ["search", "-0.01", request_id, "0.99"],
  );
});

test("the list can be filtered by outcome, key, mode, category, run and time", async () => {
  const times: Record<string, string> = {};
  for (const name of ["test", "failed", "last"]) times[name] = (await get(`/v1/searches/${sent[name]}`)).body.at;
  const expected: Record<string, string[]> = {
    "outcome=ok": ["last", "by the second", "test", "first"],
    "outcome=failed": ["expired", "failed", "failed test"],
    "outcome=upstream_error": ["failed", "failed test"],
    "outcome=expired": ["expired"],
    "outcome=upstream_timeout": [],
    "mode=test": ["failed test", "test"],
    "mode=live": ["last", "expired", "by the second", "failed", "first"],
    "mode=live&outcome=ok": ["last", "by the second", "first"],
    "mode=live&outcome=failed": ["expired", "failed"],
    "mode=test&outcome=failed": ["failed test"],
    [`key_id=${second.id}`]: ["by the second"],
    [`key_id=${second.id}&outcome=failed`]: [],
    [`key_id=${randomUUIDv7()}`]: [],
    "category=gov": ["first"],
    "category=none&mode=test": ["failed test", "test"],
    "run=tidy": ["last", "first"],
    "run=other": [],
    [`from=${times["failed"]}&to=${times["last"]}`]: ["expired", "by the second", "failed"],
    [`from=${times["last"]}`]: ["last"],
    [`to=${times["test"]}`]: ["first"],
    "to=2020-01-01": [],
  };
  for (const [parameters, names] of Object.entries(expected)) {
    const found = (await list(parameters)).map(({ request_id }) => request_id);
    assert.deepEqual(
      found,
      names.map((name) => sent[name]),
      parameters,
    );
  }
  for (const [parameters, name] of [
    ["outcome=Ok", "outcome"],
    ["mode=mgmt", "mode"],
    ["key_id=1", "key_id"],
    ["cursor=x", "cursor"],
    ["limit=0", "limit"],
    ["query=cats", "query"],
  ]) {
    const { status, body } = await get(`/v1/searches?${parameters}`);
    assert.deepEqual([status, body.errors[0].pointer], [400, `#/${name}`], parameters);
  }
});

test("pages of any size contain every search once", async () => {
  for (const parameters of ["", "outcome=failed&", "mode=live&"]) {
    const whole = await list(parameters);
    for (const limit of [1, 2, 3, 7]) {
      const path = `/v1/searches?${parameters}limit=${limit}`;
      assert.deepEqual(await server.readPages(wallet.management, path), whole, path);
    }
  }
});

test("`since` is the first day for which searches exist", async () => {
  const { rows } = await db.owner.query<{ day: string }>(
    "select right(min(relname), 8) as day from pg_class where relname like 'searches\\_2_______'",
  );
  const { body } = await get("/v1/searches");
  assert.equal(body.since.slice(0, 10).replaceAll("-", ""), rows[0]?.day);
});

test("a few searches among 50,000 are found with few page reads", async () => {
  const many = await createWallet("1.00");
  await db.owner.query(
    `insert into pb.searches (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, settled_at)
     select (left(pb.uuid_floor(at)::text, 14) || '7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, $2, 'live', 10000, 'captured', at, at, at
     from generate_series(1, 50000) n, lateral (select now() - n * interval '100 milliseconds' as at) m`,
    [many.walletId, many.liveKeyId],
  );
  await db.owner.query("analyze pb.searches");
  const client = await db.tenant.connect();
  try {
    await client.query("begin");
    await client.query("select set_config('pb.wallet_id', $1, true)", [many.walletId]);
    const countPages = async (mode: string): Promise<number> => {
      const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
        `explain (analyze, buffers, format json) select pb.own_search_ids('${mode}', 'ffffffff-ffff-ffff-ffff-ffffffffffff', $1, 51)`,
        ["00000000-0000-0000-0000-000000000000"],
      );
      const plan = rows[0]?.["QUERY PLAN"][0].Plan ?? {};
      return (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
    };
    for (const mode of ["live", "test"]) {
      // The first call reads the catalog entries of every partition.
      await countPages(mode);
      const pages = await countPages(mode);
      assert.ok(pages < 200, `${mode}: ${pages} pages of about a thousand`);
    }
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("a search in flight is found by its Request-Id, and that of another wallet is not", async () => {
  const { rows } = await db.owner.query<{ id: string }>(
    "select id from pb.keys where wallet_id = $1 and mode = 'test'",
    [wallet.walletId],
  );
  const searchId = randomUUIDv7();
  const testId: string = randomUUIDv7();
  await holdBatch(db.ledger, [
    { searchId, walletId: wallet.walletId, keyId: wallet.liveKeyId },
    { searchId: testId, walletId: wallet.walletId, keyId: rows[0]?.id ?? "" },
  ]);
  const { body } = await get(`/v1/searches/${searchId}`);
  assert.deepEqual(
    [body.outcome, body.charged, body.ms, body.steps, body.entries],
    ["pending", "0.00", null, null, []],
  );
  assert.ok(!(await list()).some(({ request_id }) => request_id === searchId || request_id === testId));
  await releaseBatch(db.ledger, [{ searchId: testId, walletId: wallet.walletId, outcome: "caller_left" }]);
  await db.owner.query("update pb.searches set expires_at = held_at where id = $1", [searchId]);
  await expireHolds(db.owner, 10);
  assert.equal((await get(`/v1/searches/${searchId}`)).body.outcome, "expired");

  for (const id of [sent["other wallet"], randomUUIDv7(), "nothing"]) {
    assert.equal((await get(`/v1/searches/${id}`)).status, 404, String(id));
  }
});

test("a refunded search has a refund entry beside its charge", async () => {
  const requestId = sent["first"] ?? "";
  await refundBatch(db.owner, [{ searchId: requestId, walletId: wallet.walletId, reason: "a test" }]);
  const { entries, charged } = (await get(`/v1/searches/${requestId}`)).body;
  assert.equal(charged, "0.01");
  assert.deepEqual(pluck(entries, "kind", "amount"), [
    ["refund", "0.01"],
    ["search", "-0.01"],
  ]);
});

test("runs are listed in pages with the amount spent", async () => {
  for (const run of ["b", "c"])
    await server.search(wallet.live, { query: "cats" }, { "search-run": `${run}; max=0.02` });
  const { runs } = (await get("/v1/runs")).body;
  const listed = runs.map((run: Record<string, unknown>) => [run["run"], run["spent"], run["limit"], run["searches"]]);
  assert.deepEqual(listed, [
    ["c", "0.01", "0.02", 1],
    ["b", "0.01", "0.02", 1],
    ["tidy", "0.02", "0.50", 2],
  ]);
  assert.equal(Date.parse(runs[0].expires_at) - Date.parse(runs[0].first_at), 3_600_000);
  const first = (await get("/v1/runs?limit=2")).body;
  const rest = (await get(`/v1/runs?limit=2&cursor=${first.next_cursor}`)).body;
  assert.deepEqual([[...first.runs, ...rest.runs], rest.next_cursor], [runs, null]);
  assert.deepEqual((await get(`/v1/runs?from=${new Date(Date.now() + 60_000).toISOString()}`)).body.runs, []);
  assert.equal((await get(`/v1/runs?cursor=${first.next_cursor}`, other.management)).status, 400);
  assert.deepEqual((await get("/v1/runs", other.management)).body.runs, []);
});

test("the summary counts each search once, before and after the roll-up", async () => {
  // All searches not yet rolled up, then all rolled up, then some of each.
  const before = (await get("/v1/wallet/summary")).body;
  await db.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp()");
  await rollUpUsage(db.owner, new AbortController().signal);
  const counted = (await get("/v1/wallet/summary")).body;
  assert.deepEqual({ ...counted, as_of: before.as_of }, before);
  await server.search(wallet.live, { query: "cats" });
  const later = (await get("/v1/wallet/summary")).body;
  assert.equal(later.today.searches, before.today.searches + 1);

  const live = await list("mode=live&limit=100");
  const ok = outcomes(live).filter((outcome) => outcome === "ok").length;
  const { last_24h: day, hours } = later;
  assert.deepEqual(
    [day.searches, day.succeeded, day.success_rate],
    [live.length, ok, Number((ok / live.length).toFixed(4))],
  );
  assert.equal(hours.length, 24);
  const sum = hours.reduce((total: number, hour: { searches: number }) => total + hour.searches, 0);
  assert.equal(sum, live.length);
  assert.ok(day.p50_ms >= 0 && day.p95_ms >= day.p50_ms);
  const spent = ok / 100;
  assert.deepEqual([later.today.charged, later.burn_per_day], [spent.toFixed(2), spent.toFixed(2)]);
  const { balance, held } = await server.readMoney(wallet.management);
  assert.deepEqual([later.balance, later.held, later.owed], [balance, held, "0.00"]);
  assert.equal(later.runway_days, null, "unknown in the first 24 hours");
  assert.equal(later.today.usual_searches_by_now, null);
});

test("the summary of test mode contains only test searches", async () => {
  const { body } = await get("/v1/wallet/summary?mode=test");
  assert.deepEqual(
    [body.last_24h.searches, body.last_24h.succeeded, body.burn_per_day, body.runway_days],
    [3, 1, "0.00", null],
  );
  assert.equal((await get("/v1/wallet/summary?mode=all")).status, 400);
});

async function rowOf({ headers }: Reply) {
  const { rows } = await db.owner.query("select state, category, outcome from pb.searches where id = $1", [
    headers.get("request-id"),
  ]);
  return rows[0];
}

test("the row of a search has its category and the reason of its failure", async () => {
  const plain = await server.search(wallet.live, { query: "cats" });
  assert.deepEqual(await rowOf(plain), { state: "captured", category: null, outcome: null });
  const hinted = await server.search(wallet.live, { query: "cats", category: "gov" });
  assert.deepEqual(await rowOf(hinted), { state: "captured", category: "gov", outcome: null });
  for (const [behaviour, outcome] of [
    ["status_503", "upstream_error"],
    ["reset_before_headers", "upstream_unreachable"],
    ["truncated_json", "upstream_invalid_response"],
  ] as const) {
    await upstream.behave(behaviour);
    const failed = await server.search(wallet.live, { query: "cats", category: "research" });
    assert.deepEqual(await rowOf(failed), { state: "released", category: "research", outcome });
  }
});

test("a search whose caller disconnected is recorded as caller_left", async () => {
  await upstream.behave("slow_headers");
  upstream.requests.length = 0;
  const caller = new AbortController();
  const search = server.search(wallet.live, { query: "cats", category: "business" }, {}, caller.signal);
  await until("the upstream is called", () => upstream.requests.length === 1);
  caller.abort();
  await assert.rejects(search);
  await until("the hold is released", async () => {
    const { rows } = await db.owner.query("select state, outcome from pb.searches where category = 'business'");
    return rows[0]?.state === "released" && rows[0]?.outcome === "caller_left";
  });
});

test("searches, runs and the summary require a management key", async () => {
  for (const path of ["/v1/searches", `/v1/searches/${sent["first"]}`, "/v1/runs", "/v1/wallet/summary"]) {
    assert.equal((await get(path, wallet.live)).body.code, "insufficient_scope", path);
  }
});

test("the version of a wallet changes with each of its searches, and with no other wallet's", async () => {
  const { walletId, live, test: testKey } = await createWallet("1.00");
  const version = (): Promise<string> => readVersion(db.tenant, walletId);
  await upstream.behave("ok");
  let last = await version();
  assert.notEqual(last, "");
  await server.search(other.live, { query: "cats" });
  assert.equal(await version(), last);
  const searches = [
    { key: live, query: "cats", behavior: "ok" },
    { key: live, query: "cats", behavior: "status_503" },
    { key: testKey, query: "cats", behavior: "ok" },
    { key: testKey, query: "test:upstream_503", behavior: "ok" },
  ] as const;
  for (const { key, query, behavior } of searches) {
    await upstream.behave(behavior);
    await server.search(key, { query });
    await until(`the version changes after ${query} (${behavior})`, async () => (await version()) !== last);
    last = await version();
    assert.equal(await version(), last);
  }
  await upstream.behave("ok");
});
