import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { createFixture } from "../fixture.ts";
import type { Reply } from "../support/services/server.ts";
import type { BehaviourName, BehaviourOptions } from "../support/upstreams/hostile-upstream.ts";

// Upstream failures: the status and headers that are forwarded, and that the caller is not charged. hostile-upstream.test.ts
// covers invalid answers and broken connections.

const { upstream, server, startServer, createWallet } = await createFixture();
const wallet = await createWallet("0.05");
const upstreamSecret = "upstream-internals-7c1f";

beforeEach(() => {
  upstream.requests.length = 0;
});

/** A failed search: no charge, no hold, and no text of the upstream in the answer. */
async function failed(name: BehaviourName, options: BehaviourOptions = {}): Promise<Reply> {
  await upstream.behave(name, { body: upstreamSecret, ...options });
  const reply = await server.search(wallet.live, { query: "cats" });
  // Otherwise the circuit would block the next search.
  if ([401, 402, 407, 429].includes(reply.body.upstream_status)) server.app.reload();
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.05", held: "0.00" }, name);
  assert.equal(reply.headers.get("wallet-charge"), "0.00;currency=usd");
  assert.equal(reply.body.charged, false);
  assert.equal(reply.headers.get("content-type")?.split(";")[0], "application/problem+json");
  assert.ok(!reply.text.includes(upstreamSecret) && !reply.text.includes("searxng"));
  return reply;
}

const hidden = [401, 402, 405, 407, 426];

test("every status from 400 to 599 is forwarded without a charge, except 401, 402, 405, 407 and 426, which become 502", async () => {
  for (let status = 400; status <= 599; status += 1) {
    const reply = await failed(`status_${status}`);
    const shown = hidden.includes(status) ? 502 : status;
    assert.equal(reply.status, shown, `upstream ${status}`);
    const { code, upstream_status, retryable, detail } = reply.body;
    assert.deepEqual([code, upstream_status, reply.body.status], ["upstream_error", status, shown]);
    assert.equal(reply.headers.get("proxy-status"), `search; received-status=${status}`);
    // Only the operator can change our account with the upstream.
    const isOurAccount = [401, 402, 407].includes(status);
    assert.equal(retryable, !isOurAccount && (shown >= 500 || [408, 425, 429].includes(shown)), `upstream ${status}`);
    assert.equal(reply.headers.get("retry-after"), retryable ? "2" : null);
    assert.match(detail, /You were not charged\. .*do not answer from memory/);
  }
});

test("only the status and a Retry-After between 1 and 120 seconds are forwarded", async () => {
  for (const [status, received, expected] of [
    [429, "7", "7"],
    [503, "7", "7"],
    [503, "0", "1"],
    [503, "86400", "120"],
    [429, "soon", "2"],
    [500, "60", "2"],
    [404, "60", null],
  ] as const) {
    const headers = {
      "retry-after": received,
      "set-cookie": "a=b",
      "www-authenticate": "Basic",
      "x-secret": "1",
      "cache-control": "public",
    };
    const reply = await failed(`status_${status}`, { headers });
    assert.equal(reply.headers.get("retry-after"), expected, `${status} ${received}`);
    for (const name of ["set-cookie", "www-authenticate", "x-secret"]) assert.equal(reply.headers.get(name), null);
    assert.equal(reply.headers.get("cache-control"), "no-store");
  }
});

test("a 3xx and a 2xx other than 200 become 502 and are not followed", async () => {
  for (const status of [201, 204, 205, 206, 299, 300, 301, 302, 303, 304, 307, 308]) {
    const reply = await failed(`status_${status}`, { headers: { location: "/elsewhere" } });
    assert.deepEqual(
      [reply.status, reply.body.code, reply.body.upstream_status, reply.body.retryable],
      [502, "upstream_invalid_response", status, true],
    );
    assert.equal(reply.headers.get("proxy-status"), `search; error=http_protocol_error; received-status=${status}`);
    assert.equal(reply.headers.get("retry-after"), "2");
  }
  assert.ok(upstream.requests.every((request) => request.path === "/search"));
});

test("an unresolvable host and an invalid certificate return 502 upstream_unreachable", async (t) => {
  for (const url of ["http://nowhere.invalid", upstream.url.replace("http:", "https:")]) {
    const other = await startServer({ PENNYBLACK_SEARXNG_URL: url }, t);
    const reply = await other.search(wallet.live, { query: "cats" });
    assert.deepEqual([reply.status, reply.body.code], [502, "upstream_unreachable"], url);
    assert.deepEqual(await other.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
  }
});

test("without an upstream a live search returns 503 upstream_not_configured and a test search succeeds", async (t) => {
  const bare = await startServer({ PENNYBLACK_SEARXNG_URL: "" }, t);
  const reply = await bare.search(wallet.live, { query: "cats" });
  assert.deepEqual(
    [reply.status, reply.body.code, reply.body.retryable, reply.headers.get("retry-after")],
    [503, "upstream_not_configured", false, null],
  );
  assert.equal((await bare.search(wallet.test, { query: "cats" })).status, 200);
  assert.deepEqual(await bare.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
});

test("test queries return the same statuses without calling an upstream", async () => {
  for (const [query, status, code] of [
    ["test:upstream_503", 503, "upstream_error"],
    ["test:upstream_429", 429, "upstream_error"],
    ["test:upstream_401", 502, "upstream_error"],
    ["test:upstream_404", 404, "upstream_error"],
    ["test:upstream_timeout", 504, "upstream_timeout"],
    ["test:upstream_unreachable", 502, "upstream_unreachable"],
    ["test:upstream_invalid_response", 502, "upstream_invalid_response"],
    ["test:nonsense", 400, "invalid_request"],
    ["test:slow=1", 200, undefined],
    ["test:empty", 200, undefined],
    ["cats", 200, undefined],
  ] as const) {
    const reply = await server.search(wallet.test, { query });
    assert.deepEqual([reply.status, reply.body.code], [status, code], query);
    assert.equal(reply.headers.get("wallet-charge"), "0.00;currency=usd");
  }
  assert.equal(upstream.requests.length, 0);
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
});

test("a test search always returns the same answer and is free with an empty wallet", async () => {
  const empty = await createWallet("0.00");
  const [first, second] = [
    await server.search(empty.test, { query: "cats", n: 3 }),
    await server.search(empty.test, { query: "cats", n: 3 }),
  ];
  assert.equal(first.status, 200);
  assert.equal(first.body.n, 3);
  assert.equal(second.text, first.text);
  assert.equal((await server.search(empty.live, { query: "cats" })).status, 402);
});
