import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { closeAfter } from "../support/close-after.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { listen } from "../support/services/listen.ts";
import { operators } from "../support/services/server.ts";
import { readFixture } from "../support/upstreams/provider-fixtures.ts";

// Several keys of one upstream, each with a circuit.

const keys = { empty: "BSAempty-key-of-brave-0001", good: "BSAgood-key-of-brave-0002" };

/** Brave, which answers with another fixture for each key. */
const brave = { fixtures: new Map<string, string>(), calls: [] as string[] };
const { url } = closeAfter(
  await listen(
    createServer((request, response) => {
      const key = String(request.headers["x-subscription-token"]);
      brave.calls.push(key);
      const { status, headers, body } = readFixture("brave", brave.fixtures.get(key) ?? "ok");
      request.resume().once("end", () => response.writeHead(status, headers).end(body));
    }),
  ),
);

const { server, createWallet, assertBooksBalance } = await createFixture({
  ...replaceUrl("brave", url),
  PENNYBLACK_SEARXNG_URL: "",
  PENNYBLACK_BRAVE_KEY: `${keys.empty}, ${keys.good}`,
  PENNYBLACK_OPERATORS: operators,
});
const { live } = await createWallet("100.00");

/** Sets the fixture of each key, and closes the circuits. */
function answerWith(fixtures: Partial<typeof keys>): void {
  brave.fixtures = new Map(
    Object.entries(fixtures).map(([name, fixture]) => [keys[name as keyof typeof keys], fixture]),
  );
  brave.calls.length = 0;
  server.app.reload();
}

function countCalls(key: string): number {
  return brave.calls.filter((each) => each === key).length;
}

async function readKeys() {
  const { upstreams } = (await server.operate("upstreams")).body;
  return upstreams[0].keys;
}

test("when one of two keys is out of quota, no search fails, and only those in flight call it", async (t) => {
  answerWith({ empty: "empty-account" });
  const [inFlight, rounds] = [20, 10];
  for (let round = 0; round < rounds; round += 1) {
    const replies = await Promise.all(Array.from({ length: inFlight }, () => server.search(live, { query: "cats" })));
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
    if (round === 0) assert.ok(countCalls(keys.empty) <= inFlight);
  }
  t.diagnostic(`${inFlight * rounds} searches, ${countCalls(keys.empty)} calls to the key without quota`);
  assert.ok(countCalls(keys.empty) <= inFlight, `${countCalls(keys.empty)}`);
  assert.equal(countCalls(keys.good), inFlight * rounds);
  await assertBooksBalance();
});

test("operators see each key by its first and last four characters, with its state and last failure", async () => {
  answerWith({ empty: "empty-account" });
  await server.search(live, { query: "cats" });
  const [empty, good] = await readKeys();
  assert.deepEqual([empty.key, empty.circuit.state, empty.calls, empty.failures], ["BSAe...0001", "open", 1, 1]);
  assert.equal(empty.last_failure.reason, "account_empty");
  const minutes = (Date.parse(empty.circuit.until) - Date.now()) / 60_000;
  assert.ok(minutes > 4 && minutes <= 5, `${minutes}`);
  assert.deepEqual(
    [good.key, good.circuit, good.calls, good.failures],
    ["BSAg...0002", { state: "closed", until: null }, 1, 0],
  );
  const [upstream] = (await server.operate("upstreams")).body.upstreams;
  assert.equal(upstream.circuit.state, "closed");
  assert.doesNotMatch(JSON.stringify(upstream) + server.logged(), /key-of-brave/);
});

test("when no key can be used, a search fails immediately and is not charged", async () => {
  answerWith({ empty: "empty-account", good: "bad-credential" });
  assert.equal((await server.search(live, { query: "cats" })).status, 502);
  assert.equal(brave.calls.length, 2);
  const { status, headers, body } = await server.search(live, { query: "cats" });
  assert.equal(brave.calls.length, 2, "no further call");
  assert.deepEqual([status, body.code, body.charged, body.retryable], [502, "upstream_error", false, false]);
  assert.deepEqual([headers.get("search-upstreams"), headers.get("wallet-charge")], ["0", "0.00;currency=usd"]);
  assert.match(body.detail, /^The search provider is failing and was not called\. You were not charged\./);
  const [upstream] = (await server.operate("upstreams")).body.upstreams;
  assert.equal(upstream.circuit.state, "open");
  await assertBooksBalance();
});
