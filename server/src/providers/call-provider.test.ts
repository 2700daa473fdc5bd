import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, beforeEach, test } from "node:test";
import {
  type BehaviourName,
  type BehaviourOptions,
  type ReceivedRequest,
  startHostileUpstream,
} from "../../test/hostile-upstream.ts";
import { searxngAt } from "../../test/searxng-at.ts";
import { createCaller } from "./call-provider.ts";
import type { FailureReason, UpstreamAnswer } from "./provider.ts";

const upstream = await startHostileUpstream();
const provider = searxngAt(upstream.url);
const caller = createCaller({ connectMs: 500, headersMs: 150, bodyMs: 150 });
const patientCaller = createCaller({ connectMs: 3000, headersMs: 3000, bodyMs: 3000 });
const nobodyLeaves = new AbortController().signal;

beforeEach(async () => {
  await upstream.behave("ok");
  upstream.requests.length = 0;
});

after(async () => {
  await caller.close();
  await patientCaller.close();
  await upstream.close();
});

function ask({ n = 10, deadlineMs = 2000, signal = nobodyLeaves } = {}): Promise<UpstreamAnswer> {
  return caller.callProvider(provider, { query: "cats", n }, { signal, deadlineMs });
}

async function askOf(name: BehaviourName, options?: BehaviourOptions): Promise<UpstreamAnswer> {
  await upstream.behave(name, options);
  return ask();
}

/** undici takes a socket back one turn of the event loop after its answer. */
function socketIsIdle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}

/** Fails unless we let go of the request well before its headers would have timed out. */
async function hangUpOf(request: ReceivedRequest | undefined): Promise<void> {
  assert.ok(request !== undefined);
  if (!request.hungUp.aborted) await once(request.hungUp, "abort", { signal: AbortSignal.timeout(2500) });
}

function assertFailed(answer: UpstreamAnswer, reason: FailureReason, upstreamStatus?: number): void {
  assert.ok(!answer.ok, "the search succeeded");
  assert.equal(answer.reason, reason);
  assert.equal(answer.upstreamStatus, upstreamStatus);
}

test("a good answer is a success with its hits in order", async () => {
  const answer = await ask();
  assert.ok(answer.ok);
  assert.equal(answer.provider, "searxng");
  assert.deepEqual(
    answer.hits.map(({ url }) => url),
    Array.from({ length: 10 }, (_, index) => `https://example.org/page-${index + 1}`),
  );
});

test("the upstream learns the search and nothing about the caller", async () => {
  await ask();
  const { headers } = upstream.requests[0] ?? assert.fail("nothing was asked");
  assert.deepEqual(Object.keys(headers).toSorted(), ["accept", "accept-encoding", "connection", "host", "user-agent"]);
  assert.equal(headers["accept-encoding"], "identity");
  assert.equal(headers["user-agent"], "pennyblack");
});

test("a search with no hits is a success, failed engines are not", async () => {
  const answer = await askOf("empty");
  assert.ok(answer.ok);
  assert.deepEqual(answer.hits, []);
  assertFailed(await askOf("engines_failed"), "invalid_response", 200);
});

test("one bad item does not spoil the others", async () => {
  const answer = await askOf("unusable_items");
  assert.deepEqual(answer.ok && answer.hits.map(({ url }) => url), ["https://example.org/page-1"]);
});

test("every error status comes through with its number", async () => {
  for (let status = 400; status <= 599; status += 1) {
    const answer = await askOf(`status_${status}`);
    assert.ok(!answer.ok);
    assert.equal(answer.upstreamStatus, status);
    assert.notEqual(answer.reason, "invalid_response");
  }
});

test("Retry-After is reported as the upstream said it", async () => {
  const answer = await askOf("status_429", { headers: { "retry-after": "3600" } });
  assertFailed(answer, "throttled", 429);
  assert.equal(answer.ok ? undefined : answer.retryAfterSeconds, 3600);
});

test("an error status stands even if its page breaks off", async () => {
  assertFailed(await askOf("reset_in_error_page"), "status", 503);
});

test("a redirect is not followed and no cookie is kept", async () => {
  const headers = { "set-cookie": "session=1" };
  assertFailed(await askOf("redirect", { headers }), "invalid_response", 302);
  assertFailed(await askOf("redirect", { headers }), "invalid_response", 302);
  assert.deepEqual(
    upstream.requests.map(({ path, headers }) => [path, headers.cookie]),
    [
      ["/search", undefined],
      ["/search", undefined],
    ],
  );
});

for (const name of ["wrong_content_type", "gzip", "truncated_json", "wrong_types", "nulls"] as const) {
  test(`a 200 that is no answer is a failure: ${name}`, async () => {
    assertFailed(await askOf(name), "invalid_response", 200);
  });
}

for (const name of ["endless_body", "fifty_megabytes"] as const) {
  test(`no more than the limit is read: ${name}`, async () => {
    const before = process.memoryUsage().arrayBuffers;
    assertFailed(await askOf(name), "invalid_response", 200);
    assert.ok(process.memoryUsage().arrayBuffers - before < 16 * 1024 * 1024);
  });
}

test("an answer of exactly the limit is read and one byte more is not", async () => {
  const exact = JSON.stringify({ results: [] });
  const headers = { "content-type": "application/json" };
  const small = createCaller({ connectMs: 500, headersMs: 150, bodyMs: 150, maxBytes: exact.length });
  const options = { signal: nobodyLeaves, deadlineMs: 2000 };

  await upstream.behave("status_200", { headers, body: exact });
  assert.equal((await small.callProvider(provider, { query: "cats", n: 10 }, options)).ok, true);
  await upstream.behave("status_200", { headers, body: `${exact} ` });
  assertFailed(await small.callProvider(provider, { query: "cats", n: 10 }, options), "invalid_response", 200);
  await small.close();
});

test("what is not HTTP is an invalid answer", async () => {
  assertFailed(await askOf("not_http"), "invalid_response");
  assertFailed(await askOf("endless_headers"), "invalid_response");
});

test("headers that do not come, and a body that stalls, are timeouts long before the deadline", async () => {
  for (const [name, status] of [
    ["slow_headers", undefined],
    ["stall_in_body", 200],
  ] as const) {
    await upstream.behave(name);
    const answer = await ask({ deadlineMs: 10_000 });
    assertFailed(answer, "timeout", status);
    assert.ok(answer.tookMs < 2500, `${name}: ${answer.tookMs} ms`);
  }
});

test("a body that drips for ever ends with the deadline", async () => {
  await upstream.behave("slow_drip", { everyMs: 10 });
  const answer = await ask({ deadlineMs: 400 });
  assertFailed(answer, "timeout", 200);
  assert.ok(answer.tookMs >= 395 && answer.tookMs < 1900, `${answer.tookMs} ms`);
});

test("the deadline, and a caller who goes, are heard while the connection is still being made", async () => {
  // A server that never answers the TLS handshake.
  const mute = createServer().listen(0, "127.0.0.1");
  await once(mute, "listening");
  const { port } = mute.address() as AddressInfo;
  const unwelcoming = searxngAt(`https://127.0.0.1:${port}`);
  const search = { query: "cats", n: 10 };

  const late = await patientCaller.callProvider(unwelcoming, search, { signal: nobodyLeaves, deadlineMs: 100 });
  assertFailed(late, "timeout");
  assert.ok(late.tookMs < 2500, `${late.tookMs} ms`);

  const unwanted = await patientCaller.callProvider(unwelcoming, search, {
    signal: AbortSignal.abort(),
    deadlineMs: 10_000,
  });
  assertFailed(unwanted, "aborted");
  assert.ok(unwanted.tookMs < 2500, `${unwanted.tookMs} ms`);

  const unanswered = await caller.callProvider(unwelcoming, search, { signal: nobodyLeaves, deadlineMs: 10_000 });
  assertFailed(unanswered, "timeout");
  assert.ok(unanswered.tookMs < 2500, `${unanswered.tookMs} ms`);
  mute.close();
});

test("refused, reset, unknown hosts and failed TLS are unreachable", async () => {
  assertFailed(await askOf("reset_before_headers"), "unreachable");
  assertFailed(await askOf("refused"), "unreachable");

  await upstream.behave("ok");
  for (const baseUrl of ["http://nobody.invalid", upstream.url.replace("http:", "https:")]) {
    const options = { signal: nobodyLeaves, deadlineMs: 5000 };
    assertFailed(await caller.callProvider(searxngAt(baseUrl), { query: "cats", n: 10 }, options), "unreachable");
  }
});

test("an answer that breaks off is an invalid one", async () => {
  assertFailed(await askOf("reset_in_body"), "invalid_response", 200);
  assertFailed(await askOf("half_close"), "invalid_response", 200);
});

test("an upstream that comes back is asked again", async () => {
  assertFailed(await askOf("refused"), "unreachable");
  assert.equal((await askOf("ok")).ok, true);
});

test("a caller who goes ends the call at once, and the upstream is asked nothing more", async () => {
  await upstream.behave("slow_headers");
  const leaving = new AbortController();
  const options = { signal: leaving.signal, deadlineMs: 10_000 };
  const pending = patientCaller.callProvider(provider, { query: "cats", n: 10 }, options);
  while (upstream.requests.length === 0) await new Promise(setImmediate);
  leaving.abort();
  const answer = await pending;
  assertFailed(answer, "aborted");
  assert.ok(answer.tookMs < 2500, `${answer.tookMs} ms`);
  await hangUpOf(upstream.requests[0]);

  upstream.requests.length = 0;
  assertFailed(await ask({ signal: leaving.signal }), "aborted");
  assert.equal(upstream.requests.length, 0);
});

test("a caller who goes while the connection is being made costs no request", async () => {
  const fresh = createCaller({ connectMs: 3000, headersMs: 3000, bodyMs: 3000 });
  const leaving = new AbortController();
  const options = { signal: leaving.signal, deadlineMs: 3000 };
  const pending = fresh.callProvider(provider, { query: "cats", n: 10 }, options);
  leaving.abort();
  assertFailed(await pending, "aborted");
  await fresh.close(); // waits for the connection, and would wait for a request on it
  assert.equal(upstream.requests.length, 0);
});

test("searches in a row share one socket", async () => {
  for (let count = 0; count < 5; count += 1) {
    await ask();
    await socketIsIdle();
  }
  assert.equal(new Set(upstream.requests.map(({ connection }) => connection)).size, 1);
});

test("a request that met a closing socket is sent once more, on another", async () => {
  await upstream.behave("refused"); // drops every idle socket
  await upstream.behave("reset_on_reused_socket");
  assert.equal((await ask()).ok, true);
  await socketIsIdle();
  assert.equal((await ask()).ok, true);
  const [first, unheard, again] = upstream.requests.map(({ connection }) => connection);
  assert.equal(upstream.requests.length, 3);
  assert.equal(first, unheard);
  assert.notEqual(unheard, again);
});

test("a request is not sent twice when a fresh socket is reset or the answer had begun", async () => {
  await upstream.behave("refused");
  assertFailed(await askOf("reset_before_headers"), "unreachable");
  assert.equal(upstream.requests.length, 1);

  upstream.requests.length = 0;
  await upstream.behave("reset_in_status_line_on_reused_socket");
  assert.equal((await ask()).ok, true);
  await socketIsIdle();
  assert.equal((await ask()).ok, false);
  assert.equal(upstream.requests.length, 2);
});

test("pages are asked for until there are enough hits, and no further", async () => {
  await upstream.behave("ok", { hits: 100 });
  const answer = await ask({ n: 20 });
  assert.ok(answer.ok);
  assert.equal(answer.hits.length, 20);
  assert.deepEqual(
    upstream.requests.map(({ query }) => query.get("pageno")),
    ["1", "2"],
  );
});

test("pages end with the hits, with the first repetition, or with the most we ask for", async () => {
  await upstream.behave("ok", { hits: 13 });
  const few = await ask({ n: 20 });
  assert.equal(few.ok && few.hits.length, 13);
  assert.equal(upstream.requests.length, 3);

  upstream.requests.length = 0;
  await upstream.behave("same_page_always");
  const repeated = await ask({ n: 20 });
  assert.equal(repeated.ok && repeated.hits.length, 10);
  assert.equal(upstream.requests.length, 2);
});

test("a page that costs something is not asked for to make up for a result that the page before lacked", async () => {
  const paid = { ...provider, costMicros: (n: number) => BigInt(n) };
  const ask = (n: number) =>
    caller.callProvider(paid, { query: "cats", n }, { signal: nobodyLeaves, deadlineMs: 2000 });
  await upstream.behave("ok", { hits: 100 });
  await ask(11);
  assert.equal(upstream.requests.length, 2);

  upstream.requests.length = 0;
  await upstream.behave("ok", { hits: 9 });
  const few = await ask(10);
  assert.equal(few.ok && few.hits.length, 9);
  assert.equal(upstream.requests.length, 1);
});

test("a later page that fails or hangs does not spoil the first", async () => {
  for (const name of ["later_page_fails", "later_page_hangs"] as const) {
    await upstream.behave(name);
    const answer = await ask({ n: 20 });
    assert.equal(answer.ok && answer.hits.length, 10, name);
  }
});

test("a caller who goes between two pages is gone", async () => {
  await upstream.behave("later_page_hangs");
  const leaving = new AbortController();
  const pending = ask({ n: 20, signal: leaving.signal });
  while (upstream.requests.length < 2) await new Promise(setImmediate);
  leaving.abort();
  assertFailed(await pending, "aborted");
});

test("a query too long for a request line arrives whole", async () => {
  const query = "\u{1F600}".repeat(2048);
  const answer = await caller.callProvider(provider, { query, n: 10 }, { signal: nobodyLeaves, deadlineMs: 2000 });
  assert.equal(answer.ok, true);
  assert.equal(upstream.requests[0]?.query.get("q"), query);
});
