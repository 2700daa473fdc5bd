import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  FailureReason,
  Hit,
  Provider,
  QueryOptions,
  UpstreamAnswer,
  UpstreamSearch,
} from "../providers/provider.ts";
import { metricTable } from "../telemetry/metric-table.ts";
import { createRouter } from "./routing.ts";

// With fake upstreams. test/stories has tests with real ones.

type Play = Hit[] | FailureReason | ((options: QueryOptions) => Promise<Hit[] | FailureReason>);

const hit: Hit = { title: "A title", url: "https://example.org/", snippet: "" };
const { signal } = new AbortController();

function route(plays: Record<string, Play>, capabilities: Record<string, Partial<Provider>> = {}) {
  const calls: string[] = [];
  const requests: { search: UpstreamSearch; options: QueryOptions }[] = [];
  const spent: bigint[] = [];
  const router = createRouter({
    providers: Object.keys(plays).map((name) => provider(name, capabilities[name])),
    async callProvider({ name }, search, options): Promise<UpstreamAnswer> {
      calls.push(name);
      requests.push({ search, options });
      if (plays[name] !== "unreachable") options.onSent?.();
      const play = plays[name];
      const result = typeof play === "function" ? await play(options) : play;
      if (Array.isArray(result)) return { ok: true, provider: name, hits: result, tookMs: 1 };
      return { ok: false, provider: name, reason: result ?? "status", tookMs: 1 };
    },
    onCall: () => undefined,
  });
  const recorder = {
    recordSent: (_provider: string, cost: bigint) => void spent.push(cost),
    recordAnswer: () => undefined,
  };
  const search = (n = 10, query = "cats", deadlineMs = 1_000) =>
    router.query({ query, n }, { signal, deadlineMs, calls: recorder });
  return { router, search, calls, requests, spent, plays };
}

function provider(name: string, capabilities: Partial<Provider> = {}): Provider {
  return {
    name,
    documentation: "https://example.org/docs",
    queryLimit: { characters: 2_048 },
    resultsPerPage: 20,
    maxPages: 1,
    costMicros: () => 5_000n,
    request: () => assert.fail("not called by the router"),
    response: () => assert.fail("not called by the router"),
    ...capabilities,
  };
}

test("returns the first upstream's answer without querying others", async () => {
  const { search, calls } = route({ a: [hit], b: [hit] });
  const { answer, queried } = await search();
  assert.deepEqual([answer?.provider, queried, calls], ["a", 1, ["a"]]);
});

test("queries the next upstream after any failure", async () => {
  const reasons = metricTable.pennyblack_upstream_calls.labels.outcome;
  for (const reason of reasons.filter((outcome) => outcome !== "ok" && outcome !== "aborted")) {
    const { answer, queried } = await route({ a: reason, b: [hit] }).search();
    assert.deepEqual([answer?.ok, answer?.provider, queried], [true, "b", 2], reason);
  }
});

test("returns the first failure if all upstreams fail", async () => {
  const { answer, queried } = await route({ a: "throttled", b: "unreachable", c: "status" }).search();
  assert.ok(answer && !answer.ok);
  assert.deepEqual([answer.provider, answer.reason, queried], ["a", "throttled", 3]);
});

test("stops querying when the caller disconnects", async () => {
  const { search, calls } = route({ a: "aborted", b: [hit] });
  const { answer } = await search();
  assert.equal(answer?.ok, false);
  assert.deepEqual(calls, ["a"]);
});

test("skips upstreams that do not accept the query", async () => {
  const { search, router } = route({ a: [hit], b: [hit] }, { a: { queryLimit: { characters: 400, words: 3 } } });
  assert.equal((await search(10, "one two three")).answer?.provider, "a");
  assert.equal((await search(10, "one two three four")).answer?.provider, "b");
  assert.equal((await search(10, "x".repeat(401))).answer?.provider, "b");
  assert.equal((await search(10, "\u{1F600}".repeat(400))).answer?.provider, "a");
  assert.deepEqual(router.queryLimits(), [{ characters: 400, words: 3 }, { characters: 2_048 }]);
});

test("splits the deadline: each upstream gets half of the remaining time, the last one all of it", async (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const slow = ({ deadlineMs }: QueryOptions) => {
    now += deadlineMs;
    return Promise.resolve("timeout" as const);
  };
  const { search, requests } = route({ a: slow, b: slow, c: [hit] });
  await search(10, "cats", 400);
  assert.deepEqual(
    requests.map(({ options }) => options.deadlineMs),
    [200, 100, 100],
  );
});

test("queries no further upstream after the deadline", async (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const late = () => {
    now += 60;
    return Promise.resolve("timeout" as const);
  };
  const { search, calls } = route({ a: late, b: [hit] });
  const { answer } = await search(10, "cats", 50);
  assert.equal(answer?.ok, false);
  assert.deepEqual(calls, ["a"]);
});

test("queries an upstream with an open circuit last", async () => {
  const { search, calls, plays } = route({ a: "credential", b: [hit] });
  await search();
  await search();
  assert.deepEqual(calls, ["a", "b", "b"]);
  plays["b"] = "unreachable";
  plays["a"] = [hit];
  const { answer } = await search();
  assert.equal(answer?.provider, "a");
  assert.deepEqual(calls.slice(3), ["b", "a"]);
});

test("always queries the only upstream", async () => {
  const { search, calls, plays } = route({ a: "account_empty" });
  for (let count = 0; count < 5; count += 1) assert.equal((await search()).answer?.ok, false);
  plays["a"] = [hit];
  assert.equal((await search()).answer?.ok, true);
  assert.equal(calls.length, 6);
});

test("queries an upstream that costs more than the price after the others", async () => {
  const expensive = { costMicros: (n: number) => (n > 10 ? 17_000n : 7_000n) };
  assert.equal((await route({ a: [hit], b: [hit] }, { a: expensive }).search(20)).answer?.provider, "b");
  assert.equal((await route({ a: [hit], b: [hit] }, { a: expensive }).search(10)).answer?.provider, "a");
  assert.equal((await route({ a: [hit] }, { a: expensive }).search(20)).answer?.provider, "a");
});

test("requests twenty results if that costs no more", async () => {
  const requested = async (n: number, capability: Partial<Provider>) => {
    const { search, requests } = route({ a: [hit] }, { a: capability });
    await search(n);
    return requests[0]?.search.n;
  };
  assert.equal(await requested(5, {}), 20);
  assert.equal(await requested(5, { resultsPerPage: 10 }), 10);
  assert.equal(await requested(20, { resultsPerPage: 10 }), 20);
  assert.equal(await requested(3, { resultsPerPage: 100, costMicros: (n) => (n > 10 ? 8_000n : 7_000n) }), 10);
  assert.equal(await requested(12, { costMicros: (n) => BigInt(n) }), 12);
});

test("accepts an empty result from an unreliable upstream once a second one is empty too", async () => {
  const unreliable = { emptyIsUnreliable: true };
  const summary = async (plays: Record<string, Play>, capabilities = {}) => {
    const { answer, queried } = await route(plays, { a: unreliable, ...capabilities }).search();
    return [answer?.provider, answer?.ok === true ? answer.hits.length : "failed", queried];
  };
  assert.deepEqual(await summary({ a: [], b: [hit] }), ["b", 1, 2]);
  assert.deepEqual(await summary({ a: [], b: [], c: [hit] }), ["b", 0, 2]);
  assert.deepEqual(await summary({ a: [], b: [], c: [hit] }, { b: unreliable }), ["b", 0, 2]);
  assert.deepEqual(await summary({ a: [], b: "timeout", c: [hit] }), ["c", 1, 3]);
  // No upstream left: a 2xx is a successful search by specification.
  assert.deepEqual(await summary({ a: [], b: "timeout" }), ["a", 0, 2]);
  assert.deepEqual(await summary({ a: [] }), ["a", 0, 1]);
  // A reliable upstream needs no confirmation.
  assert.deepEqual(await summary({ b: [], a: [hit] }), ["b", 0, 1]);
});

test("reports state, latency, money and last failure of each upstream", async () => {
  const { search, router, spent, plays } = route({ a: "account_empty", b: [hit] }, { b: { costMicros: () => 4_000n } });
  await search();
  await search();
  router.recordCharge("b", 10_000n);
  const [a, b] = router.report();
  assert.equal(a?.circuit.state, "open");
  assert.deepEqual([a?.last_failure?.reason, a?.recent.calls, a?.recent.success_rate], ["account_empty", 1, 0]);
  assert.deepEqual(b?.circuit, { state: "closed", until: null });
  assert.deepEqual(b?.money, { searches: 2, price: "0.01", revenue: "0.01", cost: "0.008", margin: "0.002" });
  assert.deepEqual([b?.recent.calls, b?.recent.p50_ms, b?.last_failure], [2, 1, null]);
  assert.deepEqual(spent, [5_000n, 4_000n, 4_000n], "a failed call costs as much as a successful one");
  assert.equal(a?.money.cost, "0.005");
  plays["b"] = "aborted";
  await search();
  assert.deepEqual([router.report()[1]?.recent.calls, router.report()[1]?.money.cost], [2, "0.012"]);
  plays["b"] = "unreachable";
  await search();
  assert.equal(router.report()[1]?.money.cost, "0.012", "a call that was not sent costs nothing");
});
