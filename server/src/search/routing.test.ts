import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type {
  AskOptions,
  FailureReason,
  Hit,
  Provider,
  UpstreamAnswer,
  UpstreamSearch,
} from "../providers/provider.ts";
import { createRouter } from "./routing.ts";

// Upstreams played by functions: who is asked, in which order and for how long. Real ones are asked in test/stories.

type Play = Hit[] | FailureReason | ((options: AskOptions) => Promise<Hit[] | FailureReason>);

const hit: Hit = { title: "A title", url: "https://example.org/", snippet: "" };
const { signal } = new AbortController();

function route(plays: Record<string, Play>, capabilities: Record<string, Partial<Provider>> = {}) {
  const asked: string[] = [];
  const given: { search: UpstreamSearch; options: AskOptions }[] = [];
  const spent: bigint[] = [];
  const router = createRouter({
    providers: Object.keys(plays).map((name) => provider(name, capabilities[name])),
    async callProvider({ name }, search, options): Promise<UpstreamAnswer> {
      asked.push(name);
      given.push({ search, options });
      const play = plays[name];
      const result = typeof play === "function" ? await play(options) : play;
      if (Array.isArray(result)) return { ok: true, provider: name, hits: result, tookMs: 1 };
      return { ok: false, provider: name, reason: result ?? "status", tookMs: 1 };
    },
    onCall: (_answer, cost) => spent.push(cost),
  });
  const ask = (n = 10, query = "cats", deadlineMs = 1_000) => router.ask({ query, n }, { signal, deadlineMs });
  return { router, ask, asked, given, spent, plays };
}

function provider(name: string, capabilities: Partial<Provider> = {}): Provider {
  return {
    name,
    documentation: "https://example.org/docs",
    longestQuery: { characters: 2_048 },
    resultsPerPage: 20,
    mostPages: 1,
    costMicros: () => 5_000n,
    request: () => assert.fail("the caller asks"),
    response: () => assert.fail("the caller reads"),
    ...capabilities,
  };
}

test("the first upstream's answer is the answer, and nobody else is asked", async () => {
  const { ask, asked } = route({ a: [hit], b: [hit] });
  const { answer, asked: count } = await ask();
  assert.deepEqual([answer?.provider, count, asked], ["a", 1, ["a"]]);
});

test("a failure is answered by the next upstream, whatever the failure", async () => {
  for (const reason of [
    "status",
    "credential",
    "account_empty",
    "throttled",
    "timeout",
    "unreachable",
    "invalid_response",
  ] as const) {
    const { answer, asked } = await route({ a: reason, b: [hit] }).ask();
    assert.deepEqual([answer?.ok, answer?.provider, asked], [true, "b", 2], reason);
  }
});

test("when all fail, the first failure is told", async () => {
  const { answer, asked } = await route({ a: "throttled", b: "unreachable", c: "status" }).ask();
  assert.ok(answer && !answer.ok);
  assert.deepEqual([answer.provider, answer.reason, asked], ["a", "throttled", 3]);
});

test("nobody is asked on behalf of a caller who left", async () => {
  const { ask, asked } = route({ a: "aborted", b: [hit] });
  const { answer } = await ask();
  assert.equal(answer?.ok, false);
  assert.deepEqual(asked, ["a"]);
});

test("an upstream that cannot carry the query is passed over", async () => {
  const { ask, router } = route({ a: [hit], b: [hit] }, { a: { longestQuery: { characters: 400, words: 3 } } });
  assert.equal((await ask(10, "one two three")).answer?.provider, "a");
  assert.equal((await ask(10, "one two three four")).answer?.provider, "b");
  assert.equal((await ask(10, "x".repeat(401))).answer?.provider, "b");
  assert.equal((await ask(10, "\u{1F600}".repeat(400))).answer?.provider, "a");
  assert.deepEqual(router.queryLimits, [{ characters: 400, words: 3 }, { characters: 2_048 }]);
});

test("all share one deadline: who has others behind it gets half of what is left, the last one the rest", async () => {
  const slow = (options: AskOptions) => wait(options.deadlineMs, "timeout" as const);
  const { ask, given } = route({ a: slow, b: slow, c: [hit] });
  await ask(10, "cats", 400);
  const [a = 0, b = 0, c = 0] = given.map(({ options }) => options.deadlineMs);
  // Timers may fire a moment early.
  assert.ok(a > 190 && a <= 200, `a ${a}`);
  assert.ok(b > 0 && b <= 101, `b ${b}`);
  assert.ok(c >= 0 && c <= 102, `c ${c}`);
});

test("when the time is used up nobody else is asked", async () => {
  const late = () => wait(60, "timeout" as const);
  const { ask, asked } = route({ a: late, b: [hit] });
  const { answer } = await ask(10, "cats", 50);
  assert.equal(answer?.ok, false);
  assert.deepEqual(asked, ["a"]);
});

test("an upstream that failed is asked last, and still asked", async () => {
  const { ask, asked, plays } = route({ a: "credential", b: [hit] });
  await ask();
  await ask();
  assert.deepEqual(asked, ["a", "b", "b"]);
  plays["b"] = "unreachable";
  plays["a"] = [hit];
  const { answer } = await ask();
  assert.equal(answer?.provider, "a");
  assert.deepEqual(asked.slice(3), ["b", "a"]);
});

test("one upstream alone is asked whatever happened before", async () => {
  const { ask, asked, plays } = route({ a: "account_empty" });
  for (let count = 0; count < 5; count += 1) assert.equal((await ask()).answer?.ok, false);
  plays["a"] = [hit];
  assert.equal((await ask()).answer?.ok, true);
  assert.equal(asked.length, 6);
});

test("one that would lose money is asked after the others, and where there are none it is asked", async () => {
  const dear = { costMicros: (n: number) => (n > 10 ? 17_000n : 7_000n) };
  assert.equal((await route({ a: [hit], b: [hit] }, { a: dear }).ask(20)).answer?.provider, "b");
  assert.equal((await route({ a: [hit], b: [hit] }, { a: dear }).ask(10)).answer?.provider, "a");
  assert.equal((await route({ a: [hit] }, { a: dear }).ask(20)).answer?.provider, "a");
});

test("twenty are asked for where that costs nothing more", async () => {
  const wanted = async (n: number, capability: Partial<Provider>) => {
    const { ask, given } = route({ a: [hit] }, { a: capability });
    await ask(n);
    return given[0]?.search.n;
  };
  assert.equal(await wanted(5, {}), 20);
  assert.equal(await wanted(5, { resultsPerPage: 10 }), 10);
  assert.equal(await wanted(20, { resultsPerPage: 10 }), 20);
  assert.equal(await wanted(3, { resultsPerPage: 100, costMicros: (n) => (n > 10 ? 8_000n : 7_000n) }), 10);
  assert.equal(await wanted(12, { costMicros: (n) => BigInt(n) }), 12);
});

test("an empty answer that needs proof is believed when the next upstream found nothing either", async () => {
  const liar = { emptyNeedsProof: true };
  const summary = async (plays: Record<string, Play>, capabilities = {}) => {
    const { answer, asked } = await route(plays, { a: liar, ...capabilities }).ask();
    return [answer?.provider, answer?.ok === true ? answer.hits.length : "failed", asked];
  };
  assert.deepEqual(await summary({ a: [], b: [hit] }), ["b", 1, 2]);
  assert.deepEqual(await summary({ a: [], b: [], c: [hit] }), ["b", 0, 2]);
  assert.deepEqual(await summary({ a: [], b: [], c: [hit] }, { b: liar }), ["b", 0, 2]);
  assert.deepEqual(await summary({ a: [], b: "timeout", c: [hit] }), ["c", 1, 3]);
  // Nobody left to ask: it was a 2xx, and the specification says what that means.
  assert.deepEqual(await summary({ a: [], b: "timeout" }), ["a", 0, 2]);
  assert.deepEqual(await summary({ a: [] }), ["a", 0, 1]);
  // One that does not lie is believed at once.
  assert.deepEqual(await summary({ b: [], a: [hit] }), ["b", 0, 1]);
});

test("the operator sees each upstream: state, speed, money and the last failure", async () => {
  const { ask, router, spent, plays } = route({ a: "account_empty", b: [hit] }, { b: { costMicros: () => 4_000n } });
  await ask();
  await ask();
  router.noteCharge("b", 10_000n);
  const [a, b] = router.report();
  assert.equal(a?.circuit.state, "open");
  assert.deepEqual([a?.last_failure?.reason, a?.recent.calls, a?.recent.success_rate], ["account_empty", 1, 0]);
  assert.deepEqual(b?.circuit, { state: "closed", until: null });
  assert.deepEqual(b?.money, { searches: 2, price: "0.01", revenue: "0.01", cost: "0.008", margin: "0.002" });
  assert.deepEqual([b?.recent.calls, b?.recent.p50_ms, b?.last_failure], [2, 1, null]);
  assert.deepEqual(spent, [0n, 4_000n, 4_000n]);
  plays["b"] = "aborted";
  await ask();
  assert.equal(router.report()[1]?.recent.calls, 2);
});
