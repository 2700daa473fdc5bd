import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { closeAfter } from "../support/close-after.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { operators } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";

// Searches while every circuit is open. Run this file directly to see how long they take:
//
//   node server/test/stories/open-circuits.long.test.ts

const second = closeAfter(await startFixtureUpstream("brave", "ok"));
const {
  upstream: first,
  server,
  createWallet,
  assertBooksBalance,
} = await createFixture({
  ...replaceUrl("brave", second.url),
  PENNYBLACK_BRAVE_KEY: "key",
  PENNYBLACK_UPSTREAMS: "searxng,brave",
  PENNYBLACK_OPERATORS: operators,
});
const { live } = await createWallet("100.00");
const countCalls = (): number => first.requests.length + second.count();

interface Timed {
  status: number;
  queried: string | null;
  ms: number;
}

async function search(): Promise<Timed> {
  const startedAt = performance.now();
  const { status, headers } = await server.search(live, { query: "cats" });
  return { status, queried: headers.get("search-upstreams"), ms: performance.now() - startedAt };
}

function describeMs(replies: readonly Timed[]): string {
  const sorted = replies.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const at = (part: number): string => (sorted[Math.floor((sorted.length - 1) * part)] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, slowest ${at(1)} ms`;
}

const cases = {
  "both do not answer": async () => {
    await first.behave("slow_headers");
    second.stall();
  },
  "both are out of quota": async () => {
    await first.behave("status_402");
    second.serve("brave", "empty-account");
  },
  "both are throttled and name a time": async () => {
    await first.behave("status_429", { headers: { "retry-after": "60" } });
    second.serve("brave", "empty-account");
  },
};

for (const [name, prepare] of Object.entries(cases)) {
  test(`all circuits are open, because ${name}: searches fail immediately, and no call is sent`, async (t) => {
    await prepare();
    server.app.reload();
    const opening = await Promise.all([search(), search(), search()]);
    t.diagnostic(`while the circuits were closed: ${describeMs(opening)}`);
    assert.equal(opening[0]?.queried, "2");
    const calls = countCalls();
    // Each upstream has one trial when its cool-down has ended; these two searches are likely to be them.
    const trials = Promise.all([search(), search()]);
    const replies: Timed[] = [];
    for (let count = 0; count < 20; count += 1) replies.push(await search());
    replies.push(...(await trials));
    const atOnce = replies.filter(({ queried }) => queried === "0");
    t.diagnostic(`while they were open: ${atOnce.length} of ${replies.length} searches, ${describeMs(atOnce)}`);
    assert.ok(replies.every(({ status }) => status >= 400));
    assert.ok(atOnce.length >= 18 && countCalls() - calls <= 2, `${atOnce.length}, ${countCalls() - calls} calls`);
    await assertBooksBalance();
  });
}
