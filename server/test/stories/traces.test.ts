import assert from "node:assert/strict";
import { test } from "node:test";
import { startDelayedUpstream } from "../faults/crashes/delayed-upstream.ts";
import { createFixture } from "../fixture.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import type { Reply } from "../support/services/server.ts";
import { attributesOf, type ReceivedSpan, spansBelow, startTraceReceiver } from "../support/services/trace-receiver.ts";

const canary = "a secret query";

const upstream = closeAfter(await startDelayedUpstream());
const receiver = closeAfter(await startTraceReceiver());
// The exporter sends every five seconds.
const { server, startServer, createWallet } = await createFixture({
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  PENNYBLACK_SEARXNG_URL: upstream.url,
});
const wallet = await createWallet("1.00");

const requestIdOf = (reply: Reply): string => reply.headers.get("request-id") ?? "";

/** The trace of a search. The root span arrives last, because it ends last. */
async function traceOf(requestId: string): Promise<{ root: ReceivedSpan; below: ReceivedSpan[] }> {
  const root = await receiver.untilReceived(
    "the search is traced",
    (span) => attributesOf(span)["pennyblack.request_id"] === requestId,
  );
  return { root, below: spansBelow(root, receiver.spans) };
}

const outline = (spans: ReceivedSpan[], all: ReceivedSpan[]) =>
  spans.map(({ name, parentSpanId }) => [name, all.find(({ spanId }) => spanId === parentSpanId)?.name]);

test("a paid search has a root span and a span for each step, and the log has its trace id", async () => {
  const reply = await server.search(wallet.live, { query: canary });
  assert.equal(reply.status, 200);
  const { root, below } = await traceOf(requestIdOf(reply));
  assert.deepEqual(outline(below, [root, ...below]), [
    ["auth", "POST /v1/search"],
    ["hold", "POST /v1/search"],
    ["upstream", "POST /v1/search"],
    ["query searxng", "upstream"],
    ["rank", "POST /v1/search"],
    ["capture", "POST /v1/search"],
  ]);
  assert.equal(root.parentSpanId, undefined);
  assert.deepEqual(attributesOf(root), {
    "pennyblack.request_id": requestIdOf(reply),
    "pennyblack.outcome": "ok",
    "pennyblack.mode": "live",
    "http.response.status_code": 200,
  });
  for (const { startTimeUnixNano, endTimeUnixNano } of below) {
    assert.ok(BigInt(startTimeUnixNano) >= BigInt(root.startTimeUnixNano) - 1_000_000n);
    assert.ok(BigInt(endTimeUnixNano) <= BigInt(root.endTimeUnixNano) + 1_000_000n);
  }
  const line = server
    .logged()
    .split("\n")
    .find((each) => each.includes(requestIdOf(reply)) && each.includes("request completed"));
  assert.equal(JSON.parse(line ?? "{}").trace_id, root.traceId);
});

test("a ledger statement is a separate trace, linked to each of its searches", async () => {
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, index) => server.search(wallet.live, { query: `${canary} ${index}` })),
  );
  const roots = await Promise.all(replies.map(async (reply) => (await traceOf(requestIdOf(reply))).root));
  for (const kind of ["hold", "capture"]) {
    await receiver.untilReceived("the last batch", ({ name }) => name === `ledger ${kind}`);
    const batches = receiver.spans.filter(({ name }) => name === `ledger ${kind}`);
    const linked = batches.flatMap(({ links = [] }) => links.map(({ spanId }) => spanId));
    for (const { spanId } of roots) assert.equal(linked.filter((each) => each === spanId).length, 1, kind);
    for (const batch of batches) {
      assert.equal(batch.parentSpanId, undefined);
      assert.equal(attributesOf(batch)["pennyblack.batch_size"], batch.links?.length);
    }
  }
});

test("a search that fails upstream has the reason on each failed span and a release span", async () => {
  upstream.keepWaiting("fails");
  const running = server.search(wallet.live, { query: "fails" });
  await until("the upstream is called", () => upstream.isWaiting("fails"));
  upstream.answer("fails", 503);
  const reply = await running;
  assert.equal(reply.body.code, "upstream_error");
  const { root, below } = await traceOf(requestIdOf(reply));
  assert.equal(attributesOf(root)["pennyblack.outcome"], "upstream_error");
  const byName = new Map(below.map((span) => [span.name, span]));
  const attempt = byName.get("query searxng");
  assert.ok(attempt);
  assert.deepEqual(attributesOf(attempt), {
    "pennyblack.upstream": "searxng",
    "http.response.status_code": 503,
    "pennyblack.outcome": "status",
  });
  assert.deepEqual(
    [attempt.status.code, byName.get("upstream")?.status.code, byName.get("hold")?.status.code],
    [2, 2, 0],
  );
  assert.ok(byName.has("release"));
});

test("a caller's trace is linked and not forwarded to the upstream", async () => {
  const [traceId, spanId] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
  const reply = await server.search(wallet.live, { query: canary }, { traceparent: `00-${traceId}-${spanId}-01` });
  const { root } = await traceOf(requestIdOf(reply));
  assert.notEqual(root.traceId, traceId);
  assert.deepEqual(pluck(root.links ?? [], "traceId", "spanId"), [[traceId, spanId]]);
  assert.ok(upstream.headers.length > 0);
  for (const headers of upstream.headers) assert.ok(!("traceparent" in headers) && !("tracestate" in headers));

  for (const nonsense of ["00-nonsense", `00-${"0".repeat(32)}-${spanId}-01`, `ff-${traceId}-${spanId}-01`]) {
    const other = await server.search(wallet.live, { query: canary }, { traceparent: nonsense });
    assert.deepEqual([other.status, (await traceOf(requestIdOf(other))).root.links ?? []], [200, []]);
  }
});

test("traces contain no query, key, wallet or upstream URL", async () => {
  await receiver.untilReceived("any span", () => true);
  const text = receiver.text();
  for (const secret of [
    canary,
    wallet.live,
    wallet.walletId,
    wallet.liveKeyId,
    upstream.url,
    new URL(upstream.url).host,
  ]) {
    assert.ok(!text.includes(secret), secret);
  }
});

test("OTEL_TRACES_SAMPLER applies regardless of the caller's traceparent", async (t) => {
  const other = closeAfter(await startTraceReceiver(), t);
  const sampler = { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" };
  const unsampled = await startServer({ OTEL_EXPORTER_OTLP_ENDPOINT: other.url, ...sampler }, t);
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const { status } = await unsampled.search(wallet.test, { query: canary }, { traceparent });
  assert.equal(status, 200);
  assert.ok(!unsampled.logged().includes("trace_id"));
  // Closing a server flushes its exporter.
  await unsampled.close();
  assert.deepEqual(other.spans, []);
});

test("an unavailable collector affects neither searches nor shutdown", async (t) => {
  const alone = await startServer({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" }, t);
  assert.equal((await alone.search(wallet.test, { query: canary })).status, 200);
  await alone.close();
});
