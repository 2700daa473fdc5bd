import assert from "node:assert/strict";
import { after, test } from "node:test";
import { upstreamVariables } from "../../src/config/config.ts";
import { adapters } from "../../src/providers/providers.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, type Reply, startTestServer } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// Several upstreams behind one search: who answers, what the caller hears of it, and what the operator sees.

const db = await createTestDatabase();
const first = await startHostileUpstream();
const second = await startFixtureUpstream("brave", "ok");
const operatorToken = "an-operator-token-of-forty-characters-ok";
const server = await startTestServer(db, {
  PENNYBLACK_SEARXNG_URL: first.url,
  PENNYBLACK_BRAVE_URL: second.url,
  PENNYBLACK_BRAVE_KEY: "brave-key-that-nobody-may-see",
  PENNYBLACK_UPSTREAMS: "searxng,brave",
  PENNYBLACK_OPERATORS: `alice:${operatorToken}`,
});
const wallet = await createTestWallet(db, "100.00");

after(async () => {
  await server.close();
  await first.close();
  await second.close();
  await db.drop();
});

/** Runs a search and gives the answer beside what it cost, in cents. */
async function search(body: unknown, headers: Record<string, string> = {}) {
  const before = Number((await server.readMoney(wallet.management)).balance);
  const reply = await server.search(wallet.live, body, headers);
  const { balance, held } = await server.readMoney(wallet.management);
  assert.equal(held, "0.00");
  assert.doesNotMatch(reply.text + JSON.stringify([...reply.headers]), /searxng|brave/i, "no provider is named");
  return { ...reply, cents: Math.round((before - Number(balance)) * 100) };
}

async function readUpstreams(token = operatorToken) {
  const response = await fetch(`${server.opsUrl}/operator/upstreams`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const body: Reply["body"] = await response.json();
  return { status: response.status, body };
}

test("an upstream that answers is the only one asked", async () => {
  const reply = await search({ query: "cats" });
  assert.deepEqual([reply.status, reply.cents, reply.headers.get("search-upstreams")], [200, 1, "1"]);
  assert.match(reply.body.results[0].url, /^https:\/\/example\.org\/page-/);
});

test("when it fails the next one answers, and the caller pays once and sees no trace of the failure", async () => {
  for (const behaviour of [
    "status_503",
    "status_401",
    "status_429",
    "reset_before_headers",
    "truncated_json",
  ] as const) {
    await first.behave(behaviour);
    const reply = await search({ query: "cats" });
    assert.deepEqual([reply.status, reply.cents], [200, 1], behaviour);
    assert.equal(reply.headers.get("proxy-status"), null);
    assert.ok(reply.body.n > 0);
  }
});

test("when all fail, the status is that of the first asked, and nothing is charged", async () => {
  second.serve("brave", "throttled");
  await first.behave("status_503");
  const reply = await search({ query: "cats" });
  // The first is known to fail, so the second is asked before it.
  assert.deepEqual([reply.status, reply.cents, reply.headers.get("search-upstreams")], [429, 0, "2"]);
  assert.equal(reply.body.upstream_status, 429);
  second.serve("brave", "ok");
});

test("an upstream that answers again is asked again, though its circuit is open, when no other can", async () => {
  second.serve("brave", "throttled");
  await first.behave("ok");
  const reply = await search({ query: "cats" });
  assert.equal(reply.status, 200);
  assert.match(reply.body.results[0].url, /^https:\/\/example\.org\/page-/);
  second.serve("brave", "ok");
  await server.search(wallet.live, { query: "cats" });
  assert.equal((await readUpstreams()).body.upstreams[0].circuit.state, "closed");
});

test("nothing found is believed when the next upstream found nothing either", async () => {
  await first.behave("empty");
  const contradicted = await search({ query: "cats" });
  assert.ok(contradicted.body.n > 0);
  assert.deepEqual([contradicted.status, contradicted.cents], [200, 1]);
  assert.equal(contradicted.headers.get("search-upstreams"), "2");
  second.serve("brave", "empty");
  const confirmed = await search({ query: "cats" });
  assert.deepEqual([confirmed.status, confirmed.body.n, confirmed.cents], [200, 0, 1]);
  assert.equal(confirmed.headers.get("search-upstreams"), "2");
  second.serve("brave", "ok");
  await first.behave("ok");
});

test("a query that the first cannot carry goes to one that can, and one that nobody carries costs nothing", async () => {
  const onlyBrave = await startTestServer(db, {
    PENNYBLACK_BRAVE_URL: second.url,
    PENNYBLACK_BRAVE_KEY: "key",
  });
  const long = "word ".repeat(60).trim();
  assert.equal((await server.search(wallet.live, { query: long })).status, 200);
  const reply = await onlyBrave.search(wallet.live, { query: long });
  assert.deepEqual([reply.status, reply.body.code], [400, "query_too_long"]);
  assert.deepEqual([reply.body.max_characters, reply.body.max_words], [400, 50]);
  const longer = await onlyBrave.search(wallet.live, { query: "x".repeat(401) });
  assert.deepEqual([longer.body.code, longer.body.max_characters], ["query_too_long", 400]);
  assert.equal(longer.body.max_words, undefined);
  await onlyBrave.close();
});

test("Prefer: wait sets the caller's deadline: past it 504, nothing charged, and the answer says that it was heeded", async () => {
  const alone = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: first.url });
  await first.behave("slow_headers");
  const began = performance.now();
  const late = await alone.search(wallet.live, { query: "cats" }, { prefer: "respond-async, wait=1" });
  assert.deepEqual([late.status, late.body.code], [504, "upstream_timeout"]);
  assert.equal(late.headers.get("preference-applied"), "wait=1");
  assert.ok(performance.now() - began < 5_000, "long before our own deadline");
  await first.behave("ok");
  for (const [prefer, applied] of [
    ["wait=2", "wait=2"],
    ['wait="3"', "wait=3"],
    ["WAIT=2; x=1", "wait=2"],
    ["wait=0", null],
    ["wait=10", null],
    ["wait=soon", null],
    ["return=minimal", null],
  ] as const) {
    const reply = await alone.search(wallet.live, { query: "cats" }, { prefer });
    assert.deepEqual([reply.status, reply.headers.get("preference-applied")], [200, applied], prefer);
  }
  assert.deepEqual(await alone.readMoney(wallet.management), await server.readMoney(wallet.management));
  await alone.close();
});

test("an operator sees every upstream, and nobody else does", async () => {
  const { status, body } = await readUpstreams();
  assert.equal(status, 200);
  const [searx, brave] = body.upstreams;
  assert.deepEqual([searx.name, brave.name], ["searxng", "brave"]);
  assert.ok(searx.recent.calls > 0 && searx.recent.p95_ms >= searx.recent.p50_ms);
  assert.match(searx.last_failure.reason, /^[a-z_]+$/);
  assert.match(brave.money.cost, /^\d+\.\d{2,6}$/);
  assert.equal(
    Number(brave.money.margin).toFixed(6),
    (Number(brave.money.revenue) - Number(brave.money.cost)).toFixed(6),
  );
  assert.doesNotMatch(JSON.stringify(body), /brave-key-that-nobody-may-see/);

  assert.equal((await readUpstreams("an-operator-token-of-forty-characters-no")).status, 401);
  assert.equal((await readUpstreams("")).status, 401);
  assert.equal((await fetch(`${server.opsUrl}/operator/upstreams`)).status, 401);
  assert.equal((await server.request("/operator/upstreams")).status, 404, "not on the public listener");
  assert.doesNotMatch(server.logged(), new RegExp(`${operatorToken}|brave-key-that-nobody-may-see`));
});

for (const adapter of adapters) {
  for (const [fixture, reason] of [
    ["bad-credential", "credential"],
    ["empty-account", "account_empty"],
  ] as const) {
    test(`${adapter.name}, ${fixture}: the next upstream answers or it is a 502, and the operator is called`, async () => {
      const failing = await startFixtureUpstream(adapter.name, fixture);
      const other = adapter.name === "brave" ? "tavily" : "brave";
      const rescue = await startFixtureUpstream(other, "ok");
      const settings = settingsFor(adapter.name, failing.url);
      const alone = await startTestServer(db, settings);
      const helped = await startTestServer(db, {
        ...settings,
        ...settingsFor(other, rescue.url),
        PENNYBLACK_UPSTREAMS: `${adapter.name},${other}`,
      });

      const failed = await alone.search(wallet.live, { query: "cats" });
      assert.deepEqual([failed.status, failed.body.code, failed.body.charged], [502, "upstream_error", false]);
      assert.match(
        await alone.readMetrics(),
        new RegExp(`pennyblack_upstream_alerts_total\\{upstream="${adapter.name}",reason="${reason}"\\} 1`),
      );
      const rescued = await helped.search(wallet.live, { query: "cats" });
      assert.deepEqual([rescued.status, rescued.headers.get("search-upstreams")], [200, "2"]);
      assert.equal((await helped.search(wallet.live, { query: "cats" })).headers.get("search-upstreams"), "1");
      assert.match(await helped.readMetrics(), /pennyblack_upstream_circuit_open\{upstream="\w+"\} 1/);

      for (const part of [alone, helped, failing, rescue]) await part.close();
    });
  }
}

function settingsFor(name: string, url: string): Record<string, string> {
  const adapter = adapters.find((each) => each.name === name) ?? assert.fail(name);
  const values = upstreamVariables(adapter).map((variable) => [variable, variable.endsWith("_URL") ? url : "key"]);
  return Object.fromEntries(values.filter(([variable]) => !variable?.endsWith("_FIELDS")));
}
