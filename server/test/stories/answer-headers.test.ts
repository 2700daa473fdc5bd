import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { assertCommonHeaders, assertProblem, assertRateLimitHeaders } from "../support/assertions/assert-response.ts";
import { openRaw, rawRequest, rawSearch, sendRaw } from "../support/raw-http.ts";
import { createTestKey } from "../support/services/server.ts";

// Response headers.

const { db, upstream, server, createWallet } = await createFixture();
const wallet = await createWallet("1.00");

const question = { query: "cats" };

test("Wallet-Charge is the price of a paid answer, and zero for a test answer", async () => {
  const paid = await server.search(wallet.live, question);
  assertCommonHeaders(paid.headers, "0.01");
  assert.match(paid.headers.get("content-type") ?? "", /^application\/json\b/);
  assertCommonHeaders((await server.search(wallet.test, question)).headers, "0.00");
});

test("successful and rejected searches return the key's rate limit", async () => {
  const { key } = await createTestKey(db, {
    walletId: wallet.walletId,
    searchesPerSecond: 20,
  });
  assertRateLimitHeaders((await server.search(key, question)).headers, 20);
  for (const [body, headers] of [
    ["{", {}],
    [question, { "content-type": "text/plain" }],
    [{ query: "" }, {}],
    [question, { "search-run": "empty; max=0.00" }],
  ] as const) {
    const reply = await server.search(key, body, headers);
    assert.notEqual(reply.status, 200);
    assertRateLimitHeaders(reply.headers, 20);
  }
});

test("the remaining limit falls by one with each search", async () => {
  const { key } = await createTestKey(db, {
    walletId: wallet.walletId,
    mode: "test",
    searchesPerSecond: 50,
  });
  const replies = await Promise.all(Array.from({ length: 4 }, () => server.search(key, question)));
  const left = replies.map(({ headers }) => Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]));
  assert.deepEqual(
    left.toSorted((a, b) => b - a),
    [49, 48, 47, 46],
  );
});

test("Server-Timing lists the completed steps in order", async () => {
  const steps = (headers: Headers) => headers.get("server-timing")?.replaceAll(/;dur=\d+\.\d/g, "");
  assert.equal(steps((await server.search(wallet.live, question)).headers), "auth, hold, upstream, capture");
  assert.equal(steps((await server.search(wallet.live, "{")).headers), "auth");
  assert.equal(steps((await server.search("nonsense", question)).headers), "auth");
  assert.equal(steps((await server.search(wallet.live, question, { "x-api-key": wallet.test })).headers), "auth");
  const empty = await createWallet("0.00");
  assert.equal(steps((await server.search(empty.live, question)).headers), "auth, hold");
  await upstream.behave("status_500");
  assert.equal(steps((await server.search(wallet.live, question)).headers), "auth, hold, upstream");
  await upstream.behave("ok");
});

test("Wallet-Balance is returned only to keys with wallet:read, on paid answers and on replays", async () => {
  const { walletId, live } = await createWallet("0.03");
  const reader = await createTestKey(db, { walletId, scopes: ["search", "wallet:read"] });
  const retry = { "idempotency-key": "retry" };
  assert.equal((await server.search(reader.key, question, retry)).headers.get("wallet-balance"), "0.02;currency=usd");
  assert.equal((await server.search(live, question)).headers.get("wallet-balance"), null);
  assert.equal((await server.search(reader.key, question, retry)).headers.get("wallet-balance"), "0.01;currency=usd");
});

test("each request has a unique id that the caller cannot choose", async () => {
  const chosen = "01a1dca0-9422-7d2b-aced-0d68680215be";
  const headers = { "request-id": chosen, "x-request-id": chosen };
  const replies = await Promise.all([1, 2, 3].map(() => server.search(wallet.test, question, headers)));
  const ids = new Set(replies.map((reply) => reply.headers.get("request-id")));
  assert.equal(ids.size, 3);
  assert.ok(!ids.has(chosen));
});

test("404, 405, 401, pages and documents have the common headers", async () => {
  for (const [path, method] of [
    ["/nowhere", "GET"],
    ["/%zz", "GET"],
    [`/problems/${"x".repeat(200)}`, "GET"],
    ["/v1/search", "GET"],
    ["/v1/search", "HEAD"],
    ["/v1/search", "OPTIONS"],
    ["/v1/search", "POST"],
    ["/v1/wallet", "GET"],
    ["/openapi.json", "GET"],
    ["/llms.txt", "GET"],
    ["/problems/not_found", "GET"],
  ] as const) {
    const { headers } = await sendRaw(server.url, rawRequest(`${method} ${path}`, []));
    assertCommonHeaders(headers);
  }
});

test("malformed HTTP returns a problem and closes the connection", async () => {
  for (const [request, status] of [
    ["SSH-2.0-OpenSSH_9.2\r\n\r\n", 400],
    ["\u0016\u0003\u0001\u0000\u00a5\u0001\u0000\r\n\r\n", 400],
    ["post /v1/search HTTP/1.1\r\nHost: x\r\n\r\n", 400],
    ["BREW /v1/search HTTP/1.1\r\nHost: x\r\n\r\n", 400],
    [rawRequest("POST /v1/search", ["Content-Length: 5", "Transfer-Encoding: chunked"]), 400],
    [rawRequest("POST /v1/search", ["Content-Length: five"]), 400],
    [rawRequest("POST /v1/search", ["Content-Length: 5", "Content-Length: 6"]), 400],
    [rawRequest("GET /", ["Bad Header: x"]), 400],
    [rawRequest("GET /", [`X-Long: ${"x".repeat(20_000)}`]), 431],
    [`GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ] as const) {
    const connection = await openRaw(server.url);
    connection.write(request);
    const answer = await connection.answer();
    assert.equal(answer.status, status, request.slice(0, 60));
    const body = assertProblem(answer, "invalid_request", "/");
    assert.equal((body["errors"] as { code: string }[])[0]?.code, "invalid_http");
    assert.equal(answer.headers.get("connection"), "close");
    await connection.closed;
  }
});

test("a request with two Host headers returns 400, and a search with them is not charged", async () => {
  for (const line of ["Host: search.test", "host: elsewhere.test", "HOST: elsewhere.test", "Host:"]) {
    const answer = await sendRaw(server.url, rawRequest("GET /openapi.json", [line]));
    assert.equal(answer.status, 400, line);
    const body = assertProblem(answer, "invalid_request", "/openapi.json");
    assert.match(String(body["detail"]), /more than one Host header/);
  }
  const before = await server.readMoney(wallet.management);
  const lines = [`x-api-key: ${wallet.live}`, "Content-Type: application/json", "Host: elsewhere.test"];
  const search = await sendRaw(server.url, rawRequest("POST /v1/search", lines, JSON.stringify(question)));
  assert.equal(search.status, 400);
  assert.deepEqual(await server.readMoney(wallet.management), before);
});

test("HTTP/1.1 without Host returns 400, and an unknown Expect is accepted", async () => {
  const hostless = await sendRaw(server.url, "GET /openapi.json HTTP/1.1\r\n\r\n");
  assert.equal(hostless.status, 400);
  assertProblem(hostless, "invalid_request", "/openapi.json");
  const oldest = await sendRaw(server.url, "GET /llms.txt HTTP/1.0\r\n\r\n");
  assert.equal(oldest.status, 200);
  for (const expectation of ["100-continue", "a-miracle"]) {
    const request = rawSearch(wallet.test, JSON.stringify(question), `Expect: ${expectation}`);
    assert.equal((await sendRaw(server.url, request)).status, 200, expectation);
  }
});
