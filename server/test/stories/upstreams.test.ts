import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { upstreamVariables } from "../../src/config/config.ts";
import { adapters } from "../../src/providers/providers.ts";
import { createFixture } from "../fixture.ts";
import { closeAfter } from "../support/close-after.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { operators } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";

// Several upstreams: which one answers, the response to the caller, and the operator's view.

const second = closeAfter(await startFixtureUpstream("brave", "ok"));
const {
  upstream: first,
  server,
  startServer,
  createWallet,
} = await createFixture({
  ...replaceUrl("brave", second.url),
  PENNYBLACK_BRAVE_KEY: "secret-brave-key",
  PENNYBLACK_UPSTREAMS: "searxng,brave",
  PENNYBLACK_OPERATORS: operators,
});
const wallet = await createWallet("100.00");

/** A server with only these upstreams. */
function startServerWith(settings: Record<string, string>, t: TestContext) {
  const names = ["SEARXNG_URL", "BRAVE_KEY", "UPSTREAMS"];
  const none = Object.fromEntries(names.map((name) => [`PENNYBLACK_${name}`, ""]));
  return startServer({ ...none, ...settings }, t);
}

/** Searches are not blocked by earlier failures. */
function closeCircuits(): void {
  server.app.reload();
}

/** Runs a search and returns the reply with its price in cents. */
async function search(body: unknown, headers: Record<string, string> = {}) {
  const before = Number((await server.readMoney(wallet.management)).balance);
  const reply = await server.search(wallet.live, body, headers);
  const { balance, held } = await server.readMoney(wallet.management);
  assert.equal(held, "0.00");
  assert.doesNotMatch(
    reply.text + JSON.stringify([...reply.headers]),
    /searxng|brave/i,
    "no provider name is revealed",
  );
  return { ...reply, cents: Math.round((before - Number(balance)) * 100) };
}

test("no second upstream is called when the first answers", async () => {
  const reply = await search({ query: "cats" });
  assert.deepEqual([reply.status, reply.cents, reply.headers.get("search-upstreams")], [200, 1, "1"]);
  assert.match(reply.body.results[0].url, /^https:\/\/example\.org\/page-/);
});

test("when the first fails the next one answers, and the caller is charged once and sees no failure", async () => {
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

test("when all fail, the status of the first one called is returned without a charge", async () => {
  closeCircuits();
  second.serve("brave", "throttled");
  await first.behave("status_503");
  const reply = await search({ query: "cats" });
  assert.deepEqual([reply.status, reply.cents, reply.headers.get("search-upstreams")], [503, 0, "2"]);
  assert.equal(reply.body.upstream_status, 503);
  second.serve("brave", "ok");
});

test("an upstream that failed fast is called when no other can answer, although its circuit is open", async () => {
  closeCircuits();
  await first.behave("status_503");
  for (let count = 0; count < 3; count += 1) await search({ query: "cats" });
  assert.equal((await server.operate("upstreams")).body.upstreams[0].circuit.state, "open");
  second.serve("brave", "throttled");
  await first.behave("ok");
  const reply = await search({ query: "cats" });
  assert.equal(reply.status, 200);
  assert.match(reply.body.results[0].url, /^https:\/\/example\.org\/page-/);
  second.serve("brave", "ok");
  await server.search(wallet.live, { query: "cats" });
  assert.equal((await server.operate("upstreams")).body.upstreams[0].circuit.state, "closed");
});

test("an empty answer is confirmed by the next upstream", async () => {
  closeCircuits();
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

test("a query that the first upstream cannot take goes to the next; if none can, it returns 400", async (t) => {
  const onlyBrave = await startServerWith(settingsFor("brave", second.url), t);
  const long = "word ".repeat(60).trim();
  assert.equal((await server.search(wallet.live, { query: long })).status, 200);
  const reply = await onlyBrave.search(wallet.live, { query: long });
  assert.deepEqual([reply.status, reply.body.code], [400, "query_too_long"]);
  assert.deepEqual([reply.body.max_characters, reply.body.max_words], [400, 50]);
  const longer = await onlyBrave.search(wallet.live, { query: "x".repeat(401) });
  assert.deepEqual([longer.body.code, longer.body.max_characters], ["query_too_long", 400]);
  assert.equal(longer.body.max_words, undefined);
});

test("Prefer: wait sets the deadline, returns 504 without a charge when it passes, and is confirmed in the response", async (t) => {
  const alone = await startServerWith({ PENNYBLACK_SEARXNG_URL: first.url }, t);
  await first.behave("slow_headers");
  const late = await alone.search(wallet.live, { query: "cats" }, { prefer: "respond-async, wait=1" });
  assert.deepEqual([late.status, late.body.code], [504, "upstream_timeout"]);
  assert.equal(late.headers.get("preference-applied"), "wait=1");
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
});

test("the list of upstreams requires an operator token", async () => {
  const { status, body } = await server.operate("upstreams");
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
  assert.doesNotMatch(JSON.stringify(body), /secret-brave-key/);

  assert.equal((await server.operate("upstreams", undefined, "an-operator-token-of-forty-characters-no")).status, 401);
  assert.equal((await server.operate("upstreams", undefined, "")).status, 401);
  assert.equal((await fetch(`${server.opsUrl}/operator/upstreams`)).status, 401);
  assert.equal((await server.request("/operator/upstreams")).status, 404, "not on the public listener");
  assert.doesNotMatch(server.logged(), /an-operator-token|secret-brave-key/);
});

for (const adapter of adapters) {
  for (const [fixture, reason] of [
    ["bad-credential", "credential"],
    ["empty-account", "account_empty"],
  ] as const) {
    test(`${adapter.name}, ${fixture}: the next upstream answers, or it returns 502, and an alert is counted`, async (t) => {
      const failing = closeAfter(await startFixtureUpstream(adapter.name, fixture), t);
      const other = adapter.name === "brave" ? "tavily" : "brave";
      const rescue = closeAfter(await startFixtureUpstream(other, "ok"), t);
      const settings = settingsFor(adapter.name, failing.url);
      const alone = await startServerWith(settings, t);
      const withFallback = await startServerWith(
        { ...settings, ...settingsFor(other, rescue.url), PENNYBLACK_UPSTREAMS: `${adapter.name},${other}` },
        t,
      );

      const failed = await alone.search(wallet.live, { query: "cats" });
      assert.deepEqual([failed.status, failed.body.code, failed.body.charged], [502, "upstream_error", false]);
      assert.match(
        await alone.readMetrics(),
        new RegExp(`pennyblack_upstream_alerts_total\\{upstream="${adapter.name}",reason="${reason}"\\} 1`),
      );
      const rescued = await withFallback.search(wallet.live, { query: "cats" });
      assert.deepEqual([rescued.status, rescued.headers.get("search-upstreams")], [200, "2"]);
      assert.equal((await withFallback.search(wallet.live, { query: "cats" })).headers.get("search-upstreams"), "1");
      assert.match(await withFallback.readMetrics(), /pennyblack_upstream_circuit_open\{upstream="\w+"\} 1/);
    });
  }
}

function settingsFor(name: string, url: string): Record<string, string> {
  const adapter = adapters.find((each) => each.name === name) ?? assert.fail(name);
  const required = upstreamVariables(adapter).filter((variable) => !/_(?:FIELDS|CAP)$/.test(variable));
  const own = Object.fromEntries(required.map((variable) => [variable, variable.endsWith("_URL") ? url : "key"]));
  return adapter.defaultUrl === undefined ? own : { ...own, ...replaceUrl(name, url) };
}
