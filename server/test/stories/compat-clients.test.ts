import assert from "node:assert/strict";
import { after, mock, test } from "node:test";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { type ClientOutcome, loadVendorClients, loadVendorModules } from "../support/clients/vendor-clients.ts";
import { closeAfter } from "../support/close-after.ts";
import { choosePeriod } from "../support/data/choose-period.ts";
import { startLossyProxy } from "../support/services/lossy-proxy.ts";
import type { TestWallet } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";

// The vendors' own clients against the compatibility endpoints. After each case, the ledger must match what the client
// returned to its program.

const { server, upstream, createWallet, assertBooksBalance } = await createFixture();
const clients = await loadVendorClients();
// @langchain/tavily prints every response that is an error.
mock.method(console, "log", () => undefined);

/** Rows of the matrix that is printed at the end. */
const matrix = new Map<string, Record<string, string>>();

interface Case {
  name: string;
  /** Balance of the wallet before the case. Default: 1.00. */
  balance?: string;
  prepare?: () => Promise<void>;
  query?: string;
  key?: (wallet: TestWallet) => string;
  hasOwnTimeout?: boolean;
  /** Matches the text of the error. Undefined if results are expected. */
  error?: RegExp;
  isEmpty?: boolean;
  /** Charged searches. */
  paid: number;
}

const cases: Case[] = [
  { name: "search", paid: 1 },
  { name: "empty result", prepare: () => upstream.behave("ok", { hits: 0 }), isEmpty: true, paid: 1 },
  { name: "401", key: () => "pb_live_wrong", error: /You were not charged. Send the whole key/, paid: 0 },
  { name: "400", query: "x".repeat(2_100), error: /The query has 2100 characters, and the limit is 2048/, paid: 0 },
  { name: "402", balance: "0.00", error: /You were not charged\. Top up at http\S+ and retry/, paid: 0 },
  { name: "429", query: "test:rate_limited", key: ({ test: key }) => key, error: /You were not charged/, paid: 0 },
  { name: "503", prepare: () => upstream.behave("status_503"), error: /search provider returned an error/, paid: 0 },
  { name: "504", query: "test:upstream_timeout", key: ({ test: key }) => key, error: /You were not charged/, paid: 0 },
  {
    name: "own timeout",
    prepare: () => upstream.behave("stall_in_body"),
    hasOwnTimeout: true,
    error: /timed out|timeout/i,
    paid: 0,
  },
];

/** Dialects whose vendor returns a score. */
const scoredDialects = ["tavily", "exa"];

/**
 * Filters of programs. Tavily recommends a minimum score without naming one:
 * https://docs.tavily.com/documentation/best-practices/best-practices-search
 */
const scoreFilters: Record<string, (score: number) => boolean> = {
  "score > 0.5": (score) => score > 0.5,
  "score >= 0.5": (score) => score >= 0.5,
  "score && score > 0.7": (score) => Boolean(score) && score > 0.7,
};

for (const client of clients) {
  for (const each of cases) {
    if (each.hasOwnTimeout && client.timeoutSeconds === undefined) {
      record(each.name, client.name, "no such option");
      continue;
    }
    test(`${client.name}: ${each.name}`, async () => {
      const wallet = await createWallet(each.balance ?? "1.00");
      await each.prepare?.();
      const settings = {
        baseUrl: `${server.url}/compat/${client.dialect}`,
        key: each.key?.(wallet) ?? wallet.live,
        ...(each.hasOwnTimeout && { timeoutSeconds: client.timeoutSeconds ?? 0 }),
      };
      const outcome = await client.search(settings, each.query ?? "cats");
      await upstream.behave("ok");
      assertOutcome(outcome, each, client.name);
      await assertPaid(wallet, each.balance ?? "1.00", each.paid);
      record(
        each.name,
        client.name,
        `${"urls" in outcome ? `${outcome.urls.length} results` : "error"}, ${cents(each.paid)}`,
      );
    });
  }

  test(`${client.name}: a retry after a failure is paid for once`, async () => {
    const wallet = await createWallet("1.00");
    const settings = { baseUrl: `${server.url}/compat/${client.dialect}`, key: wallet.live, maxRetries: 2 };
    const before = upstream.requests.length;
    await upstream.behave("status_500");
    const search = client.search(settings, "cats");
    await until("the upstream is queried", () => upstream.requests.length > before);
    const first = client.retries ? undefined : await search;
    await upstream.behave("ok");
    if (first) assert.ok("error" in first);
    const outcome = first ? await client.search(settings, "cats") : await search;
    assert.ok("urls" in outcome && outcome.urls.length > 0, JSON.stringify(outcome));
    await assertPaid(wallet, "1.00", 1);
    record("retry", client.name, `${client.retries ? "by the client" : "by the caller"}, ${cents(1)}`);
  });

  test(`${client.name}: scores are from 0 to 1 and never rise, and a filter by score keeps results`, async () => {
    const { test: key } = await createWallet();
    const outcome = await client.search({ baseUrl: `${server.url}/compat/${client.dialect}`, key }, "cats");
    assert.ok("scores" in outcome);
    if (!scoredDialects.includes(client.dialect)) {
      assert.deepEqual(new Set(outcome.scores), new Set([undefined]), "the vendor has no score");
      return record("score", client.name, "none");
    }
    const scores = outcome.scores.map((score) => score ?? assert.fail("a result has no score"));
    assert.ok(scores.every((score) => score > 0 && score <= 1));
    assert.deepEqual(
      scores,
      scores.toSorted((a, b) => b - a),
    );
    for (const [source, keeps] of Object.entries(scoreFilters))
      assert.ok(scores.filter(keeps).length > 0, `${source} keeps no result of ${scores.join()}`);
    record("score", client.name, scores.join(", "));
  });

  for (const { row, compat, paid } of [
    { row: "lost response", compat: null, paid: 2 },
    { row: "lost response, repeat", compat: { repeat: choosePeriod() }, paid: 1 },
  ]) {
    test(`${client.name}: ${row}: the retry is ${paid === 1 ? "not charged again" : "charged again"}`, async (t) => {
      const wallet = await createWallet("1.00");
      const body = { mode: "live", name: "agent", compat };
      const { body: created } = await server.manage(wallet.management, "POST", "/v1/keys", body);
      const proxy = closeAfter(await startLossyProxy(server.url), t);
      const settings = { baseUrl: `${proxy.url}/compat/${client.dialect}`, key: created.key, maxRetries: 2 };
      const first = await client.search(settings, "cats");
      assert.deepEqual(proxy.lost, [200], "the search whose response is lost was charged");
      assert.equal("error" in first, !client.retries, JSON.stringify(first));
      const outcome = client.retries ? first : await client.search(settings, "cats");
      assert.ok("urls" in outcome && outcome.urls.length > 0, JSON.stringify(outcome));
      await assertPaid(wallet, "1.00", paid);
      record(row, client.name, `${client.retries ? "by the client" : "by the caller"}, ${cents(paid)}`);
    });
  }
}

function assertOutcome(outcome: ClientOutcome, { error, isEmpty }: Case, client: string): void {
  // The tool of LangChain turns an empty list into an error for the model.
  if (isEmpty && client === "@langchain/tavily") assert.match(JSON.stringify(outcome), /No search results found/);
  else if (isEmpty) assert.deepEqual(outcome, { urls: [], scores: [] });
  else if (error) assert.match("error" in outcome ? outcome.error : JSON.stringify(outcome), error);
  else assert.ok("urls" in outcome && outcome.urls.length > 0, JSON.stringify(outcome));
}

async function assertPaid(wallet: TestWallet, before: string, paid: number): Promise<void> {
  const expected = { balance: (Number(before) - paid / 100).toFixed(2), held: "0.00" };
  // A search that the client abandons is released after its connection has closed.
  await until("the hold is released", async () => (await server.readMoney(wallet.management)).held === "0.00");
  assert.deepEqual(await server.readMoney(wallet.management), expected);
}

function cents(count: number): string {
  return count === 0 ? "not charged" : `charged 0.0${count}`;
}

function record(row: string, column: string, text: string): void {
  matrix.set(row, { ...matrix.get(row), [column]: text });
}

/** A program that only knows its vendor: it reads two variables from its environment. */
const agents: Record<string, { urlVariable: string; keyVariable: string; findPages: () => Promise<string[]> }> = {
  tavily: {
    urlVariable: "TAVILY_API_BASE",
    keyVariable: "TAVILY_API_KEY",
    findPages: async () => {
      const { TavilySearch } = (await loadVendorModules()).langchain;
      const found = await new TavilySearch({ apiBaseUrl: process.env["TAVILY_API_BASE"] }).invoke({ query: "cats" });
      return "results" in found ? found.results.map(({ url }) => url) : [found.error];
    },
  },
  perplexity: {
    urlVariable: "PERPLEXITY_BASE_URL",
    keyVariable: "PERPLEXITY_API_KEY",
    findPages: async () => {
      const { default: Perplexity } = (await loadVendorModules()).perplexity;
      const { results } = await new Perplexity().search.create({ query: "cats" });
      return results.map(({ url }) => url);
    },
  },
  exa: {
    urlVariable: "EXA_API_BASE",
    keyVariable: "EXA_API_KEY",
    findPages: async () => {
      const { Exa } = (await loadVendorModules()).exa;
      const { results } = await new Exa(undefined, process.env["EXA_API_BASE"]).search("cats");
      return results.map(({ url }) => url);
    },
  },
};

for (const [name, { urlVariable, keyVariable, findPages }] of Object.entries(agents)) {
  test(`an agent moves from ${name} to Pennyblack with two environment variables`, async (t) => {
    const vendor = closeAfter(await startFixtureUpstream(name, "ok"), t);
    const wallet = await createWallet("1.00");

    Object.assign(process.env, { [urlVariable]: vendor.url, [keyVariable]: "a-vendor-key" });
    const fromVendor = await findPages();
    assert.ok(vendor.count() === 1 && fromVendor.every((url) => URL.canParse(url)), fromVendor.join());

    Object.assign(process.env, { [urlVariable]: `${server.url}/compat/${name}`, [keyVariable]: wallet.live });
    const fromPennyblack = await findPages();
    assert.ok(fromPennyblack.length > 0 && fromPennyblack.every((url) => URL.canParse(url)), fromPennyblack.join());
    assert.equal(vendor.count(), 1);
    await assertPaid(wallet, "1.00", 1);
  });
}

test("the books balance", assertBooksBalance);

after(() => {
  mock.restoreAll();
  console.table(Object.fromEntries(matrix));
});
