import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { operators } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";
import type { BehaviourName, BehaviourOptions } from "../support/upstreams/hostile-upstream.ts";

// Load while the first of two upstreams fails in every way and recovers. This is the short form; the long one, with 200
// searches per second, is
//
//   PENNYBLACK_TEST_FAILOVER_SECONDS=60 npm test -- failover-under-load

const longSeconds = process.env["PENNYBLACK_TEST_FAILOVER_SECONDS"];
const seconds = Number(longSeconds ?? 12);
const searchesPerSecond = longSeconds === undefined ? 40 : 200;
const phases: { behaviour: BehaviourName; options?: BehaviourOptions; share: number }[] = [
  { behaviour: "ok", share: 0.1 },
  { behaviour: "refused", share: 0.15 },
  { behaviour: "status_503", share: 0.15 },
  { behaviour: "status_429", options: { headers: { "retry-after": "1" } }, share: 0.15 },
  { behaviour: "slow_headers", share: 0.15 },
  { behaviour: "wrong_types", share: 0.1 },
  { behaviour: "ok", share: 0.2 },
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
  // Several keys, because a slow upstream causes up to a thousand searches in flight.
  const wallets = await Promise.all(Array.from({ length: 4 }, () => createWallet("1000.00")));
  const replies: Promise<{ status: number; charge: string | null }>[] = [];
  const stopped = new AbortController();

  async function searchOnce(key: string) {
    const { status, headers } = await server.search(key, { query: "cats" });
    return { status, charge: headers.get("wallet-charge") };
  }
  async function keepSearching() {
    const began = performance.now();
    while (!stopped.signal.aborted) {
      const due = Math.floor(((performance.now() - began) / 1_000) * searchesPerSecond);
      while (replies.length < due) replies.push(searchOnce(wallets[replies.length % wallets.length]?.live ?? ""));
      await wait(5);
    }
  }

  const searching = keepSearching();
  for (const { behaviour, options, share } of phases) {
    first.requests.length = 0;
    await first.behave(behaviour, options);
    await wait(share * seconds * 1_000);
    t.diagnostic(
      `${behaviour}: the first was called ${first.requests.length} times in ${(share * seconds).toFixed(1)} s`,
    );
  }
  await waitForTraffic();
  stopped.abort();
  await searching;

  const answers = await Promise.all(replies);
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
