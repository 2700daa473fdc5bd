import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { operators } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";
import type { BehaviourName, BehaviourOptions } from "../support/upstreams/hostile-upstream.ts";

// Load while the first of two upstreams fails in every way and recovers. This is the short form; the long one is
//
//   PENNYBLACK_TEST_FAILOVER_SEARCHES=12000 npm test -- failover-under-load

const searchesPerPhase = Number(process.env["PENNYBLACK_TEST_FAILOVER_SEARCHES"] ?? 420) / 7;
const callers = 16;
const phases: { behaviour: BehaviourName; options?: BehaviourOptions }[] = [
  { behaviour: "ok" },
  { behaviour: "refused" },
  { behaviour: "status_503" },
  { behaviour: "status_429", options: { headers: { "retry-after": "1" } } },
  { behaviour: "slow_headers" },
  { behaviour: "wrong_types" },
  { behaviour: "ok" },
];

const second = closeAfter(await startFixtureUpstream("brave", "ok"));
const {
  upstream: first,
  server,
  createWallet,
} = await createFixture({
  ...replaceUrl("brave", second.url),
  PENNYBLACK_BRAVE_KEY: "key",
  PENNYBLACK_UPSTREAMS: "searxng,brave",
  PENNYBLACK_OPERATORS: operators,
});

test("the second upstream answers every search, each is charged once, and traffic returns to the first", async (t) => {
  const wallets = await Promise.all(Array.from({ length: 4 }, () => createWallet("1000.00")));
  const answers: { status: number; charge: string | null }[] = [];
  const stopped = new AbortController();

  async function keepSearching(key: string): Promise<void> {
    while (!stopped.signal.aborted) {
      const { status, headers } = await server.search(key, { query: "cats" });
      answers.push({ status, charge: headers.get("wallet-charge") });
    }
  }

  const searching = Promise.all(
    Array.from({ length: callers }, (_, index) => keepSearching(wallets[index % wallets.length]?.live ?? "")),
  );
  for (const { behaviour, options } of phases) {
    first.requests.length = 0;
    await first.behave(behaviour, options);
    const earlier = answers.length;
    await until("enough searches ended", () => answers.length - earlier >= searchesPerPhase, 300_000);
    t.diagnostic(`${behaviour}: the first was called ${first.requests.length} times`);
  }
  await waitForTraffic();
  stopped.abort();
  await searching;
  assert.deepEqual(
    new Set(answers.map(({ status, charge }) => `${status} ${charge}`)),
    new Set(["200 0.01;currency=usd"]),
  );
  assert.ok(second.count() > 0);
  const balances = await Promise.all(wallets.map(({ management }) => server.readMoney(management)));
  const spent = balances.reduce((sum, { balance }) => sum + 1_000 - Number(balance), 0);
  assert.equal(Math.round(spent * 100), answers.length);
  assert.deepEqual(new Set(balances.map(({ held }) => held)), new Set(["0.00"]));
});

/** Waits until the first upstream receives traffic again. */
async function waitForTraffic(): Promise<void> {
  await until("the circuit of the first upstream is closed", async () => (await stateOfFirst()) === "closed");
  const calls = first.requests.length;
  await until("the first upstream receives traffic again", () => first.requests.length - calls > 2);
}

async function stateOfFirst(): Promise<string> {
  return (await server.operate("upstreams")).body.upstreams[0]?.circuit.state;
}
