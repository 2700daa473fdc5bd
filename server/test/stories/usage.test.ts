import assert from "node:assert/strict";
import { before, test } from "node:test";
import { rollUpUsage } from "../../src/usage/roll-up.ts";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { createTestKey, type Reply } from "../support/services/server.ts";

// Usage: searches by mode, key, category and outcome, with their cost.

const { db, upstream, server, createWallet } = await createFixture();
const wallet = await createWallet("0.06");
const other = await createWallet("1.00");
const slowKey = await createTestKey(db, { walletId: wallet.walletId, searchesPerSecond: 1 });

const usage = (parameters: Record<string, string>, key = wallet.management): Promise<Reply> =>
  server.manage(key, "GET", `/v1/usage?${new URLSearchParams(parameters).toString()}`);

interface Line {
  start: string;
  mode: string;
  key_id?: string;
  category?: string | null;
  outcome?: string;
  searches: number;
  replays?: number;
  refusals?: number;
  charged: string;
}

async function lines(parameters: Record<string, string>, key?: string): Promise<Line[]> {
  const { status, body } = await usage(parameters, key);
  assert.equal(status, 200, JSON.stringify(body));
  return body.usage;
}

/** Without the time, which depends on the test run. The counts are searches/replays/refusals. */
function format({ mode, category, outcome, searches, replays, refusals, charged }: Line): string {
  const counts = [searches, replays, refusals].filter((count) => count !== undefined).join("/");
  return [mode, category, outcome, counts, charged].filter((part) => part !== undefined).join(" ");
}

let beforeRollUp: Line[];

before(async () => {
  await server.search(other.live, { query: "cats", category: "gov" });
  await server.search(wallet.live, { query: "cats" });
  await server.search(wallet.live, { query: "cats", category: "gov" });
  await server.search(wallet.live, { query: "cats", category: "gov" });
  for (let time = 0; time < 3; time += 1) {
    await server.search(wallet.live, { query: "cats" }, { "idempotency-key": "retry" });
  }
  await server.search(wallet.test, { query: "cats" });
  await server.search(wallet.test, { query: "test:upstream_503" });
  await server.search(wallet.live, "{");
  const concurrent = await Promise.all([1, 2, 3].map(() => server.search(slowKey.key, { query: "cats" })));
  assert.deepEqual(concurrent.map(({ status }) => String(status)).toSorted(), ["200", "429", "429"]);
  await upstream.behave("status_503");
  await server.search(wallet.live, { query: "cats", category: "gov" });
  await upstream.behave("ok");
  await server.search(wallet.live, { query: "cats" });
  for (let time = 0; time < 2; time += 1) {
    assert.equal((await server.search(wallet.live, { query: "cats" })).status, 402);
  }
  beforeRollUp = await lines({ group: "key,outcome,category", by: "hour" });
  // As if all holds had expired and the worker had run.
  await db.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp()");
  await rollUpUsage(db.owner, new AbortController().signal);
  await until("the server has written its replays and refusals", async () => {
    const [line] = await lines({});
    return line?.replays === 2 && line.refusals === 5;
  });
});

test("searches are counted as soon as they have finished, and only once after the roll-up", async () => {
  // Refusals are written by the server a moment later.
  const isHeld = ({ outcome }: Line): boolean => outcome === "ok" || outcome === "upstream_error";
  const afterRollUp = await lines({ group: "key,outcome,category", by: "hour" });
  assert.deepEqual(beforeRollUp.filter(isHeld), afterRollUp.filter(isHeld));
  assert.equal(
    beforeRollUp.filter(isHeld).reduce((sum, { searches }) => sum + searches, 0),
    9,
  );
  assert.deepEqual(
    (await lines({})).map(({ charged }) => charged),
    ["0.06", "0.00"],
  );
});

test("searches are counted by mode, and their cost equals the amount charged", async () => {
  assert.deepEqual((await lines({})).map(format), ["live 7/2/5 0.06", "test 2/0/0 0.00"]);
  assert.equal((await server.readMoney(wallet.management)).balance, "0.00");
  const [hour] = await lines({ by: "hour" });
  assert.match(hour?.start ?? "", /^\d{4}-\d\d-\d\dT\d\d:00:00Z$/);
});

test("searches are counted by outcome, category and key, and refusals cost nothing", async () => {
  assert.deepEqual((await lines({ group: "outcome,category" })).map(format), [
    "live  insufficient_balance 0/0/2 0.00",
    "live  malformed_json 0/0/1 0.00",
    "live  ok 4/0/0 0.04",
    "live  rate_limited 0/0/2 0.00",
    "live  replayed 0/2/0 0.00",
    "live gov ok 2/0/0 0.02",
    "live gov upstream_error 1/0/0 0.00",
    "test  ok 1/0/0 0.00",
    "test  upstream_error 1/0/0 0.00",
  ]);
  const byKey = await lines({ group: "key" });
  assert.equal(byKey.length, 3);
  assert.deepEqual(byKey.filter(({ key_id }) => key_id === slowKey.id).map(format), ["live 1/0/2 0.01"]);
  assert.ok(byKey.every((line) => !("category" in line) && !("outcome" in line)));
});

test("the response has its period and the time up to which searches are counted", async (t) => {
  const now = new Date();
  t.mock.timers.enable({ apis: ["Date"], now });
  const { body } = await usage({ by: "hour", from: "2026-01-31T10:59:59.9+02:00", to: "2026-01-31T11:00:00.1+02:00" });
  assert.deepEqual([body.from, body.to], ["2026-01-31T08:00:00.000Z", "2026-01-31T10:00:00.000Z"]);
  assert.deepEqual([body.by, body.currency, body.usage, body.next_cursor], ["hour", "usd", [], null]);
  assert.equal(body.as_of, now.toISOString());
});

test("pages of any size contain every row once", async () => {
  const whole = await lines({ group: "key,category,outcome", by: "hour" });
  assert.ok(whole.length >= 9);
  for (const limit of ["1", "4"]) {
    const path = `/v1/usage?group=key,category,outcome&by=hour&limit=${limit}`;
    assert.deepEqual(await server.readPages(wallet.management, path), whole);
  }
});

test("usage contains only the caller's wallet and requires a management key", async () => {
  assert.deepEqual((await lines({ group: "outcome" }, other.management)).map(format), ["live ok 1/0/0 0.01"]);
  const page = await usage({ group: "key,outcome", limit: "1" });
  const foreign = await lines({ group: "key,outcome", cursor: page.body.next_cursor }, other.management);
  assert.ok(
    foreign.every(({ key_id }) => key_id === other.liveKeyId),
    "another wallet's cursor gives no access",
  );
  assert.equal((await usage({}, wallet.live)).body.code, "insufficient_scope");
});

test("invalid parameters return 400 with their pointer", async () => {
  const tooLong = Buffer.from(JSON.stringify(["2026-01-01T00:00:00Z", "live", "x\u0000"])).toString("base64url");
  for (const [parameters, name] of [
    [{ by: "week" }, "by"],
    [{ group: "wallet" }, "group"],
    [{ group: "key,key" }, "group"],
    [{ group: "" }, "group"],
    [{ from: "yesterday" }, "from"],
    [{ from: "2026-01-01T00:00:00" }, "from"],
    [{ to: "2026-13-01" }, "to"],
    [{ to: "9999-12-31" }, "to"],
    [{ from: "2026-02-01", to: "2026-01-31" }, "from"],
    [{ from: "2026-01-01", to: "2026-03-01", by: "hour" }, "from"],
    [{ from: "2025-01-01", to: "2026-03-01" }, "from"],
    [{ limit: "2001" }, "limit"],
    [{ cursor: "nonsense" }, "cursor"],
    [{ cursor: tooLong, group: "outcome" }, "cursor"],
    [{ cursor: Buffer.from('["2026-01-01T00:00:00Z","live"]').toString("base64url"), group: "key" }, "cursor"],
    [{ groups: "key" }, "groups"],
  ] as [Record<string, string>, string][]) {
    const { status, body } = await usage(parameters);
    assert.deepEqual([status, body.errors?.[0]?.pointer], [400, `#/${name}`], JSON.stringify(parameters));
  }
});

test("the calls and revenue of upstreams are recorded", async () => {
  const read = () =>
    db.owner.query(
      "select provider, outcome, calls::int, revenue_micros::int as revenue from pb.upstream_days order by outcome",
    );
  await until("the server has written its calls", async () => (await read()).rows.length === 2);
  const { rows } = await read();
  // The other wallet's search is one of them.
  assert.deepEqual(rows, [
    { provider: "searxng", outcome: "ok", calls: 7, revenue: 70_000 },
    { provider: "searxng", outcome: "status", calls: 1, revenue: 0 },
  ]);
});
