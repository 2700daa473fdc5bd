import assert from "node:assert/strict";
import { test } from "node:test";
import { createReadiness } from "./readiness.ts";

test("an unavailable database makes a process unready after 30 s, and any other fault immediately", async () => {
  let nowMs = 0;
  let check: () => Promise<string | undefined> = async () => undefined;
  const whyNotReady = createReadiness(
    () => check(),
    () => nowMs,
  );
  const unavailable = (): Promise<never> => Promise.reject(Object.assign(new Error(), { code: "ECONNREFUSED" }));

  assert.equal(await whyNotReady(), undefined);
  nowMs = 100_000;
  check = unavailable;
  assert.equal(await whyNotReady(), undefined, "the outage was noticed now");
  nowMs += 29_999;
  assert.equal(await whyNotReady(), undefined);
  nowMs += 1;
  assert.equal(await whyNotReady(), "The database has been unavailable for 30 s (ECONNREFUSED).");
  check = async () => undefined;
  assert.equal(await whyNotReady(), undefined);
  check = unavailable;
  assert.equal(await whyNotReady(), undefined, "another outage");
  check = async () => "outdated";
  assert.equal(await whyNotReady(), "outdated");
});
