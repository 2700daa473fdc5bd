import assert from "node:assert/strict";
import { test } from "node:test";
import { createProcessFigures } from "./process-figures.ts";

test("reports rate, errors and latency of the last seconds, without test searches and errors of the caller", async () => {
  let now = 1_000_000;
  const figures = createProcessFigures(() => now);
  try {
    const none = { searches: 0, own_errors: 0, upstream_errors: 0, p95_ms: null };
    assert.deepEqual(figures.read().recent, none);
    for (let count = 0; count < 18; count += 1) figures.recordSearch({ ms: 100, fault: "none" });
    figures.recordSearch({ ms: 9_000, fault: "ours" });
    figures.recordSearch({ ms: 2_000, fault: "upstream" });
    figures.recordSearch({ ms: 60_000, fault: undefined });
    now += 1_000;
    const { recent, searches_per_second: rate } = figures.read();
    assert.equal(rate, 2.1);
    assert.deepEqual([recent.searches, recent.own_errors, recent.upstream_errors], [20, 1, 1]);
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
