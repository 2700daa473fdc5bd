import assert from "node:assert/strict";
import { test } from "node:test";
import type { SourcePolicy } from "../lib/source-policy.ts";
import type {
  FailureReason,
  Hit,
  Provider,
  QueryOptions,
  Upstream,
  UpstreamAnswer,
  UpstreamFailure,
  UpstreamSearch,
} from "../providers/provider.ts";
import { metricTable } from "../telemetry/metric-table.ts";
import { createRouter } from "./routing.ts";

// With fake upstreams. test/stories has tests with real ones.

type Result = Hit[] | FailureReason | Omit<UpstreamFailure, "ok" | "provider">;
type Play = Result | ((options: QueryOptions) => Promise<Result>);

const hit: Hit = { title: "A title", url: "https://example.org/", snippet: "" };
const { signal } = new AbortController();

/** Upstreams by name, such as "a", or their keys, such as "a 1" and "a 2". */
function route(plays: Record<string, Play>, capabilities: Record<string, Partial<Provider>> = {}) {
  const calls: string[] = [];
  const requests: { search: UpstreamSearch; options: QueryOptions }[] = [];
  const spent: bigint[] = [];
  /** Costs that count against a cap. */
  const counted: bigint[] = [];
  /** Seconds until the cap of an upstream ends. */
  const capped: Record<string, number> = {};
  const router = createRouter({
    upstreams: upstreamsNamed(Object.keys(plays), capabilities),
    async callProvider({ name, documentation: key }, search, options): Promise<UpstreamAnswer> {
      calls.push(key);
      requests.push({ search, options });
      if (plays[key] !== "unreachable") options.onSent?.();
      const play = plays[key];
      const result = typeof play === "function" ? await play(options) : play;
      if (Array.isArray(result)) return { ok: true, provider: name, hits: result, tookMs: 1 };
      if (typeof result === "object") return { ...result, ok: false, provider: name };
      return { ok: false, provider: name, reason: result ?? "status", tookMs: 1 };
    },
    caps: {
      setCaps: () => undefined,
      recordCost: (_provider, cost) => void counted.push(cost),
      reachedFor: (name) => capped[name],
      report: () => undefined,
    },
    onCall: () => undefined,
  });
  const recorder = {
    recordSent: (_provider: string, cost: bigint) => void spent.push(cost),
    recordAnswer: () => undefined,
  };
  const search = (n = 10, query = "cats", deadlineMs = 1_000, startAttempt?: QueryOptions["startAttempt"]) =>
    router.query({ query, n }, { signal, deadlineMs, calls: recorder, startAttempt });
  return { router, search, calls, requests, spent, counted, plays, capped };
}

function upstreamsNamed(keys: readonly string[], capabilities: Record<string, Partial<Provider>> = {}): Upstream[] {
  const byUpstream = Map.groupBy(keys, (key) => key.split(" ")[0] ?? key);
  return [...byUpstream].map(([name, own]) => {
    const [first, ...rest] = own.map((key) => ({ label: key, provider: provider(name, key, capabilities[name]) }));
    return { name, keys: [first ?? assert.fail(), ...rest] };
  });
}

/** Its documentation names the key. */
function provider(name: string, key: string, capabilities: Partial<Provider> = {}): Provider {
  return {
    name,
    documentation: key,
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

test("an upstream gets as much of a source policy as its parameters can express", async () => {
  const domainFilter = { only: 2, block: 1 };
  const { router, requests } = route({ a: [], b: [hit] }, { a: { domainFilter, emptyIsUnreliable: true } });
  const calls = { recordSent: () => undefined, recordAnswer: () => undefined };
  const sourcesOf = async (sources: SourcePolicy) => {
    requests.length = 0;
    await router.query({ query: "cats", n: 10, sources }, { signal, deadlineMs: 1_000, calls });
    return requests.map(({ search }) => search.sources);
  };
  assert.deepEqual(await sourcesOf({ block: ["a.example", "b.example"] }), [{ block: ["a.example"] }, undefined]);
  const only = ["a.example", "b.example"];
  assert.deepEqual(await sourcesOf({ only, block: ["c.a.example"] }), [{ only, block: [] }]);
  assert.deepEqual(await sourcesOf({ only: [...only, "c.example"], block: [] }), []);
  assert.equal(router.maxOnlyDomains(), 2);
  assert.deepEqual(
    [only, [...only, "c.example"]].map((list) => router.queryLimits({ only: list, block: [] }).length),
    [1, 0],
  );
  assert.equal(route({}).router.maxOnlyDomains(), undefined);
  assert.equal(route({ a: [hit] }).router.maxOnlyDomains(), 0);
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
  const { search, calls, plays } = route({ a: "throttled", b: [hit] });
  await search();
  await search();
  assert.deepEqual(calls, ["a", "b", "b"]);
  plays["b"] = "unreachable";
  plays["a"] = [hit];
  const { answer } = await search();
  assert.equal(answer?.provider, "a");
  assert.deepEqual(calls.slice(3), ["b", "a"]);
});

test("queries the only upstream after fast failures, which can depend on the query", async () => {
  const { search, calls, plays } = route({ a: "status" });
  for (let count = 0; count < 5; count += 1) assert.equal((await search()).answer?.ok, false);
  plays["a"] = [hit];
  assert.equal((await search()).answer?.ok, true);
  assert.equal(calls.length, 6);
});

test("queries the next key of an upstream before the next upstream, if the failure concerns the key", async () => {
  for (const reason of ["credential", "account_empty", "throttled"] as const) {
    const { search, calls } = route({ "a 1": reason, "a 2": [hit], b: [hit] });
    const { answer, queried } = await search();
    assert.deepEqual([answer?.ok, answer?.provider, queried], [true, "a", 1], reason);
    await search();
    assert.deepEqual(calls, ["a 1", "a 2", "a 2"], reason);
  }
  for (const reason of ["status", "timeout", "unreachable", "invalid_response"] as const) {
    const { search, calls } = route({ "a 1": reason, "a 2": [hit], b: [hit] });
    assert.equal((await search()).answer?.provider, "b", reason);
    assert.deepEqual(calls, ["a 1", "b"], reason);
  }
});

test("an upstream is behind the others only when none of its keys can be used", async () => {
  const { search, calls, plays, router } = route({ "a 1": "account_empty", "a 2": [hit], b: [hit] });
  await search();
  const report = () =>
    router.report().map(({ circuit, keys }) => [circuit.state, ...keys.map((key) => key.circuit.state)]);
  assert.deepEqual(report(), [
    ["closed", "open", "closed"],
    ["closed", "closed"],
  ]);
  plays["a 2"] = "throttled";
  await search();
  assert.deepEqual(calls.splice(0), ["a 1", "a 2", "a 2", "b"]);
  assert.deepEqual(report()[0], ["open", "open", "open"]);
  await search();
  assert.deepEqual(calls.splice(0), ["b"]);
  plays["b"] = "unreachable";
  await search();
  assert.deepEqual(calls, ["b", "a 2"], "a throttle without Retry-After can have ended; an empty account has not");
});

test("a key without credit is called once in five minutes, no matter how many searches there are", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  const { search, calls } = route({ "a 1": "account_empty", "a 2": [hit] });
  for (let second = 0; second < 3_600; second += 1) {
    const answers = await Promise.all([search(), search(), search()]);
    assert.ok(answers.every(({ answer }) => answer?.ok));
    t.mock.timers.tick(1_000);
  }
  const toEmpty = calls.filter((key) => key === "a 1").length;
  t.diagnostic(`${toEmpty} of ${calls.length} calls in an hour`);
  // The three searches in flight when it became empty, and then one every 300 seconds.
  assert.equal(toEmpty, 3 + 11);
});

test("an upstream that has reached its cost cap is not called, and the next one answers", async () => {
  const { search, calls, capped } = route({ a: [hit], b: [hit] });
  capped["a"] = 3_600;
  assert.deepEqual([(await search()).answer?.provider, calls.splice(0)], ["b", ["b"]]);
  capped["b"] = 60;
  const attempts: string[] = [];
  const { answer, queried } = await search(
    10,
    "cats",
    1_000,
    (name) => (outcome) => void attempts.push(`${name} ${outcome}`),
  );
  const reached = { reason: "account_empty", blockedBy: "cap", retryAfterSeconds: 60, tookMs: 0 };
  assert.deepEqual([answer, queried, calls], [{ ok: false, provider: "b", ...reached }, 0, []]);
  assert.deepEqual(attempts, ["b cap_reached", "a cap_reached"]);
  delete capped["b"];
  assert.equal((await search()).answer?.provider, "b");
});

test("a cap that is reached while a search waits for another upstream applies to this search", async () => {
  const { search, calls, capped } = route({
    a: async () => {
      capped["b"] = 60;
      return "status";
    },
    b: [hit],
  });
  assert.deepEqual([(await search()).answer?.ok, calls], [false, ["a"]]);
});

test("fails immediately, without a call, when every circuit blocks, and reports the failure that ends first", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  const hanging = { reason: "timeout", tookMs: 5_000 } as const;
  const { search, calls, plays } = route({
    "a 1": "account_empty",
    "a 2": { reason: "throttled", upstreamStatus: 429, retryAfterSeconds: 60, tookMs: 1 },
    b: hanging,
  });
  for (let count = 0; count < 3; count += 1) await search();
  assert.deepEqual(calls.splice(0), ["a 1", "a 2", "b", "b", "b"]);
  const attempts: string[] = [];
  const blocked = { blockedBy: "circuit", isDeadline: false, tookMs: 0 };
  const { answer, queried } = await search(
    10,
    "cats",
    10_000,
    (name) => (outcome) => void attempts.push(`${name} ${outcome}`),
  );
  assert.deepEqual([calls, queried], [[], 0]);
  assert.deepEqual(answer, { ok: false, provider: "b", ...hanging, ...blocked, retryAfterSeconds: 2 });
  assert.deepEqual(attempts, ["b circuit_open", "a circuit_open", "a circuit_open"]);

  t.mock.timers.tick(2_000);
  plays["b"] = [hit];
  assert.equal((await search()).answer?.ok, true, "after the cool-down, one search tries");
  assert.deepEqual(calls, ["b"]);
});

test("one of two searches is the trial of an empty key, and the other does not call it", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  const { search, calls } = route({ "a 1": "account_empty", "a 2": [hit] });
  await search();
  t.mock.timers.tick(300_000);
  await Promise.all([search(), search(), search()]);
  assert.deepEqual(calls.filter((key) => key === "a 1").length, 2);
});

test("an upstream whose circuit opened while the search waited for another one is not called", async () => {
  const waiting: (() => void)[] = [];
  const fail = () =>
    new Promise<FailureReason>((resolve) => {
      waiting.push(() => resolve("status"));
    });
  const { search, calls } = route({ a: fail, b: "account_empty" });
  const [first, second] = [search(), search()];
  waiting[0]?.();
  await first;
  waiting[1]?.();
  assert.deepEqual([(await second).queried, calls], [1, ["a", "a", "b"]]);
});

test("a reload closes the circuits, because a new key may repair what opened them", async () => {
  const { search, router, calls } = route({ "a 1": "credential", "a 2": [hit] });
  await search();
  router.replaceUpstreams(upstreamsNamed(["a 1", "a 2"]));
  assert.deepEqual(
    router.report()[0]?.keys.map(({ key, calls: count }) => [key, count]),
    [
      ["a 1", 0],
      ["a 2", 0],
    ],
  );
  assert.equal(router.report()[0]?.recent.calls, 2);
  await search();
  assert.deepEqual(calls, ["a 1", "a 2", "a 1", "a 2"]);
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
  const { search, router, spent, counted, plays } = route(
    { a: "account_empty", b: [hit] },
    { b: { costMicros: () => 4_000n } },
  );
  await search();
  await search();
  router.recordCharge("b", 10_000n);
  const [a, b] = router.report();
  assert.equal(a?.circuit.state, "open");
  const { last_failure: failure, ...key } = a?.keys[0] ?? assert.fail();
  assert.deepEqual(
    [key.key, key.circuit.state, key.calls, key.failures, failure?.reason],
    ["a", "open", 1, 1, "account_empty"],
  );
  assert.deepEqual([a?.last_failure?.reason, a?.recent.calls, a?.recent.success_rate], ["account_empty", 1, 0]);
  assert.deepEqual(b?.circuit, { state: "closed", until: null });
  assert.deepEqual(b?.money, { searches: 2, price: "0.01", revenue: "0.01", cost: "0.008", margin: "0.002" });
  assert.deepEqual([b?.recent.calls, b?.recent.p50_ms, b?.last_failure], [2, 1, null]);
  assert.deepEqual(spent, [5_000n, 4_000n, 4_000n], "a failed call costs as much as a successful one");
  assert.deepEqual(counted, spent, "all of it counts against caps");
  assert.equal(a?.money.cost, "0.005");
  plays["b"] = "aborted";
  await search();
  assert.deepEqual([router.report()[1]?.recent.calls, router.report()[1]?.money.cost], [2, "0.012"]);
  plays["b"] = "unreachable";
  await search();
  assert.equal(router.report()[1]?.money.cost, "0.012", "a call that was not sent costs nothing");
});
