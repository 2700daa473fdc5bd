import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { addJob } from "../../processes/worker-fixture.ts";
import { until } from "../../support/assertions/until.ts";
import type { TestWallet } from "../../support/services/server.ts";
import type { Outcome, SearchRequest } from "../send-search.ts";
import { openCrashFixture } from "./crash-fixture.ts";

// A paused server (SIGSTOP, as when a virtual machine is migrated) continues as if no time had passed. By then its holds
// have expired, and other servers may have taken over its searches.

const fixture = await openCrashFixture();
const { upstream, journal, db } = fixture;
// Without this, a capture waits 100 ms for a lock. On a busy machine the lock is released later.
await fixture.setLockWait(4_000);
const [pausing, running] = await Promise.all([fixture.startServer(), fixture.startServer(), fixture.startWorker()]);

after(() => fixture.close());

async function search(idempotencyKey?: string): Promise<{ request: SearchRequest; outcome: Promise<Outcome> }> {
  const request = { wallet: await fixture.createWallet(), query: randomUUID(), idempotencyKey };
  return { request, ...(await fixture.searchUntilUpstream(pausing.url, request)) };
}

/** Runs the worker's sweep now instead of waiting for its schedule. */
async function untilSwept(wallet: TestWallet): Promise<void> {
  await addJob(db, "sweep");
  await until("the worker expires the hold", async () => (await fixture.statesOf(wallet))[0] === "expired");
}

async function assertNotCharged({ wallet }: SearchRequest, running: Promise<Outcome>): Promise<void> {
  const outcome = await running;
  assert.ok(outcome.kind === "answered");
  assert.deepEqual([outcome.status, outcome.code, outcome.charge], [503, "ledger_unavailable", "0.00;currency=usd"]);
  assert.equal(await fixture.chargesOf(wallet), 0);
  await fixture.assertBooksBalance();
}

for (const isSwept of [true, false])
  test(`a server paused until its hold has expired captures nothing${isSwept ? "" : ", even before the sweep"}: 503`, async () => {
    const { request, outcome } = await search();
    pausing.process.kill("SIGSTOP");
    await fixture.moveExpiry(request.wallet, "0 seconds");
    if (isSwept) await untilSwept(request.wallet);
    upstream.answer(request.query);
    pausing.process.kill("SIGCONT");
    await assertNotCharged(request, outcome);
  });

test("a retry takes over the Idempotency-Key of a paused server, and only one of the two is charged", async () => {
  const { request, outcome } = await search(randomUUID());
  pausing.process.kill("SIGSTOP");
  const early = await journal.search(running.url, request);
  assert.ok(early.kind === "answered" && early.status === 409, "the first search may still be running");
  await fixture.ageClaims(request.wallet);
  const retry = journal.search(running.url, request);
  await until("the first hold is expired", async () => (await fixture.statesOf(request.wallet))[0] === "expired");
  upstream.answer(request.query);
  const taken = await retry;
  assert.ok(taken.kind === "answered" && taken.status === 200 && !taken.isReplayed, JSON.stringify(taken));
  pausing.process.kill("SIGCONT");
  // The upstream never answers its own query. The search must not be charged, regardless of the error.
  const late = await outcome;
  assert.ok(late.kind === "answered" && late.status >= 500 && late.charge === "0.00;currency=usd");
  const again = await journal.search(pausing.url, request);
  assert.ok(again.kind === "answered" && again.isReplayed && again.text === taken.text);
  assert.equal(await fixture.chargesOf(request.wallet), 1);
  await fixture.assertBooksBalance();
});

async function searchUntilCaptureWaits() {
  const { request, outcome } = await search();
  const lock = await fixture.lock(request.wallet);
  upstream.answer(request.query);
  await until("the capture waits for the lock", async () => (await lock.waiting()) === 1);
  pausing.process.kill("SIGSTOP");
  return { request, outcome, lock };
}

test("a capture that gets its lock after the hold has expired, while its server is paused, charges nothing: 503", async () => {
  const { request, outcome, lock } = await searchUntilCaptureWaits();
  await fixture.moveExpiry(request.wallet, "0 seconds");
  await lock.release();
  await fixture.untilQuiet();
  await untilSwept(request.wallet);
  pausing.process.kill("SIGCONT");
  await assertNotCharged(request, outcome);
});

test("a capture that gets its lock in time, while its server is paused, is charged once and not swept: 200", async () => {
  const { request, outcome, lock } = await searchUntilCaptureWaits();
  await lock.release();
  await fixture.untilQuiet();
  await fixture.moveExpiry(request.wallet, "0 seconds");
  assert.equal(await fixture.sweep(request.wallet), 0);
  pausing.process.kill("SIGCONT");
  const captured = await outcome;
  assert.ok(captured.kind === "answered" && captured.status === 200);
  assert.equal(await fixture.chargesOf(request.wallet), 1);
  await fixture.assertBooksBalance();
});
