import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { until } from "../../support/assertions/until.ts";
import type { TestWallet } from "../../support/services/server.ts";
import type { Question, Seen } from "../journal.ts";
import { openCrashFixture } from "./crash-fixture.ts";

// A server that stands still (SIGSTOP: a virtual machine that is moved, a laptop that is closed) wakes up and goes on as
// if no time had passed. By then its holds have ended, and others may have taken its place.

const fixture = await openCrashFixture();
const { upstream, journal, db } = fixture;
const [sleeper, awake] = await Promise.all([fixture.startServer(), fixture.startServer(), fixture.startWorker()]);

after(() => fixture.close());

async function ask(idempotencyKey?: string): Promise<{ question: Question; running: Promise<Seen>[] }> {
  const question = { wallet: await fixture.createWallet(), query: randomUUID(), idempotencyKey };
  upstream.keepWaiting(question.query);
  const running = journal.search(sleeper.url, question);
  await until("the upstream is asked", () => upstream.isWaiting(question.query));
  return { question, running: [running] };
}

/** The worker sweeps every few seconds; this is one of those moments. */
async function untilSwept(wallet: TestWallet): Promise<void> {
  await db.owner.query("select graphile_worker.add_job('sweep', '{}'::json, job_key => 'sweep')");
  await until("the worker ends the hold", async () => (await fixture.statesOf(wallet))[0] === "expired");
}

async function assertNotCharged(seen: Promise<Seen> | undefined): Promise<void> {
  const answer = await seen;
  assert.ok(answer?.kind === "answered");
  assert.deepEqual([answer.status, answer.code, answer.charge], [503, "ledger_unavailable", "0.00;currency=usd"]);
}

test("a server that sleeps past its hold's life captures nothing when it wakes: 503", async () => {
  const { question, running } = await ask();
  sleeper.process.kill("SIGSTOP");
  await fixture.moveExpiry(question.wallet, "0 seconds");
  await untilSwept(question.wallet);
  upstream.answer(question.query);
  sleeper.process.kill("SIGCONT");
  await assertNotCharged(running[0]);
  assert.equal(await fixture.chargesOf(question.wallet), 0);
  await fixture.assertBooksBalance();
});

test("nor when the sweeper is late: a hold whose life is over is not captured", async () => {
  const { question, running } = await ask();
  sleeper.process.kill("SIGSTOP");
  await fixture.moveExpiry(question.wallet, "0 seconds");
  upstream.answer(question.query);
  sleeper.process.kill("SIGCONT");
  await assertNotCharged(running[0]);
  assert.equal(await fixture.chargesOf(question.wallet), 0);
  await fixture.assertBooksBalance();
});

test("a retry takes the Idempotency-Key over while the first server sleeps, and one of the two is charged", async () => {
  const { question, running } = await ask(randomUUID());
  sleeper.process.kill("SIGSTOP");
  const early = await journal.search(awake.url, question);
  assert.ok(early.kind === "answered" && early.status === 409, "the first may still be at work");
  await fixture.ageClaims(question.wallet);
  const retry = journal.search(awake.url, question);
  await until("the first hold is ended", async () => (await fixture.statesOf(question.wallet))[0] === "expired");
  upstream.answer(question.query);
  const taken = await retry;
  assert.ok(taken.kind === "answered" && taken.status === 200 && !taken.isReplayed, JSON.stringify(taken));
  sleeper.process.kill("SIGCONT");
  // Its own question to the upstream has lost its place; either way it may not be paid for.
  const late = await running[0];
  assert.ok(late?.kind === "answered" && late.status >= 500 && late.charge === "0.00;currency=usd");
  const again = await journal.search(sleeper.url, question);
  assert.ok(again.kind === "answered" && again.isReplayed && again.text === taken.text);
  assert.equal(await fixture.chargesOf(question.wallet), 1);
  await fixture.assertBooksBalance();
});

for (const isOver of [true, false])
  test(`a capture that gets the lock while its server sleeps ${isOver ? "past the hold's life charges nothing: 503" : "is charged once, and the sweeper leaves it: 200"}`, async () => {
    const { question, running } = await ask();
    const lock = await fixture.lock(question.wallet);
    upstream.answer(question.query);
    await until("the capture waits", async () => (await lock.waiting()) === 1);
    sleeper.process.kill("SIGSTOP");
    if (isOver) await fixture.moveExpiry(question.wallet, "0 seconds");
    await lock.release();
    await fixture.untilQuiet();
    if (!isOver) await fixture.moveExpiry(question.wallet, "0 seconds");
    if (isOver) await untilSwept(question.wallet);
    else assert.equal(await fixture.sweep(question.wallet), 0);
    sleeper.process.kill("SIGCONT");
    if (isOver) await assertNotCharged(running[0]);
    else assert.equal((await running[0])?.kind, "answered");
    assert.equal(await fixture.chargesOf(question.wallet), isOver ? 0 : 1);
    await fixture.assertBooksBalance();
  });
