import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { ConnectionError, Pennyblack, PennyblackError, RateLimitError } from "./sdk.ts";

// When a call is sent again, and what is said when it is not. The answers are made up here, since a real server gives
// few of them on request; sdk.test.ts and killed-server.test.ts ask a real one.

type Step = Response | Error | ((signal: AbortSignal) => Promise<Response>);

// Pauses are random up to a bound; here they are as short as they may be.
beforeEach(() => mock.method(Math, "random", () => 0));

function script(steps: Step[], options: { maxRetries?: number; timeoutMs?: number } = {}) {
  const sent: { url: string; headers: Headers; redirect: string | undefined; atMs: number }[] = [];
  const fetch = (url: unknown, init: RequestInit = {}) => {
    sent.push({
      url: String(url),
      headers: new Headers(init.headers),
      redirect: init.redirect,
      atMs: performance.now(),
    });
    const step = steps[sent.length - 1] ?? steps.at(-1);
    if (step instanceof Error) return Promise.reject(step);
    return step instanceof Response
      ? Promise.resolve(step.clone())
      : (step?.(init.signal as AbortSignal) ?? Promise.reject(new Error("no step")));
  };
  const client = new Pennyblack({
    apiKey: "pb_test_key",
    baseUrl: "http://api.test/base/",
    fetch,
    ...options,
  });
  return { client, sent };
}

function problem(status: number, code: string, more: { retryable?: boolean; retryAfter?: string } = {}): Response {
  const headers = new Headers({ "content-type": "application/problem+json", "request-id": "r-1" });
  if (more.retryAfter !== undefined) headers.set("retry-after", more.retryAfter);
  const body = { code, status, detail: `Detail of ${code}.`, retryable: more.retryable ?? true, charged: false };
  return new Response(JSON.stringify(body), { status, headers });
}

const found = Response.json({ query: "q", n: 0, results: [] }, { headers: { "wallet-charge": "0.01;currency=usd" } });
const closed = new TypeError("fetch failed", { cause: Object.assign(new Error("closed"), { code: "UND_ERR_SOCKET" }) });
const refused = new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { code: "ECONNREFUSED" }) });

async function failureOf(promise: Promise<unknown>): Promise<PennyblackError> {
  const error = await promise.then(
    () => assert.fail("it succeeded"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof PennyblackError, String(error));
  return error;
}

const retried: [string, Step][] = [
  ["429", problem(429, "rate_limited")],
  ["500", problem(500, "internal_error")],
  ["503", problem(503, "overloaded")],
  ["an upstream's 503", problem(503, "upstream_error")],
  ["409 while the first attempt runs", problem(409, "idempotency_in_progress")],
  ["402 while the balance is set aside", problem(402, "balance_reserved")],
  ["a connection that closed", closed],
  ["a connection that nobody took", refused],
  ["a balancer's 502", new Response("<html>", { status: 502 })],
];

for (const [name, step] of retried) {
  test(`${name} is sent again, with the same Idempotency-Key`, async () => {
    const { client, sent } = script([step, found]);
    const { meta } = await client.search("q");
    assert.equal(sent.length, 2);
    const keys = sent.map(({ headers }) => headers.get("idempotency-key"));
    assert.match(keys[0] ?? "", /^[0-9a-f-]{36}$/);
    assert.deepEqual(keys, [meta.idempotencyKey, meta.idempotencyKey]);
    assert.equal(sent[0]?.url, "http://api.test/base/v1/search");
  });
}

test("two searches never share an Idempotency-Key", async () => {
  const { client, sent } = script([found]);
  await client.search("q");
  await client.search("q");
  assert.notEqual(sent[0]?.headers.get("idempotency-key"), sent[1]?.headers.get("idempotency-key"));
});

const final: [number, string][] = [
  [400, "invalid_request"],
  [401, "api_key_revoked"],
  [402, "insufficient_balance"],
  [403, "run_budget_spent"],
  [422, "idempotency_key_reused"],
  [451, "upstream_error"],
];

for (const [status, code] of final) {
  test(`${status} ${code} is not sent again`, async () => {
    const { client, sent } = script([problem(status, code, { retryable: false })]);
    const error = await failureOf(client.search("q"));
    assert.equal(sent.length, 1);
    assert.deepEqual(
      [error.code, error.status, error.charged, error.retryable, error.requestId, error.detail],
      [code, status, false, false, "r-1", `Detail of ${code}.`],
    );
  });
}

test("it gives up after maxRetries, and says what the last answer said", async () => {
  const { client, sent } = script([problem(503, "overloaded")], { maxRetries: 2 });
  assert.equal((await failureOf(client.search("q"))).code, "overloaded");
  assert.equal(sent.length, 3);
});

test("waiting for an attempt that still runs does not use up the retries", async () => {
  const running = problem(409, "idempotency_in_progress");
  const { client, sent } = script([closed, running, running, running, running, found], { maxRetries: 1 });
  await client.search("q");
  assert.equal(sent.length, 6);
  const never = script([running], { maxRetries: 0 });
  assert.equal((await failureOf(never.client.search("q"))).code, "idempotency_in_progress");
});

test("Retry-After is waited for, and not if that would take too long", async () => {
  const { client, sent } = script([problem(429, "rate_limited", { retryAfter: "1" }), found]);
  await client.search("q");
  const [first, second] = sent.map(({ atMs }) => atMs);
  assert.ok((second ?? 0) - (first ?? 0) >= 990, "it did not wait");

  const startedMs = performance.now();
  const long = script([problem(503, "upstream_not_configured", { retryAfter: "120" })]);
  const error = await failureOf(long.client.search("q"));
  assert.deepEqual([error.retryAfter, long.sent.length], [120, 1]);
  assert.ok(performance.now() - startedMs < 500);
});

test("pauses grow, and are random below their bound", async (context) => {
  const bounds: number[] = [];
  context.mock.method(Math, "random", () => 0.04);
  context.mock.method(globalThis, "setTimeout", (work: () => void, ms: number) => {
    if (ms < 1_000) bounds.push(ms);
    queueMicrotask(ms < 1_000 ? work : () => {});
  });
  const { client } = script([problem(503, "overloaded")], { maxRetries: 4 });
  await failureOf(client.search("q"));
  assert.deepEqual(bounds, [10, 20, 40, 80]);
});

test("a closed connection says that the charge is unknown and how to find out", async () => {
  const { client } = script([closed], { maxRetries: 1 });
  const error = await failureOf(client.search("q", { idempotencyKey: "mine" }));
  assert.ok(error instanceof ConnectionError);
  assert.deepEqual([error.code, error.charged, error.idempotencyKey], ["connection_closed", "unknown", "mine"]);
  assert.match(error.message, /Whether it was charged is not known\. Search again with idempotencyKey "mine"/);
  assert.equal((error.cause as Error).message, "fetch failed");
});

test("a refusal after a closed connection does not claim that nothing was charged", async () => {
  const limited = problem(429, "rate_limited");
  const { client } = script([closed, limited], { maxRetries: 1 });
  const error = await failureOf(client.search("q"));
  assert.ok(error instanceof RateLimitError);
  assert.equal(error.charged, "unknown");
  assert.match(error.detail, /^Detail of rate_limited\. Whether it was charged is not known/);
});

test("a search that never left this machine was not charged", async () => {
  const { client } = script([refused], { maxRetries: 1 });
  const error = await failureOf(client.search("q"));
  assert.deepEqual([error.code, error.charged], ["connection_closed", false]);
  assert.match(error.detail, /No connection could be made/);
});

test("a page of someone else is neither an answer nor a refusal of ours", async () => {
  const pages = [
    new Response("<html>Log in", { status: 200 }),
    new Response("", { status: 302, headers: { location: "http://elsewhere.test/" } }),
    new Response("{}", { status: 403 }),
  ];
  for (const page of pages) {
    const { client, sent } = script([page]);
    const error = await failureOf(client.search("q"));
    assert.deepEqual([error.code, error.charged, sent.length], ["invalid_answer", "unknown", 1]);
  }
});

test("an answer cut off in the middle is fetched again", async () => {
  const cut = () => {
    const body = new ReadableStream({ pull: (stream) => stream.error(new TypeError("terminated")) });
    return Promise.resolve(new Response(body, { status: 200 }));
  };
  const { client, sent } = script([cut, found]);
  await client.search("q");
  assert.equal(sent.length, 2);
});

test("what makes a key is not repeated when nobody knows whether it was made", async () => {
  for (const step of [closed, problem(500, "internal_error"), problem(503, "ledger_unavailable")]) {
    const { client, sent } = script([step]);
    const error = await failureOf(client.keys.create({ mode: "live", name: "a" }));
    assert.deepEqual([sent.length, error.charged], [1, false]);
    if (step === closed) assert.match(error.detail, /Whether the change was made is not known/);
  }
  for (const step of [refused, problem(429, "rate_limited")]) {
    const { client, sent } = script([step, Response.json({ id: "1", key: "pb_live_x" })]);
    assert.equal((await client.keys.rotate("1", { graceSeconds: 60 })).key, "pb_live_x");
    assert.deepEqual([sent.length, sent[0]?.url], [2, "http://api.test/base/v1/keys/1/rotate"]);
  }
});

test("a top-up is repeated under the same Idempotency-Key", async () => {
  const { client, sent } = script([closed, Response.json({ id: "t-1" })]);
  await client.topUps.create({ amount: "20.00" });
  assert.equal(sent.length, 2);
  assert.equal(sent[0]?.headers.get("idempotency-key"), sent[1]?.headers.get("idempotency-key"));
});

/** As `fetch` does with a server that never answers. */
const hangs = (signal: AbortSignal) =>
  new Promise<Response>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });

test("the caller's signal ends an attempt and a pause at once, and its reason is what is thrown", async () => {
  for (const step of [hangs, problem(429, "rate_limited", { retryAfter: "30" })]) {
    const { client, sent } = script([step]);
    const reason = new Error("enough");
    const caller = new AbortController();
    setTimeout(() => caller.abort(reason), 20);
    const startedMs = performance.now();
    await assert.rejects(client.search("q", { signal: caller.signal }), reason);
    assert.equal(sent.length, 1);
    assert.ok(performance.now() - startedMs < 5_000, "it went on");
  }
});

test("time is bounded in all: a connection that hangs is given up", async () => {
  const { client } = script([problem(503, "overloaded"), hangs]);
  const startedMs = performance.now();
  const error = await failureOf(client.search("q", { timeoutMs: 50 }));
  assert.deepEqual([error.code, error.charged], ["timeout", "unknown"]);
  assert.ok(performance.now() - startedMs < 5_000, "it went on");
});

test("what cannot be sent is refused before it is sent", async () => {
  const { client, sent } = script([found]);
  await assert.rejects(client.search("q", { idempotencyKey: "ключ" }), TypeError);
  await assert.rejects(client.search("q", { run: { id: "a b", max: "0.50" } }), TypeError);
  await assert.rejects(client.search("q", { run: { id: "a", max: "half" } }), TypeError);
  await assert.rejects(client.search("q", { wait: 10 }), TypeError);
  assert.throws(() => new Pennyblack({ apiKey: "", baseUrl: "http://api.test" }), TypeError);
  assert.throws(() => new Pennyblack({ apiKey: "pb", baseUrl: "ftp://api.test" }), TypeError);
  assert.equal(sent.length, 0);
});

test("a search says what was asked of it", async () => {
  const { client, sent } = script([found]);
  const run = { id: "nightly", max: "0.50", ttl: 60 };
  await client.search("q", { run, wait: 2, explain: true, idempotencyKey: "k" });
  const headers = Object.fromEntries(sent[0]?.headers ?? []);
  assert.equal(sent[0]?.redirect, "manual", "a key would follow a redirect");
  assert.deepEqual(headers, {
    accept: "application/json",
    authorization: "Bearer pb_test_key",
    "content-type": "application/json",
    "idempotency-key": "k",
    prefer: "wait=2",
    "rank-explain": "1",
    "search-run": "nightly; max=0.50; ttl=60",
  });
});
