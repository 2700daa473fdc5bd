import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import { stopClock } from "../../test/support/fake-clock.ts";
import type { Pool } from "../db/pool.ts";
import { createLedger } from "./wallet.ts";

// How long each kind of statement waits for a database that fails, with a stopped clock. db/lane-outage.test.ts has the rules.

const connectionRefused = Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });
const full = Object.assign(new Error("disk full"), { code: "53100", severity: "ERROR" });

for (const { failure, waitsMs } of [
  { failure: connectionRefused, waitsMs: { hold: 8_000, hurried: 4_000, capture: 30_000, release: 30_000 } },
  { failure: full, waitsMs: { hold: 3_000, hurried: 3_000, capture: 30_000, release: 30_000 } },
])
  test(`with the error "${failure.message}", statements wait ${JSON.stringify(waitsMs)}`, async (t) => {
    const pass = stopClock(t);
    const startMs = performance.now();
    const fail = (): Promise<never> => Promise.reject(failure);
    const ledger = createLedger({ query: fail } as unknown as Pool);
    const waited: Record<string, number> = {};
    const record = (name: string, result: Promise<unknown>): void => {
      result.catch(() => (waited[name] = performance.now() - startMs));
    };
    const request = () => ({ searchId: randomUUIDv7(), walletId: randomUUIDv7(), keyId: randomUUIDv7() });
    record("hold", ledger.hold(request()));
    record("hurried", ledger.hold(request(), 4_000));
    record("capture", ledger.capture(request()));
    record("release", ledger.release({ ...request(), outcome: "upstream_error" }));
    await pass(40_000);
    assert.deepEqual(new Set(Object.keys(waited)), new Set(Object.keys(waitsMs)));
    // The limit is checked before each attempt, and the longest pause between attempts is a second.
    for (const [name, ms] of Object.entries(waitsMs))
      assert.ok((waited[name] ?? 0) >= ms && (waited[name] ?? 0) <= ms + 1_000, `${name}: ${waited[name]} ms`);
  });
