import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import {
  ConnectionError,
  Pennyblack,
  PennyblackError,
  type PennyblackOptions,
  RateLimitError,
  type RequestEvent,
  type ResponseEvent,
} from "./sdk.ts";
import { describeRuntime } from "./settings.ts";

// Retry behaviour and error reporting against scripted responses, most of which a real server cannot produce on demand.
// sdk.test.ts and killed-server.test.ts use a real server.

type Step = Response | Error | ((signal: AbortSignal) => Promise<Response>);

// Remove the random backoff.
beforeEach(() => mock.method(Math, "random", () => 0));

function scriptedClient(steps: Step[], options: Partial<PennyblackOptions> = {}) {
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

const success = Response.json({ query: "q", n: 0, results: [] }, { headers: { "wallet-charge": "0.01;currency=usd" } });
const closed = new TypeError("fetch failed", { cause: Object.assign(new Error("closed"), { code: "UND_ERR_SOCKET" }) });
const refused = new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { code: "ECONNREFUSED" }) });

async function rejection(promise: Promise<unknown>): Promise<PennyblackError> {
  const error = await promise.then(
    () => assert.fail("the call succeeded"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof PennyblackError, String(error));
  return error;
}

const retried: [string, Step][] = [
  ["429", problem(429, "rate_limited")],
  ["500", problem(500, "internal_error")],
  ["503", problem(503, "overloaded")],
  ["an upstream 503", problem(503, "upstream_error")],
  ["409 while the first attempt is running", problem(409, "idempotency_in_progress")],
  ["402 while the balance is reserved", problem(402, "balance_reserved")],
  ["a closed connection", closed],
  ["a refused connection", refused],
  ["a load balancer's 502", new Response("<html>", { status: 502 })],
];

for (const [name, step] of retried) {
  test(`${name} is retried with the same Idempotency-Key`, async () => {
    const { client, sent } = scriptedClient([step, success]);
    const { meta } = await client.search("q");
    assert.equal(sent.length, 2);
    const keys = sent.map(({ headers }) => headers.get("idempotency-key"));
    assert.match(keys[0] ?? "", /^[0-9a-f-]{36}$/);
    assert.deepEqual(keys, [meta.idempotencyKey, meta.idempotencyKey]);
    assert.equal(sent[0]?.url, "http://api.test/base/v1/search");
  });
}

test("two searches never share an Idempotency-Key", async () => {
  const { client, sent } = scriptedClient([success]);
  await client.search("q");
  await client.search("q");
  assert.notEqual(sent[0]?.headers.get("idempotency-key"), sent[1]?.headers.get("idempotency-key"));
});

const notRetried: [number, string][] = [
  [400, "invalid_request"],
  [401, "api_key_revoked"],
  [402, "insufficient_balance"],
  [403, "run_budget_spent"],
  [422, "idempotency_key_reused"],
  [451, "upstream_error"],
];

for (const [status, code] of notRetried) {
  test(`${status} ${code} is not retried`, async () => {
    const { client, sent } = scriptedClient([problem(status, code, { retryable: false })]);
    const error = await rejection(client.search("q"));
    assert.equal(sent.length, 1);
    assert.deepEqual(
      [error.code, error.status, error.charged, error.retryable, error.requestId, error.detail],
      [code, status, false, false, "r-1", `Detail of ${code}.`],
    );
  });
}

test("after maxRetries it throws the last error", async () => {
  const { client, sent } = scriptedClient([problem(503, "overloaded")], { maxRetries: 2 });
  assert.equal((await rejection(client.search("q"))).code, "overloaded");
  assert.equal(sent.length, 3);
});

test("waiting for an attempt in progress does not count as a retry", async () => {
  const running = problem(409, "idempotency_in_progress");
  const { client, sent } = scriptedClient([closed, running, running, running, running, success], { maxRetries: 1 });
  await client.search("q");
  assert.equal(sent.length, 6);
  const never = scriptedClient([running], { maxRetries: 0 });
  assert.equal((await rejection(never.client.search("q"))).code, "idempotency_in_progress");
});

test("Retry-After is honoured unless it exceeds the timeout", async () => {
  const { client, sent } = scriptedClient([problem(429, "rate_limited", { retryAfter: "1" }), success]);
  await client.search("q");
  const [first, second] = sent.map(({ atMs }) => atMs);
  assert.ok((second ?? 0) - (first ?? 0) >= 990, "retried before Retry-After");

  const startedMs = performance.now();
  const long = scriptedClient([problem(503, "upstream_not_configured", { retryAfter: "120" })]);
  const error = await rejection(long.client.search("q"));
  assert.deepEqual([error.retryAfter, long.sent.length], [120, 1]);
  assert.ok(performance.now() - startedMs < 5_000, "waited for Retry-After");
});

test("retries back off exponentially with full jitter", async (context) => {
  const delays: number[] = [];
  context.mock.method(Math, "random", () => 0.04);
  context.mock.method(globalThis, "setTimeout", (work: () => void, ms: number) => {
    if (ms < 1_000) delays.push(ms);
    queueMicrotask(ms < 1_000 ? work : () => {});
  });
  const { client } = scriptedClient([problem(503, "overloaded")], { maxRetries: 4 });
  await rejection(client.search("q"));
  assert.deepEqual(delays, [10, 20, 40, 80]);
});

test("after a closed connection the charge is unknown and the error explains how to find out", async () => {
  const { client } = scriptedClient([closed], { maxRetries: 1 });
  const error = await rejection(client.search("q", { idempotencyKey: "mine" }));
  assert.ok(error instanceof ConnectionError);
  assert.deepEqual([error.code, error.charged, error.idempotencyKey], ["connection_closed", "unknown", "mine"]);
  assert.match(error.message, /You may have been charged\. To find out, repeat the search with idempotencyKey "mine"/);
  assert.equal((error.cause as Error).message, "fetch failed");
});

test("an error response after a closed connection still reports the charge as unknown", async () => {
  const limited = problem(429, "rate_limited");
  const { client } = scriptedClient([closed, limited], { maxRetries: 1 });
  const error = await rejection(client.search("q"));
  assert.ok(error instanceof RateLimitError);
  assert.equal(error.charged, "unknown");
  assert.match(error.detail, /^Detail of rate_limited\. You may have been charged\./);
});

test("a search that never reached the server is reported as not charged", async () => {
  const { client } = scriptedClient([refused], { maxRetries: 1 });
  const error = await rejection(client.search("q"));
  assert.deepEqual([error.code, error.charged], ["connection_closed", false]);
  assert.match(error.detail, /^Could not connect to https?:\/\/\S+ \(ECONNREFUSED\)\. You were not charged\.$/);
});

test("a response that is not from the API is reported as invalid_answer", async () => {
  const pages = [
    new Response("<html>Log in", { status: 200 }),
    new Response("", { status: 302, headers: { location: "http://elsewhere.test/" } }),
    new Response("{}", { status: 403 }),
  ];
  for (const page of pages) {
    const { client, sent } = scriptedClient([page]);
    const error = await rejection(client.search("q"));
    assert.deepEqual([error.code, error.charged, sent.length], ["invalid_answer", "unknown", 1]);
  }
});

test("a truncated response is retried", async () => {
  const cut = () => {
    const body = new ReadableStream({ pull: (stream) => stream.error(new TypeError("terminated")) });
    return Promise.resolve(new Response(body, { status: 200 }));
  };
  const { client, sent } = scriptedClient([cut, success]);
  await client.search("q");
  assert.equal(sent.length, 2);
});

test("key creation and rotation are retried only when the server did not process them", async () => {
  for (const step of [closed, problem(500, "internal_error"), problem(503, "ledger_unavailable")]) {
    const { client, sent } = scriptedClient([step]);
    const error = await rejection(client.keys.create({ mode: "live", name: "a" }));
    assert.deepEqual([sent.length, error.charged], [1, false]);
    if (step === closed) assert.match(error.detail, /The change may have been made/);
  }
  for (const step of [refused, problem(429, "rate_limited")]) {
    const { client, sent } = scriptedClient([step, Response.json({ id: "1", key: "pb_live_x" })]);
    assert.equal((await client.keys.rotate("1", { graceSeconds: 60 })).key, "pb_live_x");
    assert.deepEqual([sent.length, sent[0]?.url], [2, "http://api.test/base/v1/keys/1/rotate"]);
  }
});

test("a top-up is retried with the same Idempotency-Key", async () => {
  const { client, sent } = scriptedClient([closed, Response.json({ id: "t-1" })]);
  await client.topUps.create({ amount: "20.00" });
  assert.equal(sent.length, 2);
  assert.equal(sent[0]?.headers.get("idempotency-key"), sent[1]?.headers.get("idempotency-key"));
});

/** Behaves like `fetch` with a server that never responds. */
const hangs = (signal: AbortSignal) =>
  new Promise<Response>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });

test("the caller's signal aborts an attempt or a backoff immediately and its reason is thrown", async () => {
  for (const step of [hangs, problem(429, "rate_limited", { retryAfter: "30" })]) {
    const { client, sent } = scriptedClient([step]);
    const reason = new Error("enough");
    const caller = new AbortController();
    setTimeout(() => caller.abort(reason), 20);
    const startedMs = performance.now();
    await assert.rejects(client.search("q", { signal: caller.signal }), reason);
    assert.equal(sent.length, 1);
    assert.ok(performance.now() - startedMs < 5_000, "the call did not stop");
  }
});

test("timeoutMs limits the whole call, including a connection that hangs", async () => {
  const { client } = scriptedClient([problem(503, "overloaded"), hangs]);
  const startedMs = performance.now();
  const error = await rejection(client.search("q", { timeoutMs: 1_000 }));
  assert.deepEqual([error.code, error.charged], ["timeout", "unknown"]);
  assert.ok(performance.now() - startedMs < 5_000, "it went on");
});

test("invalid arguments throw before anything is sent", async () => {
  const { client, sent } = scriptedClient([success]);
  await assert.rejects(client.search("q", { idempotencyKey: "ключ" }), TypeError);
  await assert.rejects(client.search("q", { run: { id: "a b", max: "0.50" } }), TypeError);
  await assert.rejects(client.search("q", { run: { id: "a", max: "half" } }), TypeError);
  await assert.rejects(client.search("q", { wait: 10 }), TypeError);
  assert.throws(() => new Pennyblack({ apiKey: "", baseUrl: "http://api.test" }), TypeError);
  assert.throws(() => new Pennyblack({ apiKey: "pb", baseUrl: "ftp://api.test" }), TypeError);
  assert.equal(sent.length, 0);
});

test("search options are sent as headers", async () => {
  const { client, sent } = scriptedClient([success]);
  const run = { id: "nightly", max: "0.50", ttl: 60 };
  await client.search("q", { run, wait: 2, explain: true, idempotencyKey: "k" });
  const headers = Object.fromEntries(sent[0]?.headers ?? []);
  assert.equal(sent[0]?.redirect, "manual", "redirects must not be followed with the key");
  assert.deepEqual(headers, {
    accept: "application/json",
    authorization: "Bearer pb_test_key",
    "content-type": "application/json",
    "idempotency-key": "k",
    prefer: "wait=2",
    "rank-explain": "1",
    "search-run": "nightly; max=0.50; ttl=60",
    "user-agent": describeRuntime(),
  });
});

test("the hooks see every attempt, but neither the key nor the query", async () => {
  const events: string[] = [];
  const hooks = {
    onRequest: (event: RequestEvent) => events.push(JSON.stringify(event)),
    onResponse: ({ durationMs, ...event }: ResponseEvent) => {
      assert.ok(durationMs >= 0);
      events.push(JSON.stringify(event));
    },
  };
  const { client } = scriptedClient([closed, problem(503, "overloaded"), success], hooks);
  await client.search("a secret query");
  const request = { method: "POST", url: "http://api.test/base/v1/search" };
  assert.deepEqual(
    events.map((event) => JSON.parse(event) as unknown),
    [
      { ...request, attempt: 1 },
      { ...request, attempt: 1, code: "connection_closed" },
      { ...request, attempt: 2 },
      { ...request, attempt: 2, status: 503, requestId: "r-1", code: "overloaded" },
      { ...request, attempt: 3 },
      { ...request, attempt: 3, status: 200 },
    ],
  );
  assert.doesNotMatch(events.join(), /pb_test_key|secret/);
});

test("an error in a hook does not lose a search that was charged", async () => {
  const fail = () => {
    throw new Error("hook failed");
  };
  const { client, sent } = scriptedClient([success], { onRequest: fail, onResponse: fail });
  assert.equal((await client.search("q")).meta.charge, "0.01");
  assert.equal(sent.length, 1);
});
