import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  FailureReason,
  Hit,
  Provider,
  QueryOptions,
  UpstreamAnswer,
  UpstreamFailure,
} from "../providers/provider.ts";
import { createRouter } from "./routing.ts";

// Two upstreams at once, with fake ones. test/stories/fusion.test.ts has tests with real ones.

const hit: Hit = { title: "A title", url: "https://example.org/", snippet: "" };
const { signal } = new AbortController();

type Play = Hit[] | FailureReason | "stalls";

interface Options {
  costs?: Record<string, bigint>;
  unreliable?: string[];
}

function fuse(plays: Record<string, Play>, { costs = {}, unreliable = [] }: Options = {}) {
  const calls: string[] = [];
  const sent: [string, bigint][] = [];
  const answers: UpstreamAnswer[] = [];
  const router = createRouter({
    isFusing: true,
    providers: Object.keys(plays).map((name) => provider(name, costs[name] ?? 4_000n, unreliable.includes(name))),
    async callProvider({ name }, _search, options) {
      calls.push(name);
      options.onSent?.();
      const play = plays[name] ?? assert.fail(name);
      if (play === "stalls") return stall(name, options);
      if (typeof play === "string") return { ok: false, provider: name, reason: play, tookMs: 1 };
      return { ok: true, provider: name, hits: play, tookMs: 1 };
    },
    onCall: (answer) => void answers.push(answer),
  });
  const recorder = {
    recordSent: (name: string, cost: bigint) => void sent.push([name, cost]),
    recordAnswer: () => undefined,
  };
  const search = async (deadlineMs = 1_000, query = "cats") => {
    const { answer, fusedWith, queried } = await router.query(
      { query, n: 10 },
      { signal, deadlineMs, calls: recorder },
    );
    const outcome = answer?.ok ? answer.hits.length : answer?.reason;
    return [answer?.provider, outcome, fusedWith?.provider, queried];
  };
  return { router, search, calls, sent, answers, plays };
}

/** Ends as a real call does, when the router cuts it off or at its deadline. */
function stall(name: string, { cutOff, deadlineMs }: QueryOptions): Promise<UpstreamFailure> {
  return new Promise((resolve) => {
    const end = (isDeadline: boolean) => () => {
      clearTimeout(timer);
      resolve({ ok: false, provider: name, reason: "timeout", isDeadline, tookMs: 1 });
    };
    const timer = setTimeout(end(true), deadlineMs);
    cutOff?.addEventListener("abort", end(false));
  });
}

function provider(name: string, cost: bigint, emptyIsUnreliable: boolean): Provider {
  return {
    name,
    documentation: "https://example.org/docs",
    queryLimit: { characters: 100 },
    resultsPerPage: 20,
    maxPages: 1,
    costMicros: () => cost,
    emptyIsUnreliable,
    request: () => assert.fail("not called by the router"),
    response: () => assert.fail("not called by the router"),
  };
}

test("queries the first two upstreams at once and returns both answers in their order", async () => {
  const { search, calls, sent } = fuse({ a: [hit], b: [hit, hit], c: [hit] });
  assert.deepEqual(await search(), ["a", 1, "b", 2]);
  assert.deepEqual(calls, ["a", "b"]);
  assert.deepEqual(sent, [
    ["a", 4_000n],
    ["b", 4_000n],
  ]);
});

test("queries one upstream if the price does not cover both", async () => {
  const costs = { a: 5_000n, b: 5_001n };
  const { search, calls } = fuse({ a: [hit], b: [hit] }, { costs });
  assert.deepEqual(await search(), ["a", 1, undefined, 1]);
  assert.deepEqual(calls, ["a"]);
  assert.deepEqual(await fuse({ a: [hit], b: [hit] }, { costs: { a: 5_000n, b: 5_000n } }).search(), ["a", 1, "b", 2]);
  // The next one that the price covers is queried instead.
  assert.deepEqual(await fuse({ a: [hit], b: [hit], c: [hit] }, { costs }).search(), ["a", 1, "c", 2]);
  assert.deepEqual(await fuse({ a: [hit], b: [hit] }, { costs: { a: 12_000n, b: 12_000n } }).search(), [
    "a",
    1,
    undefined,
    1,
  ]);
});

test("queries one upstream if the other does not accept the query or has an open circuit", async () => {
  const { search, router, calls, plays } = fuse({ a: [hit], b: "credential" });
  await search();
  assert.equal(router.report()[1]?.circuit.state, "open", "a failure in a pair counts for the circuit");
  plays["b"] = [hit];
  assert.deepEqual(await search(), ["a", 1, undefined, 1]);
  assert.deepEqual(calls, ["a", "b", "a"]);
  assert.deepEqual(await fuse({ a: [hit], b: [hit] }).search(1_000, "x".repeat(101)), [
    undefined,
    undefined,
    undefined,
    0,
  ]);
});

test("if one fails, returns the other's answer without querying a third", async () => {
  for (const reason of ["status", "timeout", "unreachable", "throttled"] as const) {
    assert.deepEqual(await fuse({ a: reason, b: [hit], c: [hit] }).search(), ["b", 1, undefined, 2], reason);
    assert.deepEqual(await fuse({ a: [hit], b: reason, c: [hit] }).search(), ["a", 1, undefined, 2], reason);
  }
});

test("if both fail, queries the others and reports the first failure", async () => {
  assert.deepEqual(await fuse({ a: "status", b: "timeout", c: [hit] }).search(), ["c", 1, undefined, 3]);
  assert.deepEqual(await fuse({ a: "throttled", b: "status" }).search(), ["a", "throttled", undefined, 2]);
});

test("cuts off the slower one a tenth of the deadline after the other's results", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  const { search, answers } = fuse({ a: "stalls", b: [hit] });
  const searching = search(1_000);
  // The timer starts when the faster one has answered.
  await settle();
  t.mock.timers.tick(99);
  await settle();
  assert.equal(answers.length, 1, "still waiting");
  t.mock.timers.tick(1);
  await settle();
  assert.equal(answers.length, 2, "cut off");
  assert.deepEqual(await searching, ["b", 1, undefined, 2]);
  assert.deepEqual(
    answers.map((answer) => [answer.provider, answer.ok ? "ok" : answer.reason]),
    [
      ["b", "ok"],
      ["a", "timeout"],
    ],
  );
});

test("waits until the deadline for the slower one if the other has no results", async () => {
  assert.deepEqual(await fuse({ a: "stalls", b: "status" }).search(20), ["a", "timeout", undefined, 2]);
  assert.deepEqual(await fuse({ a: "stalls", b: [] }).search(20), ["b", 0, undefined, 2]);
});

test("an empty answer beside a failure is confirmed by the other upstreams, if there are any", async () => {
  assert.deepEqual(await fuse({ a: [], b: "status", c: [hit] }).search(), ["c", 1, undefined, 3]);
  assert.deepEqual(await fuse({ a: [], b: "status", c: [] }).search(), ["c", 0, undefined, 3]);
  assert.deepEqual(await fuse({ a: [], b: "status" }).search(), ["a", 0, undefined, 2]);
  // Two empty answers confirm each other; an empty one beside results is not used.
  const unreliable = ["a", "b"];
  assert.deepEqual(await fuse({ a: [], b: [], c: [hit] }, { unreliable }).search(), ["a", 0, undefined, 2]);
  assert.deepEqual(await fuse({ a: [], b: [hit] }).search(), ["b", 1, undefined, 2]);
});

test("returns the disconnection of the caller, whatever the other upstream answered", async () => {
  assert.deepEqual(await fuse({ a: [hit], b: "aborted", c: [hit] }).search(), ["b", "aborted", undefined, 2]);
});
