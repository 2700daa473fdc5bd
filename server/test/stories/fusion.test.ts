import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { operators } from "../support/services/server.ts";
import { type HostileUpstream, startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// Two upstreams queried at once and their results merged. Brave costs 0.005 USD per call and Serper 0.001.

const brave = closeAfter(await startHostileUpstream());
const serper = closeAfter(await startHostileUpstream());
const { server, startServer, createWallet, assertBooksBalance } = await createFixture(({ operatorUrl }) => ({
  PENNYBLACK_OPERATOR_DATABASE_URL: operatorUrl,
  PENNYBLACK_OPERATORS: operators,
  PENNYBLACK_SEARXNG_URL: "",
  PENNYBLACK_BRAVE_URL: brave.url,
  PENNYBLACK_BRAVE_KEY: "key",
  PENNYBLACK_SERPER_URL: serper.url,
  PENNYBLACK_SERPER_KEY: "key",
  PENNYBLACK_UPSTREAMS: "brave,serper",
  PENNYBLACK_FUSION: "true",
}));
const wallet = await createWallet("10.00");

type Server = typeof server;

const json = { "content-type": "application/json" };
const page = (name: string) => ({ title: `About ${name}`, url: `https://${name}.example/`, text: `Text of ${name}.` });

const answerAsBrave = (names: string) => {
  const results = [...names].map(page).map(({ text, ...rest }) => ({ ...rest, description: text }));
  return brave.behave("status_200", { headers: json, body: JSON.stringify({ web: { results } }) });
};
const answerAsSerper = (names: string) => {
  const organic = [...names].map(page).map(({ title, url, text }) => ({ title, link: url, snippet: text }));
  return serper.behave("status_200", { headers: json, body: JSON.stringify({ organic }) });
};

/** Runs a search, and returns the order of the results, its price and how often each upstream was called. */
async function search(headers: Record<string, string> = {}, on: Server = server, key = wallet.live) {
  const before = Number((await on.readMoney(wallet.management)).balance);
  const called = [brave, serper].map(({ requests }) => requests.length);
  const reply = await on.search(key, { query: "two opinions" }, headers);
  const { balance, held } = await on.readMoney(wallet.management);
  assert.equal(held, "0.00");
  return {
    ...reply,
    order: reply.body.results?.map(({ source }: { source: string }) => source[0]).join(""),
    upstreams: reply.headers.get("search-upstreams"),
    cents: Math.round((before - Number(balance)) * 100),
    calls: [brave, serper].map(({ requests }, index) => requests.length - (called[index] ?? 0)),
  };
}

test("the results of both are merged, and the caller is charged once", async () => {
  await answerAsBrave("abc");
  await answerAsSerper("cxa");
  const reply = await search({ "rank-explain": "1" });
  assert.deepEqual([reply.status, reply.cents, reply.upstreams, reply.calls], [200, 1, "2;used=2", [1, 1]]);
  // a: ranks 1 and 3, c: 3 and 1. The others are on one list.
  assert.equal(reply.order, "acbx");
  assert.deepEqual(
    (reply.headers.get("rank-explain") ?? "").split(", ").map((member) => member.replace(/;tier.*/, "")),
    ["1;from=1;first=1;second=3", "2;from=2;first=3;second=1", "3;from=3;first=2", "4;from=4;second=2"],
  );
});

test("the cost of both calls and equal shares of the price are recorded", async () => {
  const figuresOf = async () => {
    const { upstreams } = (await server.operate("upstreams")).body;
    return upstreams.map(({ money }: { money: Record<string, string> }) => [money["revenue"], money["cost"]]);
  };
  assert.deepEqual(await figuresOf(), [
    ["0.005", "0.005"],
    ["0.005", "0.001"],
  ]);
  const readMargin = async () =>
    pluck((await server.operate("margin")).body.days, "provider", "cost", "paid_cost", "revenue");
  await until("the counters are written", async () => (await readMargin()).length === 2);
  assert.deepEqual(await readMargin(), [
    ["brave", "0.005", "0.005", "0.005"],
    ["serper", "0.001", "0.001", "0.005"],
  ]);
});

test("if one fails, the other's results are returned and charged once", async () => {
  await answerAsBrave("abc");
  await serper.behave("status_503");
  const reply = await search();
  assert.deepEqual([reply.status, reply.cents, reply.upstreams, reply.order], [200, 1, "2", "abc"]);
  await brave.behave("status_503");
  await answerAsSerper("cx");
  const other = await search();
  assert.deepEqual([other.status, other.cents, other.upstreams, other.order], [200, 1, "2", "cx"]);
});

test("if one is slow, the other's results are returned and its call is ended", async () => {
  await answerAsSerper("cx");
  await brave.behave("slow_headers");
  const reply = await search({ prefer: "wait=4" });
  assert.deepEqual([reply.status, reply.cents, reply.upstreams, reply.order], [200, 1, "2", "cx"]);
  await hungUp(brave);
});

test("if both fail, the first one's status is returned without a charge", async () => {
  await brave.behave("status_500");
  await serper.behave("status_503");
  const reply = await search();
  assert.deepEqual([reply.status, reply.cents, reply.upstreams], [500, 0, "2"]);
});

test("an empty answer beside a failure is charged as it would be from one upstream, and a failure is never empty", async (t) => {
  const fresh = await startServer({}, t);
  await answerAsBrave("");
  await serper.behave("status_503");
  const empty = await search({}, fresh);
  assert.deepEqual([empty.status, empty.body.n, empty.cents, empty.upstreams], [200, 0, 1, "2"]);
  await brave.behave("truncated_json");
  const failed = await search({}, fresh);
  assert.deepEqual([failed.status, failed.cents], [502, 0]);
});

test("an upstream with an open circuit is left out", async (t) => {
  const fresh = await startServer({}, t);
  await answerAsBrave("abc");
  await serper.behave("status_401");
  assert.deepEqual((await search({}, fresh)).calls, [1, 1]);
  await answerAsSerper("cx");
  const reply = await search({}, fresh);
  assert.deepEqual([reply.status, reply.upstreams, reply.order, reply.calls], [200, "1", "abc", [1, 0]]);
});

test("one is queried if the price does not cover both, and without the setting", async (t) => {
  await answerAsBrave("abc");
  const tavily = closeAfter(await startHostileUpstream(), t);
  // Tavily costs 0.008 USD.
  const expensive = await startServer(
    {
      PENNYBLACK_SERPER_URL: "",
      PENNYBLACK_SERPER_KEY: "",
      PENNYBLACK_TAVILY_URL: tavily.url,
      PENNYBLACK_TAVILY_KEY: "key",
      PENNYBLACK_UPSTREAMS: "brave,tavily",
    },
    t,
  );
  const reply = await search({}, expensive);
  assert.deepEqual([reply.status, reply.upstreams, reply.order, tavily.requests.length], [200, "1", "abc", 0]);
  const plain = await startServer({ PENNYBLACK_FUSION: "" }, t);
  assert.deepEqual((await search({}, plain)).calls, [1, 0]);
});

test("test keys and replays call no upstream", async (t) => {
  const fresh = await startServer({}, t);
  await answerAsBrave("abc");
  await answerAsSerper("cx");
  const free = await search({}, fresh, wallet.test);
  assert.deepEqual([free.status, free.cents, free.upstreams, free.calls], [200, 0, "1", [0, 0]]);
  const key = { "idempotency-key": "fusion-1" };
  const first = await search(key, fresh);
  const replay = await search(key, fresh);
  assert.deepEqual([first.cents, first.upstreams, first.calls], [1, "2;used=2", [1, 1]]);
  assert.deepEqual([replay.text, replay.cents, replay.calls], [first.text, 0, [0, 0]]);
});

test("a search that the caller abandons counts both calls as unpaid, and ends both", async (t) => {
  const fresh = await startServer({}, t);
  await brave.behave("slow_headers");
  await serper.behave("slow_headers");
  const called = [brave, serper].map(({ requests }) => requests.length);
  const leaving = new AbortController();
  const abandoned = fresh.search(wallet.live, { query: "two opinions" }, {}, leaving.signal);
  await until("both are called", () =>
    [brave, serper].every(({ requests }, index) => requests.length > (called[index] ?? 0)),
  );
  leaving.abort();
  await assert.rejects(abandoned);
  await hungUp(brave);
  await hungUp(serper);
  const unpaid = /pennyblack_unpaid_upstream_calls_total\{upstream="(\w+)",cause="caller"\} 1/g;
  const readUnpaid = async () => [...(await fresh.readMetrics()).matchAll(unpaid)].map(([, name]) => name);
  await until("both calls are counted", async () => new Set(await readUnpaid()).size === 2);
  await assertBooksBalance();
});

async function hungUp({ requests }: HostileUpstream): Promise<void> {
  await until("the call is ended", () => requests.at(-1)?.hungUp.aborted === true);
}
