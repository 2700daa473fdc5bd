import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, beforeEach, test } from "node:test";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, type Reply, startTestServer } from "../support/services/server.ts";
import {
  type BehaviourName,
  type BehaviourOptions,
  startHostileUpstream,
} from "../support/upstreams/hostile-upstream.ts";

// The Forwarding table of the contract: what the upstream says, what the caller hears, and that nothing is charged.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });
const wallet = await createTestWallet(db, "0.05");
const secretOfUpstream = "upstream-internals-7c1f";

after(async () => {
  await server.close();
  await upstream.close();
  await db.drop();
});

beforeEach(() => {
  upstream.requests.length = 0;
});

/** A search that failed: nothing charged, nothing held any more, nothing of the upstream's own words shown. */
async function failed(name: BehaviourName, options: BehaviourOptions = {}): Promise<Reply> {
  await upstream.behave(name, { body: secretOfUpstream, ...options });
  const reply = await server.search(wallet.live, { query: "cats" });
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.05", held: "0.00" }, name);
  assert.equal(reply.headers.get("wallet-charge"), "0.00;currency=usd");
  assert.equal(reply.body.charged, false);
  assert.equal(reply.headers.get("content-type")?.split(";")[0], "application/problem+json");
  assert.ok(!reply.text.includes(secretOfUpstream) && !reply.text.includes("searxng"));
  return reply;
}

const hidden = [401, 402, 405, 407, 426];

test("every status from 400 to 599 is forwarded, except 401, 402, 405, 407 and 426, which are 502; none is charged", async () => {
  for (let status = 400; status <= 599; status += 1) {
    const reply = await failed(`status_${status}`);
    const shown = hidden.includes(status) ? 502 : status;
    assert.equal(reply.status, shown, `upstream ${status}`);
    const { code, upstream_status, retryable, detail } = reply.body;
    assert.deepEqual([code, upstream_status, reply.body.status], ["upstream_error", status, shown]);
    assert.equal(reply.headers.get("proxy-status"), `search; received-status=${status}`);
    assert.equal(retryable, shown >= 500 || [408, 425, 429].includes(shown), `upstream ${status}`);
    assert.equal(reply.headers.get("retry-after"), retryable ? "2" : null);
    assert.match(detail, /You were not charged\. .*do not answer from memory/);
  }
});

test("only the status and a Retry-After between 1 and 120 seconds cross over", async () => {
  for (const [status, asked, told] of [
    [429, "7", "7"],
    [503, "7", "7"],
    [503, "0", "1"],
    [503, "86400", "120"],
    [429, "soon", "2"],
    [500, "60", "2"],
    [404, "60", null],
  ] as const) {
    const headers = {
      "retry-after": asked,
      "set-cookie": "a=b",
      "www-authenticate": "Basic",
      "x-secret": "1",
      "cache-control": "public",
    };
    const reply = await failed(`status_${status}`, { headers });
    assert.equal(reply.headers.get("retry-after"), told, `${status} ${asked}`);
    for (const name of ["set-cookie", "www-authenticate", "x-secret"]) assert.equal(reply.headers.get(name), null);
    assert.equal(reply.headers.get("cache-control"), "no-store");
  }
});

test("3xx is 502 and never followed", async () => {
  for (const status of [300, 301, 302, 303, 304, 307, 308]) {
    const reply = await failed(`status_${status}`, { headers: { location: "/elsewhere" } });
    assert.deepEqual(
      [reply.status, reply.body.code, reply.body.upstream_status],
      [502, "upstream_invalid_response", status],
    );
    assert.equal(reply.headers.get("proxy-status"), `search; error=http_protocol_error; received-status=${status}`);
  }
  assert.ok(upstream.requests.every((request) => request.path === "/search"));
});

test("a 2xx that is not a valid answer, of the wrong type or over 1 MiB is 502 and not billed", async () => {
  const bodiless: BehaviourName[] = ["status_201", "status_204", "status_205", "status_206", "status_299"];
  for (const behaviour of [
    ...bodiless,
    "wrong_content_type",
    "gzip",
    "truncated_json",
    "wrong_types",
    "nulls",
    "engines_failed",
    "endless_body",
    "fifty_megabytes",
    "endless_headers",
    "reset_in_body",
    "half_close",
    "not_http",
  ] as BehaviourName[]) {
    const reply = await failed(behaviour);
    assert.deepEqual([reply.status, reply.body.code], [502, "upstream_invalid_response"], behaviour);
    assert.match(reply.headers.get("proxy-status") ?? "", /^search; error=http_protocol_error/);
    assert.equal(reply.body.retryable, true);
    assert.equal(reply.headers.get("retry-after"), "2");
  }
});

test("refused and reset connections are 502 upstream_unreachable", async () => {
  for (const behaviour of ["reset_before_headers", "refused"] as const) {
    const reply = await failed(behaviour);
    assert.deepEqual([reply.status, reply.body.code], [502, "upstream_unreachable"], behaviour);
    assert.equal(reply.body.upstream_status, undefined);
    assert.equal(reply.headers.get("proxy-status"), "search; error=destination_unavailable");
    assert.equal(reply.headers.get("retry-after"), "2");
  }
});

test("an error page that breaks off is still the status that came with it", async () => {
  const reply = await failed("reset_in_error_page");
  assert.deepEqual([reply.status, reply.body.code, reply.body.upstream_status], [503, "upstream_error", 503]);
});

test("an upstream that answers 1xx and nothing more, or a status that is none, is 502", async () => {
  for (const line of [
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\n\r\n",
    "HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 99 Odd\r\n\r\n",
  ]) {
    const odd = createServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.once("data", () => socket.end(line));
    });
    odd.listen(0, "127.0.0.1");
    await once(odd, "listening");
    const url = `http://127.0.0.1:${(odd.address() as AddressInfo).port}`;
    const other = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: url });
    const reply = await other.search(wallet.live, { query: "cats" });
    assert.equal(reply.status, 502, line);
    assert.match(reply.body.code, /^upstream_(invalid_response|unreachable)$/);
    assert.deepEqual(await other.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
    await other.close();
    odd.close();
  }
});

test("a name that does not resolve and a certificate that does not fit are 502 upstream_unreachable", async () => {
  for (const url of ["http://nowhere.invalid", upstream.url.replace("http:", "https:")]) {
    const other = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: url });
    const reply = await other.search(wallet.live, { query: "cats" });
    assert.deepEqual([reply.status, reply.body.code], [502, "upstream_unreachable"], url);
    assert.deepEqual(await other.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
    await other.close();
  }
});

test("without an upstream a live search is 503 upstream_not_configured and a test search works", async () => {
  const bare = await startTestServer(db);
  const reply = await bare.search(wallet.live, { query: "cats" });
  assert.deepEqual(
    [reply.status, reply.body.code, reply.headers.get("retry-after")],
    [503, "upstream_not_configured", "120"],
  );
  assert.equal((await bare.search(wallet.test, { query: "cats" })).status, 200);
  assert.deepEqual(await bare.readMoney(wallet.management), { balance: "0.05", held: "0.00" });
  await bare.close();
});

test("test keys meet the same statuses on request and never leave the machine", async () => {
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

test("a test search answers the same every time, and costs nothing with an empty wallet", async () => {
  const empty = await createTestWallet(db, "0.00");
  const [first, second] = [
    await server.search(empty.test, { query: "cats", n: 3 }),
    await server.search(empty.test, { query: "cats", n: 3 }),
  ];
  assert.equal(first.status, 200);
  assert.equal(first.body.n, 3);
  assert.equal(second.text, first.text);
  assert.equal((await server.search(empty.live, { query: "cats" })).status, 402);
});
