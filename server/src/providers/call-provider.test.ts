import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, beforeEach, test } from "node:test";
import {
  type BehaviourName,
  type BehaviourOptions,
  type ReceivedRequest,
  startHostileUpstream,
} from "../../test/support/upstreams/hostile-upstream.ts";
import { searxngAt } from "../../test/support/upstreams/searxng-at.ts";
import { createCaller } from "./call-provider.ts";
import type { FailureReason, UpstreamAnswer } from "./provider.ts";

const upstream = await startHostileUpstream();
const provider = searxngAt(upstream.url);
const caller = createCaller({ connectMs: 2_000, headersMs: 1_000, bodyMs: 1_000 });
/** A call that ends has not waited for this deadline. */
const anHourMs = 3_600_000;
const slowCaller = createCaller({ connectMs: anHourMs, headersMs: anHourMs, bodyMs: anHourMs });
const neverAborted = new AbortController().signal;

beforeEach(async () => {
  await upstream.behave("ok");
  upstream.requests.length = 0;
});

after(async () => {
  await caller.close();
  await slowCaller.close();
  await upstream.close();
});

function call({ n = 10, deadlineMs = 10_000, signal = neverAborted } = {}): Promise<UpstreamAnswer> {
  return caller.callProvider(provider, { query: "cats", n }, { signal, deadlineMs });
}

async function callWith(name: BehaviourName, options?: BehaviourOptions): Promise<UpstreamAnswer> {
  await upstream.behave(name, options);
  return call();
}

/** undici returns a socket to its pool one event loop turn after the response. */
function socketIsIdle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}

/** The request would otherwise stay open until its headers time out after an hour. */
async function waitForHangUp(request: ReceivedRequest | undefined): Promise<void> {
  assert.ok(request !== undefined);
  if (!request.hungUp.aborted) await once(request.hungUp, "abort");
}

function assertFailed(answer: UpstreamAnswer, reason: FailureReason, upstreamStatus?: number): void {
  assert.ok(!answer.ok, "the search succeeded");
  assert.equal(answer.reason, reason);
  assert.equal(answer.upstreamStatus, upstreamStatus);
}

test("returns the hits of a valid response in order", async () => {
  const answer = await call();
  assert.ok(answer.ok);
  assert.equal(answer.provider, "searxng");
  assert.deepEqual(
    answer.hits.map(({ url }) => url),
    Array.from({ length: 10 }, (_, index) => `https://example.org/page-${index + 1}`),
  );
});

test("sends the upstream nothing about the caller", async () => {
  await call();
  const { headers } = upstream.requests[0] ?? assert.fail("no request was sent");
  assert.deepEqual(Object.keys(headers).toSorted(), ["accept", "accept-encoding", "connection", "host", "user-agent"]);
  assert.equal(headers["accept-encoding"], "identity");
  assert.equal(headers["user-agent"], "pennyblack");
});

test("an empty result is a success, failed engines are a failure", async () => {
  const answer = await callWith("empty");
  assert.ok(answer.ok);
  assert.deepEqual(answer.hits, []);
  assertFailed(await callWith("engines_failed"), "invalid_response", 200);
});

test("skips an unusable item and keeps the others", async () => {
  const answer = await callWith("unusable_items");
  assert.deepEqual(answer.ok && answer.hits.map(({ url }) => url), ["https://example.org/page-1"]);
});

test("reports every error status", async () => {
  for (let status = 400; status <= 599; status += 1) {
    const answer = await callWith(`status_${status}`);
    assert.ok(!answer.ok);
    assert.equal(answer.upstreamStatus, status);
    assert.notEqual(answer.reason, "invalid_response");
  }
});

test("reports Retry-After unchanged", async () => {
  const answer = await callWith("status_429", { headers: { "retry-after": "3600" } });
  assertFailed(answer, "throttled", 429);
  assert.equal(answer.ok ? undefined : answer.retryAfterSeconds, 3600);
});

test("keeps an error status when its body is cut off", async () => {
  assertFailed(await callWith("reset_in_error_page"), "status", 503);
});

test("follows no redirect and keeps no cookie", async () => {
  const headers = { "set-cookie": "session=1" };
  assertFailed(await callWith("redirect", { headers }), "invalid_response", 302);
  assertFailed(await callWith("redirect", { headers }), "invalid_response", 302);
  assert.deepEqual(
    upstream.requests.map(({ path, headers }) => [path, headers.cookie]),
    [
      ["/search", undefined],
      ["/search", undefined],
    ],
  );
});

for (const name of ["wrong_content_type", "gzip", "truncated_json", "wrong_types", "nulls"] as const) {
  test(`an unusable 200 response is a failure: ${name}`, async () => {
    assertFailed(await callWith(name), "invalid_response", 200);
  });
}

for (const name of ["endless_body", "fifty_megabytes"] as const) {
  test(`reads no more than the size limit: ${name}`, async () => {
    const before = process.memoryUsage().arrayBuffers;
    assertFailed(await callWith(name), "invalid_response", 200);
    assert.ok(process.memoryUsage().arrayBuffers - before < 16 * 1024 * 1024);
  });
}

test("accepts a response of exactly the size limit and rejects one byte more", async () => {
  const exact = JSON.stringify({ results: [] });
  const headers = { "content-type": "application/json" };
  const small = createCaller({ connectMs: 500, headersMs: 150, bodyMs: 150, maxBytes: exact.length });
  const options = { signal: neverAborted, deadlineMs: 10_000 };

  await upstream.behave("status_200", { headers, body: exact });
  assert.equal((await small.callProvider(provider, { query: "cats", n: 10 }, options)).ok, true);
  await upstream.behave("status_200", { headers, body: `${exact} ` });
  assertFailed(await small.callProvider(provider, { query: "cats", n: 10 }, options), "invalid_response", 200);
  await small.close();
});

test("malformed HTTP is an invalid response", async () => {
  assertFailed(await callWith("not_http"), "invalid_response");
  assertFailed(await callWith("endless_headers"), "invalid_response");
});

test("missing headers and a stalled body time out long before the deadline", async () => {
  for (const [name, status] of [
    ["slow_headers", undefined],
    ["stall_in_body", 200],
  ] as const) {
    await upstream.behave(name);
    const answer = await call({ deadlineMs: anHourMs });
    assertFailed(answer, "timeout", status);
    assert.equal("isDeadline" in answer, false);
  }
});

test("the deadline ends a body that trickles forever", async () => {
  await upstream.behave("slow_drip", { everyMs: 10 });
  const answer = await call({ deadlineMs: 400 });
  assertFailed(answer, "timeout", 200);
  assert.equal("isDeadline" in answer && answer.isDeadline, true);
});

test("the deadline and an abort take effect while the connection is being established", async () => {
  // A server that never answers the TLS handshake.
  const silentServer = createServer().listen(0, "127.0.0.1");
  await once(silentServer, "listening");
  const { port } = silentServer.address() as AddressInfo;
  const silent = searxngAt(`https://127.0.0.1:${port}`);
  const search = { query: "cats", n: 10 };

  const late = await slowCaller.callProvider(silent, search, { signal: neverAborted, deadlineMs: 100 });
  assertFailed(late, "timeout");

  const aborted = await slowCaller.callProvider(silent, search, { signal: AbortSignal.abort(), deadlineMs: anHourMs });
  assertFailed(aborted, "aborted");

  const unanswered = await caller.callProvider(silent, search, { signal: neverAborted, deadlineMs: anHourMs });
  assertFailed(unanswered, "timeout");
  silentServer.close();
});

test("refused and reset connections, unknown hosts and failed TLS are unreachable", async () => {
  assertFailed(await callWith("reset_before_headers"), "unreachable");
  assertFailed(await callWith("refused"), "unreachable");

  await upstream.behave("ok");
  for (const baseUrl of ["http://nobody.invalid", upstream.url.replace("http:", "https:")]) {
    const options = { signal: neverAborted, deadlineMs: 10_000 };
    assertFailed(await caller.callProvider(searxngAt(baseUrl), { query: "cats", n: 10 }, options), "unreachable");
  }
});

test("a response that is cut off is invalid", async () => {
  assertFailed(await callWith("reset_in_body"), "invalid_response", 200);
  assertFailed(await callWith("half_close"), "invalid_response", 200);
});

test("an upstream works again after it recovers", async () => {
  assertFailed(await callWith("refused"), "unreachable");
  assert.equal((await callWith("ok")).ok, true);
});

test("an abort ends the call immediately and sends no further request", async () => {
  await upstream.behave("slow_headers");
  const abort = new AbortController();
  const options = { signal: abort.signal, deadlineMs: anHourMs };
  const pending = slowCaller.callProvider(provider, { query: "cats", n: 10 }, options);
  while (upstream.requests.length === 0) await new Promise(setImmediate);
  abort.abort();
  const answer = await pending;
  assertFailed(answer, "aborted");
  await waitForHangUp(upstream.requests[0]);

  upstream.requests.length = 0;
  assertFailed(await call({ signal: abort.signal }), "aborted");
  assert.equal(upstream.requests.length, 0);
});

test("an abort while connecting sends no request", async () => {
  const fresh = createCaller({ connectMs: 3000, headersMs: 3000, bodyMs: 3000 });
  const abort = new AbortController();
  const options = { signal: abort.signal, deadlineMs: 3000 };
  const pending = fresh.callProvider(provider, { query: "cats", n: 10 }, options);
  abort.abort();
  assertFailed(await pending, "aborted");
  await fresh.close(); // waits for the connection, and would wait for a request on it
  assert.equal(upstream.requests.length, 0);
});

test("consecutive searches share one socket", async () => {
  for (let count = 0; count < 5; count += 1) {
    await call();
    await socketIsIdle();
  }
  assert.equal(new Set(upstream.requests.map(({ connection }) => connection)).size, 1);
});

test("closing waits for all of several hundred calls in flight", async () => {
  const fresh = createCaller({ connectMs: 9_000, headersMs: 9_000, bodyMs: 9_000 });
  const options = { signal: neverAborted, deadlineMs: 9_000 };
  let answered = 0;
  const calls = Array.from({ length: 300 }, async () => {
    const { ok } = await fresh.callProvider(provider, { query: "cats", n: 10 }, options);
    if (ok) answered += 1;
  });
  await fresh.close();
  assert.equal(answered, 300);
  await Promise.all(calls);
});

test("resends a request once, on a new socket, if the reused socket was closing", async () => {
  await upstream.behave("refused"); // drops every idle socket
  await upstream.behave("reset_on_reused_socket");
  assert.equal((await call()).ok, true);
  await socketIsIdle();
  assert.equal((await call()).ok, true);
  const [first, reused, resent] = upstream.requests.map(({ connection }) => connection);
  assert.equal(upstream.requests.length, 3);
  assert.equal(first, reused);
  assert.notEqual(reused, resent);
});

test("does not resend a request after a new socket was reset or part of a response arrived", async () => {
  await upstream.behave("refused");
  assertFailed(await callWith("reset_before_headers"), "unreachable");
  assert.equal(upstream.requests.length, 1);

  upstream.requests.length = 0;
  await upstream.behave("reset_in_status_line_on_reused_socket");
  assert.equal((await call()).ok, true);
  await socketIsIdle();
  assert.equal((await call()).ok, false);
  assert.equal(upstream.requests.length, 2);
});

test("requests pages until there are enough hits", async () => {
  await upstream.behave("ok", { hits: 100 });
  const answer = await call({ n: 20 });
  assert.ok(answer.ok);
  assert.equal(answer.hits.length, 20);
  assert.deepEqual(
    upstream.requests.map(({ query }) => query.get("pageno")),
    ["1", "2"],
  );
});

test("stops paging when there are no more hits or a page repeats", async () => {
  await upstream.behave("ok", { hits: 13 });
  const few = await call({ n: 20 });
  assert.equal(few.ok && few.hits.length, 13);
  assert.equal(upstream.requests.length, 3);

  upstream.requests.length = 0;
  await upstream.behave("same_page_always");
  const repeated = await call({ n: 20 });
  assert.equal(repeated.ok && repeated.hits.length, 10);
  assert.equal(upstream.requests.length, 2);
});

test("does not pay for an extra page because an earlier page was short", async () => {
  const paid = { ...provider, costMicros: (n: number) => BigInt(n) };
  const callPaid = (n: number) =>
    caller.callProvider(paid, { query: "cats", n }, { signal: neverAborted, deadlineMs: 10_000 });
  await upstream.behave("ok", { hits: 100 });
  await callPaid(11);
  assert.equal(upstream.requests.length, 2);

  upstream.requests.length = 0;
  await upstream.behave("ok", { hits: 9 });
  const few = await callPaid(10);
  assert.equal(few.ok && few.hits.length, 9);
  assert.equal(upstream.requests.length, 1);
});

test("reports once that the call was sent, and only if a request was", async () => {
  let sent = 0;
  const onSent = (): void => void (sent += 1);
  const count = async (name: BehaviourName, signal = neverAborted): Promise<number> => {
    await upstream.behave(name, { hits: 100 });
    sent = 0;
    await caller.callProvider(provider, { query: "cats", n: 20 }, { signal, deadlineMs: 10_000, onSent });
    return sent;
  };
  assert.equal(await count("ok"), 1, "two pages");
  assert.equal(await count("status_500"), 1);
  assert.equal(await count("slow_headers"), 1);
  assert.equal(await count("ok", AbortSignal.abort()), 0);
  assert.equal(await count("refused"), 0);
});

test("returns the first page when a later page fails or hangs", async () => {
  for (const name of ["later_page_fails", "later_page_hangs"] as const) {
    await upstream.behave(name);
    const answer = await call({ n: 20 });
    assert.equal(answer.ok && answer.hits.length, 10, name);
  }
});

test("an abort between two pages is reported as aborted", async () => {
  await upstream.behave("later_page_hangs");
  const abort = new AbortController();
  const pending = call({ n: 20, signal: abort.signal });
  while (upstream.requests.length < 2) await new Promise(setImmediate);
  abort.abort();
  assertFailed(await pending, "aborted");
});

test("sends a query that is too long for a URL in full", async () => {
  const query = "\u{1F600}".repeat(2048);
  const answer = await caller.callProvider(provider, { query, n: 10 }, { signal: neverAborted, deadlineMs: 10_000 });
  assert.equal(answer.ok, true);
  assert.equal(upstream.requests[0]?.query.get("q"), query);
});
