import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { choosePeriod } from "../support/data/choose-period.ts";
import type { Reply } from "../support/services/server.ts";
import { startTavilyUpstream } from "../support/upstreams/tavily-upstream.ts";

// The domain lists of the compatibility endpoints, which narrow the source policy of a key, on a server whose upstream has
// domain filters and ignores them. source-policy.test.ts has the policy itself.

const tavily = await startTavilyUpstream();
const { server, createWallet, assertBooksBalance } = await createFixture({
  ...tavily.settings,
  PENNYBLACK_SEARXNG_URL: "",
});
const wallet = await createWallet("1000.00");

interface Lists {
  include?: string[];
  exclude?: string[];
}

/** The lists as each vendor's clients send them. */
const dialects: Record<string, (lists: Lists) => Record<string, unknown>> = {
  tavily: ({ include, exclude }) => ({ include_domains: include, exclude_domains: exclude }),
  exa: ({ include, exclude }) => ({ includeDomains: include, excludeDomains: exclude }),
  perplexity: ({ include = [], exclude = [] }) => ({
    search_domain_filter: [...include, ...exclude.map((domain) => `-${domain}`)],
  }),
};

async function createKey(own: object): Promise<{ id: string; key: string }> {
  const options = { mode: "live", name: "agent", ...own };
  const { status, body, text } = await server.manage(wallet.management, "POST", "/v1/keys", options);
  assert.equal(status, 200, text);
  return body;
}

function send(
  dialect: string,
  key: string,
  lists: Lists,
  { headers = {}, at = server }: { headers?: Record<string, string>; at?: Pick<typeof server, "request"> } = {},
): Promise<Reply> {
  return at.request(`/compat/${dialect}/search`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify({ query: "cats", ...dialects[dialect]?.(lists) }),
  });
}

function assertFiltered(reply: Reply, hosts: readonly string[], filtered: number): void {
  assert.equal(reply.status, 200, reply.text);
  const found = reply.body.results.map(({ url }: { url: string }) => new URL(url).hostname);
  assert.deepEqual(found.toSorted(), [...hosts].toSorted());
  assert.equal(reply.headers.get("search-filtered"), String(filtered));
}

const hosts = ["example.com", "docs.example.com", "notexample.com", "example.org", "shop.xn--bcher-kva.example"];

for (const name of Object.keys(dialects)) {
  test(`${name}: lists of domains select the results of a key without a policy`, async () => {
    tavily.hosts = hosts;
    const search = (lists: Lists) => send(name, wallet.live, lists);
    assertFiltered(await search({ include: ["Example.com"] }), ["example.com", "docs.example.com"], 3);
    assert.deepEqual(tavily.requests.at(-1)?.["include_domains"], ["example.com"]);
    assertFiltered(await search({ include: ["bücher.example"] }), ["shop.xn--bcher-kva.example"], 4);
    assertFiltered(await search({ exclude: ["bücher.example", "xn--bcher-kva.example"] }), hosts.slice(0, 4), 1);
    assert.deepEqual(tavily.requests.at(-1)?.["exclude_domains"], ["xn--bcher-kva.example"]);
    assertFiltered(await search({ include: ["example.com"], exclude: ["docs.example.com"] }), ["example.com"], 4);
  });

  test(`${name}: lists of domains narrow the policy of a key and never widen it`, async () => {
    tavily.hosts = hosts;
    const only = await createKey({ sources: { only: ["example.com", "example.net"], block: ["www.example.com"] } });
    const search = (lists: Lists) => send(name, only.key, lists);
    assertFiltered(await search({ include: ["docs.example.com", "example.org"] }), ["docs.example.com"], 4);
    assert.deepEqual(tavily.requests.at(-1)?.["include_domains"], ["docs.example.com"]);
    assertFiltered(await search({ exclude: ["docs.example.com"] }), ["example.com"], 4);
    const calls = tavily.requests.length;
    for (const include of [["example.org"], ["www.example.com"]]) {
      const { status, body, text, headers } = await search({ include });
      assert.deepEqual(
        [status, body.code, headers.get("wallet-charge")],
        [400, "invalid_request", "0.00;currency=usd"],
      );
      assert.match(text, /have no allowed domain in common\. You were not charged/);
    }
    assert.equal(tavily.requests.length, calls);

    const block = await createKey({ sources: { block: ["docs.example.com", "example.org"] } });
    assertFiltered(await send(name, block.key, { include: ["example.com", "example.org"] }), ["example.com"], 4);
    const exclude = ["notexample.com"];
    assertFiltered(await send(name, block.key, { exclude }), ["example.com", "shop.xn--bcher-kva.example"], 3);
  });

  test(`${name}: a search whose results were all removed is a paid 200 without results`, async () => {
    tavily.hosts = hosts;
    const reply = await send(name, wallet.live, { include: ["other.example"] });
    assertFiltered(reply, [], hosts.length);
    assert.equal(reply.headers.get("wallet-charge"), "0.01;currency=usd");
  });

  test(`${name}: without an upstream that has domain filters, a list to include is refused and one to exclude works`, async (t) => {
    const { upstream, ...plain } = await createFixture({}, t);
    const own = await plain.createWallet("1.00");
    const refused = await send(name, own.live, { include: ["example.com"] }, { at: plain.server });
    assert.deepEqual([refused.status, refused.body.code], [400, "invalid_request"]);
    const shape = { tavily: refused.body.detail.error, exa: refused.body.error, perplexity: refused.body.message };
    assert.match(
      shape[name as keyof typeof shape],
      /is not possible: no search provider of this service can restrict a search to domains\. Remove it, or add `domains` to `compat\.ignore` of the key/,
    );
    assert.equal(refused.headers.get("wallet-charge"), "0.00;currency=usd");
    assert.equal(upstream.requests.length, 0);

    const headers = { "pennyblack-ignore": "domains" };
    const ignored = await send(name, own.live, { include: ["example.com"] }, { at: plain.server, headers });
    assert.deepEqual([ignored.status, ignored.headers.get("search-filtered")], [200, null]);
    const [{ url }] = ignored.body.results;
    const excluded = await send(name, own.live, { exclude: [new URL(url).hostname] }, { at: plain.server });
    assert.equal(excluded.status, 200, excluded.text);
    assert.ok(Number(excluded.headers.get("search-filtered")) > 0);
    assert.ok(!excluded.text.includes(url));
    assert.equal((await plain.server.readMoney(own.management)).balance, "0.98");
    // The results of test keys are made up.
    const made = await send(name, own.test, { include: ["example.com"] }, { at: plain.server });
    assert.deepEqual([made.status, made.headers.get("search-filtered") !== null], [200, true]);
  });
}

test("an Idempotency-Key belongs to one query with one list of domains", async () => {
  tavily.hosts = hosts;
  const headers = { "idempotency-key": crypto.randomUUID() };
  const first = await send("exa", wallet.live, { include: ["example.com"] }, { headers });
  assert.equal(first.status, 200);
  const retry = await send("exa", wallet.live, { include: ["example.com"] }, { headers });
  assert.deepEqual([retry.headers.get("idempotent-replayed"), retry.body.results], ["true", first.body.results]);
  for (const lists of [{}, { include: ["example.org"] }, { exclude: ["example.com"] }]) {
    const { status, body } = await send("exa", wallet.live, lists, { headers });
    assert.deepEqual([status, body.code], [422, "idempotency_key_reused"]);
  }
});

test("a free repetition is of the same domains, and ends when the policy of the key changes", async () => {
  tavily.hosts = hosts;
  const { id, key } = await createKey({ compat: { repeat: choosePeriod() } });
  const search = (lists: Lists) => send("tavily", key, lists);
  const isFree = ({ headers }: Reply) => headers.get("wallet-charge") === "0.00;currency=usd";
  for (const lists of [{}, { include: ["example.com"] }, { exclude: ["example.com"] }]) {
    assert.equal(isFree(await search(lists)), false);
    assert.equal(isFree(await search(lists)), true);
  }
  await server.manage(wallet.management, "PATCH", `/v1/keys/${id}`, { sources: { block: ["example.org"] } });
  await until("the server has the new policy", async () => !(await search({})).text.includes("https://example.org"));
  await assertBooksBalance();
});
