import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { NoAnswer } from "../http/no-answer.ts";
import type { Principal } from "../keys/keys.ts";
import { Problem } from "../problems.ts";
import type { HoldOutcome } from "../wallet/wallet.ts";
import { makeClaim } from "./idempotency.ts";
import { type SearchParts, type SearchRequest, search } from "./search.ts";
import { startSteps } from "./steps.ts";

// The story with every other room replaced by a note of who entered it. What the rooms do is tested elsewhere; here it
// is the order of the steps, and that what was held is given back.

const caller: Principal = {
  keyId: "key",
  walletId: "wallet",
  mode: "live",
  scopes: ["search"],
  searchesPerSecond: 1,
  searchesInFlight: 1,
};
const secret = createSecretKey(Buffer.alloc(32, 7));
const hit = { title: "A title", url: "https://example.org/", snippet: "Some text" };
const wholeStory = [
  "authenticate",
  "enterLimits",
  "tell",
  "readBody",
  "hold",
  "findHits",
  "rank",
  "tell",
  "capture",
  "leave",
];

/** A search that works, each step noted, and a way to make one of them go wrong. */
function tellStory(
  replace: Partial<SearchParts> = {},
  headers: Record<string, string> = {},
  body = '{"query":"cats"}',
) {
  const notes: string[] = [];
  const noted = <Part extends keyof SearchParts>(name: Part, usual: SearchParts[Part]): SearchParts[Part] => {
    const part = (replace[name] ?? usual) as (...given: unknown[]) => unknown;
    return ((...given: unknown[]) => {
      notes.push(name);
      return part(...given);
    }) as SearchParts[Part];
  };
  const parts: SearchParts = {
    authenticate: noted("authenticate", async () => caller),
    enterLimits: noted("enterLimits", async () => ({
      rateLimitPolicy: "policy",
      rateLimit: "limit",
      leave: () => void notes.push("leave"),
    })),
    queryLimits: () => [{ characters: 100 }],
    findHits: noted("findHits", async () => ({ hits: [hit], provider: "searxng", asked: 1 })),
    rank: noted("rank", (hits) => ({
      results: hits.map((each) => ({ ...each, source: "example.org" })),
      lens: "base@1",
      explain: () => "1;from=1",
    })),
    hold: noted("hold", async () => ({ outcome: "held", balance: 50_000n })),
    capture: noted("capture", async () => ({ state: "captured", balance: 40_000n })),
    release: noted("release", async () => undefined),
    noteCharge: () => undefined,
    noteUnheld: replace.noteUnheld ?? (() => undefined),
    secret,
    topUpUrl: "https://pay.test/",
  };
  const request: SearchRequest = {
    searchId: "search",
    rawHeaders: [],
    headers,
    ip: "127.0.0.1",
    steps: startSteps(),
    signal: new AbortController().signal,
    tell: () => void notes.push("tell"),
    noteCaller: () => undefined,
    async readBody() {
      notes.push("readBody");
      return Buffer.from(body);
    },
  };
  return { notes, answer: search(request, parts) };
}

const fail = (error: Error) => () => Promise.reject(error);

test("the steps of a paid search come in the published order, and nothing is answered before the capture", async () => {
  const { notes, answer } = tellStory();
  const { charge, balance, isReplayed, body } = await answer;
  assert.deepEqual(notes, wholeStory);
  assert.deepEqual([charge, balance, isReplayed], [10_000n, 40_000n, false]);
  assert.equal(JSON.parse(body.toString()).n, 1);
});

test("the answer waits for the capture however long it takes", async () => {
  const captured = Promise.withResolvers<{ state: "captured"; balance: bigint }>();
  const { answer, notes } = tellStory({ capture: () => captured.promise });
  let isAnswered = false;
  const told = answer.then(() => {
    isAnswered = true;
  });
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  assert.equal(notes.at(-1), "capture");
  assert.equal(isAnswered, false);
  captured.resolve({ state: "captured", balance: 0n });
  await told;
  assert.equal(isAnswered, true);
});

test("whatever fails between hold and capture releases the hold, once, before the failure is told", async () => {
  const failures: Partial<SearchParts>[] = [
    { findHits: fail(new Problem("upstream_timeout")) },
    { findHits: fail(new NoAnswer("the caller left")) },
    { findHits: fail(new TypeError("a bug of ours")) },
    {
      rank() {
        throw new RangeError("a bug of ours");
      },
    },
    // Hits that cannot be encoded.
    {
      rank: () => ({
        results: [{ toJSON: () => assert.fail("a bug of ours") } as never],
        lens: "base@1",
        explain: () => "",
      }),
    },
    { rank: () => ({ results: [], lens: "base@1", explain: () => assert.fail("a bug of ours") }) },
  ];
  for (const replace of failures) {
    const { notes, answer } = tellStory(replace, { "idempotency-key": "once", "rank-explain": "1" });
    await assert.rejects(answer);
    assert.equal(notes.filter((note) => note === "release").length, 1, notes.join(" "));
    assert.deepEqual(notes.slice(-2), ["release", "leave"]);
    assert.ok(!notes.includes("capture"));
  }
});

test("the failure that is told is the one that happened, after the release is done", async () => {
  const released = Promise.withResolvers<void>();
  const failure = new Problem("upstream_unreachable");
  const { answer } = tellStory({ findHits: fail(failure), release: () => released.promise });
  let told: unknown;
  const done = answer.catch((error: unknown) => {
    told = error;
  });
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  assert.equal(told, undefined);
  released.resolve();
  await done;
  assert.equal(told, failure);
});

test("a capture whose outcome is unknown releases nothing and gives no answer", async () => {
  const { notes, answer } = tellStory({ capture: fail(new NoAnswer("the capture's outcome is unknown")) });
  await assert.rejects(answer, NoAnswer);
  assert.deepEqual(notes, wholeStory);
});

test("a capture that came too late charges nothing and is 503, never a 200", async () => {
  for (const state of ["expired", "released", "unknown", "pending"] as const) {
    const { answer } = tellStory({ capture: async () => ({ state, balance: 0n }) });
    await assert.rejects(answer, { code: "ledger_unavailable" });
  }
});

test("before the hold nothing is held, so nothing is released; after a refused hold neither", async () => {
  const refusals: [Partial<SearchParts>, string, string?][] = [
    [{ authenticate: fail(new Problem("api_key_invalid")) }, "authenticate"],
    [{ enterLimits: fail(new Problem("rate_limited")) }, "enterLimits"],
    [{}, "readBody", "{"],
    [{ hold: fail(new Problem("ledger_unavailable")) }, "hold"],
    ...(
      [
        "insufficient_balance",
        "balance_reserved",
        "api_key_revoked",
        "idempotency_in_progress",
        "lost",
        "id_taken",
        "clock_skewed",
      ] as const
    ).map((outcome): [Partial<SearchParts>, string] => [{ hold: async () => ({ outcome, balance: 0n }) }, "hold"]),
  ];
  for (const [replace, last, body] of refusals) {
    const { notes, answer } = tellStory(replace, {}, body);
    await assert.rejects(answer, Problem);
    const steps = notes.filter((note) => note !== "tell" && note !== "leave");
    assert.deepEqual(steps, wholeStory.filter((note) => note !== "tell" && note !== "leave").slice(0, steps.length));
    assert.equal(steps.at(-1), last);
  }
});

test("for the owner's report, every known caller's request is either a hold or noted, never both", async () => {
  const claim = makeClaim(secret, caller, "once", { query: "cats", n: 10 });
  const replayed = { outcome: "replayed", balance: 0n, answer: claim.seal(Buffer.from("{}")) } as const;
  const bug = new Error("a bug of ours");
  for (const [replace, body, noted] of [
    [{ authenticate: fail(new Problem("api_key_invalid")) }, undefined, []],
    [{ enterLimits: fail(new Problem("rate_limited")) }, undefined, ["rate_limited"]],
    [{}, "{", ["malformed_json"]],
    [{ hold: async () => ({ outcome: "insufficient_balance", balance: 0n }) }, undefined, ["insufficient_balance"]],
    [{ hold: fail(bug) }, undefined, ["internal_error"]],
    [{ hold: async () => replayed }, undefined, ["replayed"]],
    [{}, undefined, []],
    [{ findHits: fail(new Problem("upstream_error")) }, undefined, []],
    [{ capture: fail(bug) }, undefined, []],
    [{ capture: async () => ({ state: "expired", balance: 0n }) }, undefined, []],
  ] as [Partial<SearchParts>, string | undefined, string[]][]) {
    const outcomes: string[] = [];
    const noteUnheld: SearchParts["noteUnheld"] = ({ keyId }, outcome) => {
      assert.equal(keyId, caller.keyId);
      outcomes.push(outcome);
    };
    await tellStory({ ...replace, noteUnheld }, { "idempotency-key": "once" }, body).answer.catch(() => undefined);
    assert.deepEqual(outcomes, noted);
  }
});

test("who was let in by the limits leaves them again, whatever happens", async () => {
  for (const [replace, body] of [
    [{}, "{"],
    [{ hold: fail(new Error("a bug of ours")) }, undefined],
    [{ findHits: fail(new Error("a bug of ours")) }, undefined],
    [{ capture: fail(new Error("a bug of ours")) }, undefined],
  ] as const) {
    const { notes, answer } = tellStory(replace, {}, body);
    await assert.rejects(answer);
    assert.equal(notes.filter((note) => note === "leave").length, 1);
    assert.equal(notes.at(-1), "leave");
  }
});

test("a replay asks no upstream, captures nothing and costs nothing", async () => {
  const body = Buffer.from('{"query":"cats","n":0,"results":[]}');
  const claim = makeClaim(secret, caller, "once", { query: "cats", n: 10 });
  const hold = async (): Promise<HoldOutcome> => ({ outcome: "replayed", balance: 3n, answer: claim.seal(body) });
  const { notes, answer } = tellStory({ hold }, { "idempotency-key": "once" });
  const given = await answer;
  assert.deepEqual(given.body, body);
  assert.deepEqual([given.charge, given.balance, given.isReplayed], [0n, 3n, true]);
  assert.deepEqual(notes, ["authenticate", "enterLimits", "tell", "readBody", "hold", "leave"]);
});

test("what is stored with the capture opens to the very bytes that are answered", async () => {
  let stored: Buffer | undefined;
  const capture: SearchParts["capture"] = async ({ answer }) => {
    stored = answer;
    return { state: "captured", balance: 0n };
  };
  const { answer } = tellStory({ capture }, { "idempotency-key": "once" });
  const { body } = await answer;
  const claim = makeClaim(secret, caller, "once", { query: "cats", n: 10 });
  assert.deepEqual(claim.open(stored ?? Buffer.alloc(0)), body);
  const { answer: unnamed } = tellStory({ capture });
  await unnamed;
  assert.equal(stored, undefined, "an answer without an Idempotency-Key must not rest anywhere");
});

test("a test key's search goes through the same steps and costs nothing", async () => {
  const { notes, answer } = tellStory({ authenticate: async () => ({ ...caller, mode: "test" }) });
  assert.equal((await answer).charge, 0n);
  assert.deepEqual(notes, wholeStory);
});
