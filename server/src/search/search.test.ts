import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { NoResponse } from "../http/no-response.ts";
import type { Principal } from "../keys/keys.ts";
import { openDataKey, sealNewDataKey } from "../lib/data-key.ts";
import { createSecrets } from "../lib/secrets.ts";
import { Problem } from "../problems/problems.ts";
import type { HoldOutcome } from "../wallet/wallet.ts";
import { makeClaim } from "./idempotency.ts";
import { type SearchDependencies, type SearchRequest, search } from "./search.ts";
import type { SearchFacts } from "./search-facts.ts";
import { startSteps } from "./steps.ts";
import { decodeStoredAnswer, encodeStoredAnswer } from "./stored-answer.ts";

// Every dependency is a fake that records its calls: these tests check the order of the steps and the release of holds.

const caller: Principal = {
  keyId: "key",
  walletId: "wallet",
  mode: "live",
  scopes: ["search"],
  searchesPerSecond: 1,
  searchesInFlight: 1,
};
const secrets = createSecrets([Buffer.alloc(32, 7)]);
const dataKey = openDataKey(secrets, "wallet", sealNewDataKey(secrets, "wallet"));
const hit = { title: "A title", url: "https://example.org/", snippet: "Some text" };
const stepsToHold = ["authenticate", "acquireSlot", "setHeaders", "readInput", "startCalls", "hold"];
const allSteps = [...stepsToHold, "findHits", "rank", "setHeaders", "capture", "endCalls paid", "releaseSlot"];

/** Runs a search with fakes that succeed, except those in `replace`. */
function runSearch(
  replace: Partial<SearchDependencies> = {},
  headers: Record<string, string> = {},
  body = '{"query":"cats"}',
) {
  const calls: string[] = [];
  const recorded = <Name extends keyof SearchDependencies>(
    name: Name,
    fake: SearchDependencies[Name],
  ): SearchDependencies[Name] => {
    const call = (replace[name] ?? fake) as (...given: unknown[]) => unknown;
    return ((...given: unknown[]) => {
      calls.push(name);
      return call(...given);
    }) as SearchDependencies[Name];
  };
  const dependencies: SearchDependencies = {
    authenticate: recorded("authenticate", async () => caller),
    acquireSlot: recorded("acquireSlot", async () => ({
      headers: { "ratelimit-policy": "policy", ratelimit: "limit" },
      release: () => void calls.push("releaseSlot"),
    })),
    queryLimits: () => [{ characters: 100 }],
    maxOnlyDomains: () => 0,
    toStoredEndUser: async (_, id) => id,
    startCalls: recorded("startCalls", async () => ({
      recordSent: () => undefined,
      recordAnswer: () => undefined,
      end: (isPaid) => void calls.push(isPaid ? "endCalls paid" : "endCalls unpaid"),
    })),
    findHits: recorded("findHits", async () => ({ hits: [hit], provider: "searxng", queried: 1 })),
    rank: recorded("rank", (hits) => ({
      results: hits.map((each) => ({ ...each, source: "example.org" })),
      lens: "base@1",
      explain: () => "1;from=1",
    })),
    hold: recorded("hold", async () => ({ outcome: "held", balance: 50_000n })),
    capture: recorded("capture", async () => ({ state: "captured", balance: 40_000n })),
    release: recorded("release", async () => undefined),
    makeClaim: async ({ mode }, key, input) => makeClaim(dataKey, mode, key, input),
    topUpUrl: "https://pay.test/",
    publicUrl: "https://search.test",
  };
  const facts: SearchFacts = { kind: "refusal" };
  const request: SearchRequest = {
    searchId: "search",
    rawHeaders: [],
    headers,
    ip: "127.0.0.1",
    steps: startSteps(),
    signal: new AbortController().signal,
    setHeaders: () => void calls.push("setHeaders"),
    facts,
    async readInput() {
      calls.push("readInput");
      return { body: Buffer.from(body), headers };
    },
  };
  return { calls, facts, answer: search(request, dependencies) };
}

const fail = (error: Error) => () => Promise.reject(error);

test("runs the steps of a paid search in the documented order, and responds after the capture", async () => {
  const { calls, answer } = runSearch();
  const { charge, balance, isReplayed, body } = await answer;
  assert.deepEqual(calls, allSteps);
  assert.deepEqual([charge, balance, isReplayed], [10_000n, 40_000n, false]);
  assert.equal(JSON.parse(body.toString()).n, 1);
});

test("waits for the capture, no matter how long it takes", async () => {
  const captured = Promise.withResolvers<{ state: "captured"; balance: bigint }>();
  const { answer, calls } = runSearch({ capture: () => captured.promise });
  let isAnswered = false;
  const done = answer.then(() => {
    isAnswered = true;
  });
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  assert.equal(calls.at(-1), "capture");
  assert.equal(isAnswered, false);
  captured.resolve({ state: "captured", balance: 0n });
  await done;
  assert.equal(isAnswered, true);
});

test("any failure between hold and capture releases the hold once", async () => {
  const failures: Partial<SearchDependencies>[] = [
    { findHits: fail(new Problem("upstream_timeout")) },
    { findHits: fail(new NoResponse("the caller left")) },
    { findHits: fail(new TypeError("a bug")) },
    {
      rank() {
        throw new RangeError("a bug");
      },
    },
    // Results that cannot be encoded.
    {
      rank: () => ({
        results: [{ toJSON: () => assert.fail("a bug") } as never],
        lens: "base@1",
        explain: () => "",
      }),
    },
    { rank: () => ({ results: [], lens: "base@1", explain: () => assert.fail("a bug") }) },
  ];
  for (const replace of failures) {
    const { calls, answer } = runSearch(replace, { "idempotency-key": "once", "rank-explain": "1" });
    await assert.rejects(answer);
    assert.equal(calls.filter((call) => call === "release").length, 1, calls.join(" "));
    assert.deepEqual(calls.slice(-3), ["release", "endCalls unpaid", "releaseSlot"]);
    assert.ok(!calls.includes("capture"));
  }
});

test("rejects with the original failure after the release", async () => {
  const released = Promise.withResolvers<void>();
  const failure = new Problem("upstream_unreachable");
  const { answer } = runSearch({ findHits: fail(failure), release: () => released.promise });
  let rejection: unknown;
  const done = answer.catch((error: unknown) => {
    rejection = error;
  });
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  assert.equal(rejection, undefined);
  released.resolve();
  await done;
  assert.equal(rejection, failure);
});

test("does not release or respond if the outcome of the capture is unknown", async () => {
  const { calls, answer } = runSearch({ capture: fail(new NoResponse("the capture's outcome is unknown")) });
  await assert.rejects(answer, NoResponse);
  const unpaid = (step: string) => (step === "endCalls paid" ? "endCalls unpaid" : step);
  assert.deepEqual(calls, allSteps.map(unpaid));
});

test("a capture that is too late is a 503, never a 200", async () => {
  for (const state of ["expired", "released", "unknown", "pending"] as const) {
    const { calls, answer } = runSearch({ capture: async () => ({ state, balance: 0n }) });
    await assert.rejects(answer, { code: "ledger_unavailable" });
    assert.ok(calls.includes("endCalls unpaid"));
  }
});

test("does not release if the search is rejected before or by the hold", async () => {
  const rejections: [Partial<SearchDependencies>, string, string?][] = [
    [{ authenticate: fail(new Problem("api_key_invalid")) }, "authenticate"],
    [{ acquireSlot: fail(new Problem("rate_limited")) }, "acquireSlot"],
    [{}, "readInput", "{"],
    [{ startCalls: fail(new Problem("unpaid_calls_limited")) }, "startCalls"],
    [{ hold: fail(new Problem("ledger_unavailable")) }, "hold"],
  ];
  for (const outcome of ["insufficient_balance", "balance_reserved"] as const)
    rejections.push([{ hold: async () => ({ outcome, balance: 0n, owed: 0n }) }, "hold"]);
  for (const outcome of ["api_key_revoked", "idempotency_in_progress", "lost", "id_taken", "clock_skewed"] as const)
    rejections.push([{ hold: async () => ({ outcome }) }, "hold"]);
  for (const [replace, last, body] of rejections) {
    const { calls, answer } = runSearch(replace, {}, body);
    await assert.rejects(answer, Problem);
    const isStep = (call: string) => !/^(setHeaders|releaseSlot|endCalls)/.test(call);
    const steps = calls.filter(isStep);
    assert.deepEqual(steps, allSteps.filter(isStep).slice(0, steps.length));
    assert.equal(steps.at(-1), last);
  }
});

test("a request is a refusal until its price is held, and has its caller, run and end user as far as it was read", async () => {
  const claim = makeClaim(dataKey, caller.mode, "once", { query: "cats", n: 10 });
  const replayed = {
    outcome: "replayed",
    balance: 0n,
    answer: claim.seal(encodeStoredAnswer({ body: Buffer.from("{}"), keyId: "key" })),
  } as const;
  const revoked: SearchDependencies["authenticate"] = async ({ facts }) => {
    facts.caller = caller;
    throw new Problem("api_key_revoked");
  };
  const read = { caller, run: "nightly", endUser: "ada" };
  for (const [replace, body, expected] of [
    [{ authenticate: fail(new Problem("api_key_invalid")) }, undefined, { kind: "refusal" }],
    [{ authenticate: revoked }, undefined, { kind: "refusal", caller }],
    [{ acquireSlot: fail(new Problem("rate_limited")) }, undefined, { kind: "refusal", caller }],
    [{}, "{", { kind: "refusal", caller }],
    [{ startCalls: fail(new Problem("unpaid_calls_limited")) }, undefined, { ...read, kind: "refusal" }],
    [
      { hold: async () => ({ outcome: "insufficient_balance", balance: 0n, owed: 0n }) },
      undefined,
      { ...read, kind: "refusal" },
    ],
    [{ hold: async () => replayed }, undefined, { ...read, kind: "replay" }],
    [{}, undefined, { ...read, kind: "search" }],
    [{ findHits: fail(new Problem("upstream_error")) }, undefined, { ...read, kind: "search" }],
    [{ capture: async () => ({ state: "expired", balance: 0n }) }, undefined, { ...read, kind: "search" }],
  ] as [Partial<SearchDependencies>, string | undefined, SearchFacts][]) {
    const headers = { "idempotency-key": "once", "search-run": "nightly; max=1", "search-for": "ada" };
    const { facts, answer } = runSearch(replace, headers, body);
    await answer.catch(() => undefined);
    assert.deepEqual(facts, expected);
  }
});

test("always releases the slot", async () => {
  for (const [replace, body] of [
    [{}, "{"],
    [{ hold: fail(new Error("a bug")) }, undefined],
    [{ findHits: fail(new Error("a bug")) }, undefined],
    [{ capture: fail(new Error("a bug")) }, undefined],
  ] as const) {
    const { calls, answer } = runSearch(replace, {}, body);
    await assert.rejects(answer);
    assert.equal(calls.filter((call) => call === "releaseSlot").length, 1);
    assert.equal(calls.at(-1), "releaseSlot");
  }
});

test("a replay queries no upstream, captures nothing and is free", async () => {
  const body = Buffer.from('{"query":"cats","n":0,"results":[]}');
  const claim = makeClaim(dataKey, caller.mode, "once", { query: "cats", n: 10 });
  const hold = async (): Promise<HoldOutcome> => ({
    outcome: "replayed",
    balance: 3n,
    answer: claim.seal(encodeStoredAnswer({ body, keyId: "key" })),
  });
  const { calls, answer } = runSearch({ hold }, { "idempotency-key": "once" });
  const replayed = await answer;
  assert.deepEqual(replayed.body, body);
  assert.deepEqual([replayed.charge, replayed.balance, replayed.isReplayed], [0n, 3n, true]);
  assert.deepEqual(calls, [...stepsToHold, "endCalls unpaid", "releaseSlot"]);
});

test("the stored answer decrypts to the bytes of the response", async () => {
  let stored: Buffer | undefined;
  const capture: SearchDependencies["capture"] = async ({ answer }) => {
    stored = answer;
    return { state: "captured", balance: 0n };
  };
  const { answer } = runSearch({ capture }, { "idempotency-key": "once" });
  const { body } = await answer;
  const claim = makeClaim(dataKey, caller.mode, "once", { query: "cats", n: 10 });
  assert.deepEqual(decodeStoredAnswer(claim.open(stored ?? Buffer.alloc(0))), { body, keyId: caller.keyId });
  await runSearch({ capture }).answer;
  assert.equal(stored, undefined, "an answer without an Idempotency-Key must not be stored");
});

test("a search with a test key runs the same steps and is free", async () => {
  const { calls, answer } = runSearch({ authenticate: async () => ({ ...caller, mode: "test" }) });
  assert.equal((await answer).charge, 0n);
  assert.deepEqual(calls, allSteps);
});
