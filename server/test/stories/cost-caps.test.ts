import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { replaceConstants, replaceUrl } from "../support/replace-constants.ts";
import { listen } from "../support/services/listen.ts";
import { operators } from "../support/services/server.ts";
import { startServerProcess } from "../support/services/server-process.ts";
import { readFixture } from "../support/upstreams/provider-fixtures.ts";

// The operator's cost cap of an upstream, shared by several servers.

const costPerCall = 0.005;
const brave = { calls: 0, inFlight: 0, maxInFlight: 0 };
const { status, headers, body } = readFixture("brave", "ok");
const { url } = closeAfter(
  await listen(
    createServer((request, response) => {
      brave.calls += 1;
      brave.inFlight += 1;
      brave.maxInFlight = Math.max(brave.maxInFlight, brave.inFlight);
      request.resume();
      setTimeout(() => {
        brave.inFlight -= 1;
        response.writeHead(status, headers).end(body);
      }, 100);
    }),
  ),
);

const settings = {
  REDIS_URL: process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379",
  ...replaceUrl("brave", url),
  PENNYBLACK_SEARXNG_URL: "",
  PENNYBLACK_BRAVE_KEY: "BSAone-key-of-brave-0001",
  PENNYBLACK_BRAVE_CAP: "1.00/day",
  PENNYBLACK_OPERATORS: operators,
};
const { db, upstream, server, startServer, createWallet, assertBooksBalance } = await createFixture(settings);
const { live } = await createWallet("100.00");

async function readUpstreams() {
  return (await server.operate("upstreams")).body.upstreams;
}

test("three servers with 200 searches in flight exceed a cap of 1.00 USD by less than these cost", async (t) => {
  const more = { ...replaceConstants({ overloadedAfterMs: 3_600_000 }), ...replaceUrl("brave", url) };
  const servers = await Promise.all(
    Array.from({ length: 3 }, () => startServerProcess(db, { ...settings, ...more, PENNYBLACK_LOG_LEVEL: "warn" })),
  );
  for (const each of servers) t.after(() => each.process.kill());
  const inFlight = 200;
  const replies: { status: number; body: Record<string, unknown> }[] = [];

  /** Searches until the cap is reached. */
  async function searchUntilRefused(caller: number): Promise<void> {
    for (let isRefused = false; !isRefused; ) {
      const response = await fetch(`${servers[caller % servers.length]?.url}/v1/search`, {
        method: "POST",
        headers: { authorization: `Bearer ${live}`, "content-type": "application/json" },
        body: '{"query":"cats"}',
      });
      const answer = { status: response.status, body: (await response.json()) as Record<string, unknown> };
      replies.push(answer);
      isRefused = response.status !== 200;
    }
  }

  await Promise.all(Array.from({ length: inFlight }, (_, caller) => searchUntilRefused(caller)));
  const spent = brave.calls * costPerCall;
  const over = `${brave.calls} calls cost ${spent.toFixed(3)} USD: ${(spent - 1).toFixed(3)} USD over the cap`;
  t.diagnostic(`${over}, with up to ${brave.maxInFlight} of ${inFlight} searches in flight at the upstream`);
  assert.ok(spent >= 1 && spent - 1 <= inFlight * costPerCall, over);

  const refused = replies.filter((reply) => reply.status !== 200);
  assert.equal(refused.length, inFlight, "every caller ended with a refusal");
  for (const reply of refused) {
    const { code, charged, retryable, detail } = reply.body;
    assert.deepEqual([reply.status, code, charged, retryable], [502, "upstream_error", false, false]);
    assert.match(String(detail), /was not called, because this service has reached its own spending limit/);
  }
  assert.equal(replies.length - refused.length, brave.calls, "each call is a paid search");
  await assertBooksBalance();

  await until("another server of the cell refuses as well", async () => (await readUpstreams())[0].cap.ratio >= 1);
  const calls = brave.calls;
  const late = await server.search(live, { query: "cats" });
  assert.deepEqual([late.status, late.headers.get("search-upstreams"), brave.calls], [502, "0", calls]);
  assert.match(servers.map((each) => each.output()).join(""), /upstream cost cap reached, upstream not called/);
});

test("operators see the cap of each upstream, in the list of problems and as a metric", async () => {
  const [{ cap, keys, circuit }] = await readUpstreams();
  assert.deepEqual([cap.period, cap.amount, cap.is_shared, keys[0].key], ["day", "1.00", true, "BSAo...0001"]);
  assert.equal(circuit.state, "closed", "it did not fail");
  assert.ok(Number(cap.spent) >= 1);
  const { items } = (await server.operate("attention")).body;
  const [item] = items.filter(({ runbook }: { runbook: string }) => runbook.endsWith("/upstream-cap"));
  assert.equal(item?.severity, "page");
  assert.match(item.title, /^brave has reached its cost cap of \$1\.00 per day$/);
  assert.match(await server.readMetrics(), /pennyblack_upstream_cap_ratio\{upstream="brave"\} 1/);
});

test("the next upstream answers while one is capped, and the usage counts have the same cost", async () => {
  const withFallback = await startServer({ PENNYBLACK_SEARXNG_URL: upstream.url });
  const { calls } = brave;
  assert.equal((await withFallback.search(live, { query: "cats" })).status, 200);
  assert.equal(brave.calls, calls);
  await until("all servers have written their counts", async () => {
    const { rows } = await db.owner.query<{ cost: bigint }>(
      "select sum(cost_micros)::bigint as cost from pb.upstream_days",
    );
    return rows[0]?.cost === BigInt(calls) * 5_000n;
  });
  const [{ cap }] = await readUpstreams();
  assert.equal(Number(cap.spent).toFixed(3), (calls * costPerCall).toFixed(3));
});
