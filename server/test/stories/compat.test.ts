import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { choosePort } from "../../src/dev/choose-port.ts";
import type { Dialect } from "../../src/dialects/dialect.ts";
import { dialects } from "../../src/dialects/dialects.ts";
import { createFixture } from "../fixture.ts";
import { countBy } from "../support/assertions/count-by.ts";
import { until } from "../support/assertions/until.ts";
import { choosePeriod } from "../support/data/choose-period.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { killAfterTests } from "../support/services/node-process.ts";
import { createTestKey, type Reply } from "../support/services/server.ts";

// The compatibility endpoints on a server: keys, money, errors and hostile requests. The translations themselves are tested
// in server/src/dialects/contract.test.ts, the vendors' own clients in compat-clients.test.ts, and recorded requests of
// products in integrations.test.ts.

const { db, server, upstream, startServer, createWallet, assertBooksBalance } = await createFixture();

/** A request as a client of the dialect sends it. */
function send(
  { name, path, method, parameters }: Dialect,
  headers: Record<string, string>,
  query: string,
  more: Record<string, unknown> = {},
  at = server,
): Promise<Reply> {
  const own = Object.entries(parameters).flatMap(([parameter, rule]) => {
    if (rule.use === "query") return [[parameter, query]];
    return rule.use === "required" ? [[parameter, rule.value]] : [];
  });
  const request = { ...(Object.fromEntries(own) as Record<string, string>), ...more };
  const url = `/compat/${name}${path}`;
  if (method === "GET") {
    const text = new URLSearchParams(request as Record<string, string>).toString();
    return at.request(`${url}?${text}`, { headers });
  }
  return at.request(url, {
    method,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(request),
  });
}

function credentialOf({ keyHeader }: Dialect, key: string): Record<string, string> {
  return keyHeader === undefined ? { authorization: `Bearer ${key}` } : { [keyHeader]: key };
}

function find(name: string): Dialect {
  const dialect = dialects.find((candidate) => candidate.name === name);
  assert.ok(dialect);
  return dialect;
}

for (const dialect of dialects) {
  test(`${dialect.name}: a search costs one cent, an error nothing, and both have our headers`, async () => {
    const wallet = await createWallet("0.01");
    const credential = credentialOf(dialect, wallet.live);
    const paid = await send(dialect, credential, "cats");
    assert.equal(paid.status, 200, paid.text);
    assert.equal(paid.headers.get("wallet-charge"), "0.01;currency=usd");
    assert.match(paid.headers.get("request-id") ?? "", /^[0-9a-f-]{36}$/);
    assert.match(paid.headers.get("content-type") ?? "", /^application\/json/);
    assert.match(paid.text, /https:/);

    const unpaid = await send(dialect, credential, "cats");
    assert.equal(unpaid.status, 402, unpaid.text);
    assert.equal(unpaid.headers.get("wallet-charge"), "0.00;currency=usd");
    assert.equal(unpaid.body.code, "insufficient_balance");
    assert.match(JSON.stringify(dialect.toError({ ...unpaid.body, detail: "text" })), /text/);
    assert.match(unpaid.text, /is below the price of a search/);
    assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.00", held: "0.00" });
  });
}

test("a failure is never an empty list, and an empty list is paid for", async () => {
  const wallet = await createWallet("1.00");
  for (const dialect of dialects) {
    const empty = await send(dialect, credentialOf(dialect, wallet.test), "test:empty");
    assert.equal(empty.status, 200);
    assert.ok(empty.text.includes("[]"));
    for (const [query, status] of [
      ["test:upstream_503", 503],
      ["test:upstream_timeout", 504],
      ["test:rate_limited", 429],
      ["test:internal_error", 500],
    ] as const) {
      const failed = await send(dialect, credentialOf(dialect, wallet.test), query);
      assert.equal(failed.status, status, `${dialect.name} ${query}`);
      assert.equal(failed.body.status, status);
      assert.equal(Array.isArray(failed.body), false);
    }
  }
});

test("of 300 searches through three dialects, 30 at a time, a wallet of 1.00 USD pays for exactly 100", async () => {
  const wallet = await createWallet("1.00");
  const callers = await Promise.all(
    ["tavily", "exa", "brave"].map(async (name) => {
      const { key } = await createTestKey(db, { walletId: wallet.walletId });
      return { dialect: find(name), credential: credentialOf(find(name), key) };
    }),
  );
  const replies: Reply[] = [];
  const searchInTurns = async ({ dialect, credential }: (typeof callers)[number]) => {
    for (let sent = 0; sent < 10; sent += 1) replies.push(await send(dialect, credential, `cats ${sent}`));
  };
  await Promise.all(callers.flatMap((caller) => Array.from({ length: 10 }, () => searchInTurns(caller))));
  const outcomes = countBy(replies, ({ status, headers }) => `${status} ${headers.get("wallet-charge")}`);
  assert.deepEqual(outcomes, { "200 0.01;currency=usd": 100, "402 0.00;currency=usd": 200 });
  assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.00", held: "0.00" });
});

test("errors before the search have the vendor's shape too", async () => {
  for (const dialect of dialects) {
    const { status, body, headers } = await send(dialect, {}, "cats");
    assert.deepEqual([status, body.code], [401, "authentication_required"]);
    assert.equal(headers.get("www-authenticate"), 'Bearer realm="search"');
  }
  const method = await server.request("/compat/exa/search");
  assert.deepEqual([method.status, method.headers.get("allow"), typeof method.body.error], [405, "POST", "string"]);
});

test("an operation of a vendor that does not exist here is named, with the page of those that do", async () => {
  const operations: [string, string][] = [
    ["tavily", "/extract"],
    ["tavily", "/crawl"],
    ["exa", "/contents"],
    ["exa", "/findSimilar"],
    ["exa", "/answer"],
    ["serper", "/news"],
    ["serper", "/images"],
    ["brave", "/res/v1/news/search"],
    ["perplexity", "/chat/completions"],
  ];
  for (const [name, path] of operations) {
    const dialect = find(name);
    const reply = await server.request(`/compat/${name}${path}?q=cats`, { method: "POST", body: "{}" });
    assert.deepEqual([reply.status, reply.body.code], [404, "not_found"], path);
    const expected = `Pennyblack does not have this operation of ${dialect.title}: it only searches, with \`${dialect.method} /compat/${name}${dialect.path}\`. See http`;
    assert.ok(reply.text.includes(JSON.stringify(expected).slice(1, -1)), reply.text);
    assert.match(reply.text, new RegExp(`/docs/compat/${name}"`));
  }
  const misspelled = await server.request("/compat/tavily/serach", { method: "POST" });
  assert.match(misspelled.body.detail.error, /Did you mean `POST \/compat\/tavily\/search`\?$/);
  const elsewhere = await server.request("/compat/bing/search");
  assert.match(elsewhere.body.detail, /Nothing exists at this path/);
});

test("two different keys are rejected wherever they are", async () => {
  const wallet = await createWallet("1.00");
  const other = await createWallet("1.00");
  const both = { "x-subscription-token": wallet.live, authorization: `Bearer ${other.live}` };
  const brave = await send(find("brave"), both, "cats");
  assert.deepEqual([brave.status, brave.body.code], [400, "conflicting_credentials"]);
  const inBody = await send(find("tavily"), credentialOf(find("tavily"), wallet.live), "cats", { api_key: other.live });
  assert.deepEqual([inBody.status, inBody.body.code], [400, "conflicting_credentials"]);
  assert.ok(!inBody.text.includes(other.live));
  const onlyInBody = await send(find("tavily"), {}, "cats", { api_key: wallet.live });
  assert.equal(onlyInBody.status, 401);
  const same = await send(find("tavily"), credentialOf(find("tavily"), wallet.live), "cats", { api_key: wallet.live });
  assert.equal(same.status, 200);
  const basic = `Basic ${Buffer.from(`key:${wallet.live}`).toString("base64")}`;
  assert.equal((await send(find("searxng"), { authorization: basic }, "cats")).status, 200);
  assert.equal((await send(find("tavily"), { authorization: basic }, "cats")).status, 401);
  assert.equal((await server.readMoney(wallet.management)).balance, "0.98");
  assert.equal((await server.readMoney(other.management)).balance, "1.00");
});

test("refused parameters cost nothing, and ignored and capped ones are reported", async () => {
  const wallet = await createWallet("1.00");
  const tavily = find("tavily");
  const credential = credentialOf(tavily, wallet.live);
  const filters = { include_domains: ["example.com"], time_range: "day", max_results: 50, search_depth: "basic" };
  const refused = await send(tavily, credential, "cats", filters);
  assert.equal(refused.status, 400);
  assert.match(
    refused.body.detail.error,
    /`include_domains` is not possible.*`compat\.ignore` of the key.*Pennyblack-Ignore: domains/,
  );
  assert.equal(refused.body.errors.length, 2);
  const ignoring = { ...credential, "pennyblack-ignore": "domains, freshness" };
  const searched = await send(tavily, ignoring, "cats", filters);
  assert.equal(searched.status, 200, searched.text);
  assert.equal(searched.headers.get("pennyblack-ignored"), "include_domains, time_range, search_depth");
  assert.equal(searched.headers.get("pennyblack-capped"), "max_results=20");
  assert.equal((await server.readMoney(wallet.management)).balance, "0.99");
  // Our own headers work for clients that can send them.
  const repeated = { ...credential, "idempotency-key": "a-key" };
  const first = await send(tavily, repeated, "dogs");
  const second = await send(tavily, repeated, "dogs");
  assert.equal(second.headers.get("idempotent-replayed"), "true");
  assert.deepEqual(second.body.results, first.body.results);
  assert.equal((await server.readMoney(wallet.management)).balance, "0.98");
});

test("the settings of a key ignore parameters, make repeated searches free and set the budget of a chat", async () => {
  const wallet = await createWallet("1.00");
  const compat = { ignore: ["domains"], repeat: choosePeriod(), run: { max: "0.02", ttl: "1h" } };
  const changed = await server.manage(wallet.management, "PATCH", `/v1/keys/${wallet.liveKeyId}`, { compat });
  assert.equal(changed.status, 200, changed.text);
  const authorization = { authorization: `Bearer ${wallet.live}` };
  // The key is cached for a second.
  const fresh = await startServer();
  const tavily = find("tavily");
  const first = await send(tavily, authorization, "cats", { include_domains: ["example.com"] }, fresh);
  assert.equal(first.headers.get("pennyblack-ignored"), "include_domains");
  assert.equal(first.headers.get("wallet-charge"), "0.01;currency=usd");
  // Through another endpoint, for the same number of results.
  const again = await send(find("serper"), authorization, "cats", { num: tavily.defaultCount }, fresh);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal(again.headers.get("wallet-charge"), "0.00;currency=usd");
  assert.equal(again.body.organic.length, first.body.results.length);

  const chat = { ...authorization, "x-openwebui-chat-id": "chat-1" };
  const statuses: number[] = [];
  for (const query of ["one", "two", "three"]) {
    const reply = await send(find("open-webui"), chat, query, {}, fresh);
    statuses.push(reply.status);
    assert.match(reply.headers.get("search-run") ?? "", /^chat-1; spent=0\.0/);
  }
  assert.deepEqual(statuses, [200, 200, 403]);
  assert.equal((await server.readMoney(wallet.management)).balance, "0.97");
});

test("the documented log format of HAProxy contains no query", async (t) => {
  const page = readFileSync(new URL("../../../docs/operate.md", import.meta.url), "utf8");
  const format = /`(log-format "[^`]+")`/.exec(page)?.[1] ?? assert.fail("docs/operate.md has no log format");
  const { test: key } = await createWallet();
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-haproxy-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const port = await choosePort({ host: "127.0.0.1" });
  const lines = [
    "global\n  log stdout format raw local0",
    `defaults\n  mode http\n  log global\n  ${format}\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s`,
    `listen public\n  bind 127.0.0.1:${port}\n  server one ${new URL(server.url).host}`,
  ];
  writeFileSync(join(folder, "haproxy.cfg"), `${lines.join("\n")}\n`);
  const env = { PATH: `${process.env["PATH"]}:/usr/sbin` };
  const haproxy = killAfterTests(spawn("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], { env }));
  let logged = "";
  haproxy.stdout.on("data", (chunk) => (logged += String(chunk)));
  const path = "/compat/searxng/search";
  await until("HAProxy has logged the search", async () => {
    if (haproxy.exitCode !== null) throw new Error(`HAProxy exited with ${haproxy.exitCode}`);
    const url = `http://127.0.0.1:${port}${path}?format=json&q=zanzibar7quagga`;
    await fetch(url, { headers: { "x-api-key": key } }).catch(() => undefined);
    return logged.includes(`GET ${path}`);
  });
  assert.ok(!logged.includes("zanzibar7quagga"));
});

test("hostile requests are rejected without a charge", async () => {
  const wallet = await createWallet("1.00");
  const post = (body: string | Uint8Array, headers = {}): Promise<Reply> =>
    server.request("/compat/tavily/search", {
      method: "POST",
      headers: { authorization: `Bearer ${wallet.live}`, "content-type": "application/json", ...headers },
      body,
    });
  const hostile: [Promise<Reply>, number][] = [
    [post(`{"query":"cats","pad":"${"x".repeat(20_000)}"}`), 413],
    [post('{"query":"cats","query":"dogs"}'), 400],
    [post('{"query":"cats","__proto__":{"max_results":5}}'), 400],
    [post('{"query":["cats"]}'), 400],
    [post('{"query":"   "}'), 400],
    [post('{"query":"\\ud800"}'), 400],
    [post(`{"query":"cats","topic":${"[".repeat(5_000)}${"]".repeat(5_000)}}`), 400],
    [post('[{"query":"cats"}]'), 400],
    [post("query=cats", { "content-type": "application/x-www-form-urlencoded" }), 415],
    [post('{"query":"cats","topic":{"toString":"x"}}'), 400],
    [post(new Uint8Array([0x7b, 0xff, 0x7d])), 400],
    [server.request(`/compat/brave/res/v1/web/search?q=a&q=b`, { headers: { "x-api-key": wallet.live } }), 400],
    [server.request(`/compat/brave/res/v1/web/search?q[]=a`, { headers: { "x-api-key": wallet.live } }), 400],
    [server.request(`/compat/brave/res/v1/web/search?q=%ff`, { headers: { "x-api-key": wallet.live } }), 400],
    [server.request(`/compat/searxng/search?q=a&format=html`, { headers: { "x-api-key": wallet.live } }), 400],
    [server.request(`/compat/searxng/search?q=a`, { headers: { "x-api-key": wallet.live } }), 400],
    [server.request(`/compat/tavily/search?query=a`, { method: "POST", headers: { "x-api-key": wallet.live } }), 400],
  ];
  for (const [request, status] of hostile) {
    const reply = await request;
    assert.equal(reply.status, status, reply.text);
  }
  // A header injection through the name of an ignored parameter.
  const name = "a\\r\\nset-cookie: x=1";
  const injected = await post(`{"query":"cats","${name}":1}`, { "pennyblack-ignore": "a set-cookie: x=1" });
  assert.deepEqual([injected.status, injected.headers.get("set-cookie")], [400, null]);
});

test("no log line contains the query of a URL", async () => {
  const wallet = await createWallet("1.00");
  const canary = "zanzibar7quagga";
  const key = { "x-api-key": wallet.live };
  await send(find("brave"), key, canary);
  await send(find("searxng"), {}, canary);
  await send(find("searxng"), key, canary, { unknown: canary });
  await server.request(`/compat/brave/${canary}?q=${canary}`, { headers: key });
  await server.request(`/compat/searxng/search?q=${canary}&format=json`, { method: "DELETE", headers: key });
  await upstream.behave("status_500");
  await send(find("brave"), key, canary);
  await upstream.behave("ok");
  await sendRaw(server.url, rawRequest(`GET /compat/searxng/search?q=${canary}`, ["bad header"]));
  assert.ok(server.logged().includes("/compat/brave/res/v1/web/search"));
  assert.ok(!server.logged().includes(canary));
});

test("the metrics count searches through a dialect, and the books balance", async () => {
  assert.match(await server.readMetrics(), /pennyblack_search_requests_total\{[^}]*mode="live"[^}]*\} \d+/);
  await assertBooksBalance();
});

test("compat.ignore of a key accepts groups and parameters of every dialect, and suggests the name that was probably meant", async () => {
  const { management } = await createWallet();
  const manage = (method: string, path: string, body?: unknown) => server.manage(management, method, path, body);
  const ignore = ["domains", "include_domains", "startPublishedDate", "topic", "search_depth", "freshness"];
  const { body: created } = await manage("POST", "/v1/keys", { mode: "test", name: "agent", compat: { ignore } });
  assert.deepEqual(created.compat, { ignore });
  const detailFor = async (name: string): Promise<string> => {
    const refused = await manage("PATCH", `/v1/keys/${created.id}`, { compat: { ignore: [name] } });
    assert.equal(refused.status, 400);
    return refused.body.errors[0].detail;
  };
  assert.match(await detailFor("freshnes"), /can ignore \(did you mean `freshness`\?\)$/);
  assert.match(await detailFor("everything_else"), /; the groups are `domains`, `freshness`,.* and `images`$/);
  const { body: unchanged } = await manage("GET", `/v1/keys/${created.id}`);
  assert.deepEqual(unchanged.compat, { ignore });
});
