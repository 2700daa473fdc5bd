import assert from "node:assert/strict";
import { test } from "node:test";
import { createProcessFigures } from "./process-figures.ts";

test("reports rate, errors and latency of the last seconds, with errors only of live requests that the caller did not cause", async () => {
  let now = 1_000_000;
  const figures = createProcessFigures(() => now);
  try {
    const none = { searches: 0, replays: 0, refusals: 0, attempts: 0, own_errors: 0, upstream_errors: 0, p95_ms: null };
    assert.deepEqual(figures.read().recent, none);
    for (let count = 0; count < 18; count += 1) figures.recordRequest({ kind: "search", ms: 100, fault: "none" });
    figures.recordRequest({ kind: "refusal", ms: 9_000, fault: "ours" });
    figures.recordRequest({ kind: "search", ms: 2_000, fault: "upstream" });
    figures.recordRequest({ kind: "search", ms: 60_000, fault: undefined });
    for (const kind of ["refusal", "refusal", "replay", "unauthenticated", "unknown"] as const)
      figures.recordRequest({ kind, ms: 60_000, fault: undefined });
    now += 1_000;
    const { recent, searches_per_second: rate } = figures.read();
    assert.equal(rate, 2);
    assert.deepEqual([recent.searches, recent.replays, recent.refusals], [20, 1, 3]);
    assert.deepEqual([recent.attempts, recent.own_errors, recent.upstream_errors], [20, 1, 1]);
    assert.ok(recent.p95_ms !== null && recent.p95_ms >= 2_000 && recent.p95_ms <= 2_300, String(recent.p95_ms));
    now += 10_000;
    assert.deepEqual([figures.read().searches_per_second, figures.read().recent.searches], [0, 20]);
    now += 50_000;
    assert.deepEqual(figures.read().recent, none);

    await figures.duringSearch(async () => assert.equal(figures.read().in_flight, 1));
    assert.equal(figures.read().in_flight, 0);
  } finally {
    figures.close();
  }
});
