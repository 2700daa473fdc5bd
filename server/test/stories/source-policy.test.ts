import assert from "node:assert/strict";
import { after as afterTests, test } from "node:test";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { connectMcp, revisions } from "../support/clients/mcp-clients.ts";
import type { Reply } from "../support/services/server.ts";
import { startTavilyUpstream } from "../support/upstreams/tavily-upstream.ts";

// The source policy of a key, on a server with one upstream that has domain filters and ignores them: Tavily.

const tavily = await startTavilyUpstream();
const { server, createWallet, assertBooksBalance } = await createFixture({
  ...tavily.settings,
  PENNYBLACK_SEARXNG_URL: "",
});
const wallet = await createWallet("1000.00");

interface Sources {
  block?: string[];
  only?: string[];
}

async function createKey(sources: Sources | null, mode = "live", name = "agent"): Promise<{ id: string; key: string }> {
  const { status, body, text } = await server.manage(wallet.management, "POST", "/v1/keys", { mode, name, sources });
  assert.equal(status, 200, text);
  return body;
}

async function changeSources(id: string, sources: Sources | null): Promise<Reply> {
  return server.manage(wallet.management, "PATCH", `/v1/keys/${id}`, { sources });
}

/** The hosts of the results, in alphabetical order. */
function hostsOf({ body }: Reply): string[] {
  return body.results.map(({ url: address }: { url: string }) => new URL(address).hostname).toSorted();
}

function assertFiltered(reply: Reply, hosts: readonly string[], filtered: number): void {
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(hostsOf(reply), [...hosts].toSorted());
  assert.deepEqual([reply.body.n, reply.headers.get("search-filtered")], [hosts.length, String(filtered)]);
}

const hosts = [
  "example.com",
  "www.example.com",
  "notexample.com",
  "docs.example.org",
  "example.org",
  "xn--bcher-kva.example",
  "shop.xn--bcher-kva.example",
];

test("block removes a domain and its subdomains from the results, and the response states how many", async () => {
  tavily.hosts = hosts;
  const { key } = await createKey({ block: ["Example.COM", "docs.example.org", "bücher.example"] });
  assertFiltered(await server.search(key, { query: "cats" }), ["notexample.com", "example.org"], 5);
  assert.deepEqual(tavily.requests.at(-1)?.["exclude_domains"], [
    "example.com",
    "docs.example.org",
    "xn--bcher-kva.example",
  ]);
});

test("only keeps a domain and its subdomains, and block takes precedence", async () => {
  tavily.hosts = hosts;
  const { key } = await createKey({ only: ["example.com", "BÜCHER.example"], block: ["shop.bücher.example"] });
  const kept = ["example.com", "www.example.com", "xn--bcher-kva.example"];
  assertFiltered(await server.search(key, { query: "cats" }), kept, 4);
  assert.deepEqual(tavily.requests.at(-1)?.["include_domains"], ["example.com", "xn--bcher-kva.example"]);
});

test("a key without a policy gets every result, no header, and its upstream no filter", async () => {
  tavily.hosts = hosts;
  const reply = await server.search(wallet.live, { query: "cats" });
  assert.deepEqual([reply.body.n, reply.headers.get("search-filtered")], [hosts.length, null]);
  const sent = Object.keys(tavily.requests.at(-1) ?? {});
  assert.deepEqual(
    sent.filter((name) => name.endsWith("domains")),
    [],
  );
});

test("ranking selects among the results that remain, so a removed result leaves its place to another", async () => {
  tavily.hosts = Array.from(
    { length: 20 },
    (_, index) => `site-${index}.${index < 10 ? "blocked" : "allowed"}.example`,
  );
  const { key } = await createKey({ block: ["blocked.example"] });
  const reply = await server.search(key, { query: "cats", n: 5 });
  assert.deepEqual([reply.body.n, reply.headers.get("search-filtered")], [5, "10"]);
});

test("a search whose results were all removed is a paid 200 without results", async () => {
  tavily.hosts = hosts;
  const { key } = await createKey({ only: ["other.example"] });
  const before = await server.readMoney(wallet.management);
  const reply = await server.search(key, { query: "cats" });
  assertFiltered(reply, [], hosts.length);
  assert.equal(reply.headers.get("wallet-charge"), "0.01;currency=usd");
  const after = await server.readMoney(wallet.management);
  assert.equal((Number(before.balance) - Number(after.balance)).toFixed(2), "0.01");
  await assertBooksBalance();
});

test("a body cannot widen or narrow the policy", async () => {
  const { key } = await createKey({ only: ["example.com"] });
  for (const field of ["sources", "only", "block", "include_domains", "exclude_domains"]) {
    const { status, body } = await server.search(key, { query: "cats", [field]: ["example.org"] });
    assert.deepEqual([status, body.code], [400, "invalid_request"], field);
  }
});

test("a change applies within a second, replaces both lists, and has a line in the activity", async () => {
  tavily.hosts = ["example.com", "example.org"];
  const { id, key } = await createKey({ block: ["example.com"] });
  assertFiltered(await server.search(key, { query: "cats" }), ["example.org"], 1);
  const { status, body } = await changeSources(id, { only: ["Example.com."] });
  assert.deepEqual([status, body.sources], [200, { only: ["example.com"] }]);
  await until(
    "the server has the new policy",
    async () => hostsOf(await server.search(key, { query: "cats" })).join() === "example.com",
  );
  const { body: listed } = await server.manage(wallet.management, "GET", "/v1/activity?limit=1");
  const [line] = listed.activity;
  assert.deepEqual(
    [line.act, line.subject.id, line.before.sources, line.after.sources],
    ["key.change", id, { block: ["example.com"] }, { only: ["example.com"] }],
  );
  assert.equal((await changeSources(id, null)).body.sources, null);
  await until(
    "the server has the new policy",
    async () => (await server.search(key, { query: "cats" })).headers.get("search-filtered") === null,
  );
});

test("a rotated key has the same policy", async () => {
  tavily.hosts = ["example.com", "example.org"];
  const { id } = await createKey({ block: ["example.com"] });
  const rotation = { grace_seconds: 0 };
  const { body } = await server.manage(wallet.management, "POST", `/v1/keys/${id}/rotate`, rotation);
  assert.deepEqual(body.sources, { block: ["example.com"] });
  assertFiltered(await server.search(body.key, { query: "cats" }), ["example.org"], 1);
});

test("a retry returns the first answer and its count, even after the policy has changed", async () => {
  tavily.hosts = ["example.com", "example.org"];
  const { id, key } = await createKey({ block: ["example.com"] });
  const headers = { "idempotency-key": crypto.randomUUID() };
  const first = await server.search(key, { query: "cats" }, headers);
  assertFiltered(first, ["example.org"], 1);
  await changeSources(id, { block: ["example.org"] });
  await until(
    "the server has the new policy",
    async () => hostsOf(await server.search(key, { query: "cats" })).join() === "example.com",
  );
  const retry = await server.search(key, { query: "cats" }, headers);
  assert.equal(retry.text, first.text);
  const replayed = [retry.headers.get("search-filtered"), retry.headers.get("idempotent-replayed")];
  assert.deepEqual([...replayed, retry.headers.get("wallet-charge")], ["1", "true", "0.00;currency=usd"]);
});

test("a retry with another key of the wallet returns the answer only if the policy of that key allows it", async () => {
  tavily.hosts = ["example.com", "example.org"];
  const headers = { "idempotency-key": crypto.randomUUID() };
  const first = await server.search(wallet.live, { query: "cats" }, headers);
  assert.equal(first.body.n, 2);
  const stricter = await createKey({ block: ["example.com"] });
  const refused = await server.search(stricter.key, { query: "cats" }, headers);
  assert.deepEqual([refused.status, refused.body.code], [422, "idempotency_key_reused"]);
  assert.match(refused.body.detail, /Another key of the wallet/);
  const wider = await createKey({ block: ["example.net"] });
  assert.equal((await server.search(wider.key, { query: "cats" }, headers)).text, first.text);
});

test("test keys filter the made-up results, regardless of the upstreams' capabilities", async () => {
  const [all, blocked, only] = await Promise.all(
    [null, { block: ["example.com"] }, { only: ["example.com", "example.net"] }].map(async (sources) => {
      const { key } = await createKey(sources, "test");
      return server.search(key, { query: "cats", n: 20 });
    }),
  );
  assert.ok(all && blocked && only);
  const isIn =
    (...domains: string[]) =>
    (host: string) =>
      domains.some((each) => host === each || host.endsWith(`.${each}`));
  const expected = hostsOf(all).filter((host) => !isIn("example.com")(host));
  assertFiltered(blocked, expected, 20 - expected.length);
  const kept = hostsOf(all).filter(isIn("example.com", "example.net"));
  assertFiltered(only, kept, 20 - kept.length);
  assert.ok(kept.length > 0 && kept.length < 20);
});

test("a model that searches through MCP gets the allowed results, and learns that others were removed", async () => {
  tavily.hosts = ["example.com", "example.org"];
  const { key } = await createKey({ block: ["example.com"] });
  const [revision] = revisions;
  assert.ok(revision);
  const client = await connectMcp(revision, server.url, key);
  afterTests(() => client.close());
  const found = await client.call("web_search", { query: "cats" });
  assert.match(found.text, /^1 result\. 1 result was removed: this connection may not read its site\./);
  assert.ok(!JSON.stringify(found).includes("https://example.com"));
  const widened = await client.call("web_search", { query: "cats", sources: null });
  assert.equal(widened.isError, true);
  tavily.hosts = ["example.com"];
  const none = await client.call("web_search", { query: "cats" });
  assert.deepEqual([none.isError, none.structured.results], [false, []]);
  assert.match(none.text, /^The search succeeded but returned no results\. 1 result was removed/);
});

test("invalid policies are rejected with the place of each fault, and no key is created", async () => {
  const many = Array.from({ length: 101 }, (_, index) => `site-${index}.example`);
  for (const [sources, pointer] of [
    [{}, "#/sources"],
    [{ block: [] }, "#/sources/block"],
    [{ only: [] }, "#/sources/only"],
    [{ block: ["example.com", "https://example.com"] }, "#/sources/block/1"],
    [{ only: ["*.example.com"] }, "#/sources/only/0"],
    [{ block: ["com"] }, "#/sources/block/0"],
    [{ allow: ["example.com"] }, "#/sources/allow"],
    [{ block: many, only: many }, "#/sources"],
    [{ block: ["example.com"], only: ["www.example.com"] }, "#/sources/only"],
  ] as const) {
    const options = { mode: "live", name: "invalid", sources };
    const { status, body, text } = await server.manage(wallet.management, "POST", "/v1/keys", options);
    assert.deepEqual([status, body.errors?.[0]?.pointer], [400, pointer], text);
  }
  const { body: listed } = await server.manage(wallet.management, "GET", "/v1/keys?limit=100");
  assert.ok(!listed.keys.some(({ name }: { name: string }) => name === "invalid"));
});

test("a management key has no policy", async () => {
  const sources = { block: ["example.com"] };
  const options = { mode: "mgmt", name: "manager" };
  const refused = await server.manage(wallet.management, "POST", "/v1/keys", { ...options, sources });
  assert.deepEqual([refused.status, refused.body.errors[0].pointer], [400, "#/sources"]);
  const { body } = await server.manage(wallet.management, "POST", "/v1/keys", options);
  const changed = await changeSources(body.id, sources);
  assert.deepEqual([changed.status, changed.body.errors[0].pointer], [400, "#/sources"]);
  assert.equal((await changeSources(body.id, null)).status, 200);
});

test("the policy of another wallet's key can be neither read nor changed", async () => {
  const { id } = await createKey({ block: ["example.com"] });
  const other = await createWallet("1.00");
  for (const request of [["GET"], ["PATCH", { sources: null }]] as const) {
    const [method, body] = request;
    assert.equal((await server.manage(other.management, method, `/v1/keys/${id}`, body)).status, 404);
  }
  const { body } = await server.manage(wallet.management, "GET", `/v1/keys/${id}`);
  assert.deepEqual(body.sources, { block: ["example.com"] });
});

test("without an upstream that has domain filters, only is rejected before a charge, and block works", async (t) => {
  const { upstream, ...plain } = await createFixture({}, t);
  const own = await plain.createWallet("100.00");
  const create = (sources: Sources, mode = "live") =>
    plain.server.manage(own.management, "POST", "/v1/keys", { mode, name: "agent", sources });
  const refused = await create({ only: ["example.com"] });
  assert.deepEqual([refused.status, refused.body.errors[0].pointer], [400, "#/sources/only"]);
  assert.match(refused.body.detail, /no search provider of this service can restrict a search to domains/);
  assert.equal((await create({ only: ["example.com"] }, "test")).status, 200);

  const { body: blocking } = await create({ block: ["example.org"] });
  const changed = await plain.server.manage(own.management, "PATCH", `/v1/keys/${blocking.id}`, {
    sources: { only: ["example.com"] },
  });
  assert.equal(changed.status, 400);
  const all = await plain.server.search(own.live, { query: "cats" });
  const [host = ""] = hostsOf(all);
  await plain.server.manage(own.management, "PATCH", `/v1/keys/${blocking.id}`, { sources: { block: [host] } });
  const search = () => plain.server.search(blocking.key, { query: "cats" });
  await until(
    "the server has the new policy",
    async () => !hostsOf(await search()).some((each) => each.endsWith(host)),
  );

  // The operator has removed the upstream that had filters.
  const policy = JSON.stringify({ only: ["example.com"] });
  await plain.db.owner.query("update pb.keys set sources = $2 where id = $1", [blocking.id, policy]);
  await until("the server has the new policy", async () => (await search()).status === 400);
  const [before, calls] = [await plain.server.readMoney(own.management), upstream.requests.length];
  const { status, body } = await search();
  assert.deepEqual([status, body.code], [400, "invalid_request"]);
  assert.match(body.detail, /no search provider of this service can restrict a search to domains\. You were not/);
  assert.deepEqual(await plain.server.readMoney(own.management), before);
  assert.equal(upstream.requests.length, calls);
});

test("a search restricted to domains is sent only to upstreams with domain filters", async (t) => {
  tavily.hosts = ["example.com"];
  const { upstream, ...both } = await createFixture(tavily.settings, t);
  const own = await both.createWallet("1.00");
  const options = { mode: "live", name: "agent", sources: { only: ["example.com"] } };
  const { body } = await both.server.manage(own.management, "POST", "/v1/keys", options);
  assertFiltered(await both.server.search(body.key, { query: "cats" }), ["example.com"], 0);
  assert.equal(upstream.requests.length, 0);
});
