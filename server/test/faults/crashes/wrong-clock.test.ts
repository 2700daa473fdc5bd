import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { until } from "../../support/assertions/until.ts";
import type { TestWallet } from "../../support/services/server.ts";
import { openCrashFixture } from "./crash-fixture.ts";
import { fakedClock } from "./faked-clock.ts";

// Servers and workers whose calendar is wrong. Ids carry the server's time, so that they sort; nothing else may trust it:
// a hold lives and dies by the database's clock.

const offsets = ["+5h", "-5h"];
const skip = fakedClock("+5h") === undefined && "libfaketime is not installed and cannot be";
const fixture = await openCrashFixture();
const { upstream, journal, db } = fixture;

after(() => fixture.close());

function startServerAt(offset: string) {
  return fixture.startServer({ ...fakedClock(offset) });
}

async function readEntries(url: string, wallet: TestWallet) {
  const response = await fetch(`${url}/v1/wallet/entries`, { headers: { "x-api-key": wallet.management } });
  const { entries } = (await response.json()) as { entries: { request_id?: string; kind: string; amount: string }[] };
  return entries;
}

test("servers hours ahead and behind serve the same wallet: paid once, replayed by each other, entries readable", {
  skip,
}, async () => {
  const servers = await Promise.all(offsets.map(startServerAt));
  const wallet = await fixture.createWallet();
  for (const [index, server] of servers.entries()) {
    const question = { wallet, query: randomUUID(), idempotencyKey: randomUUID() };
    const paid = await journal.search(server.url, question);
    assert.ok(paid.kind === "answered" && paid.status === 200, JSON.stringify(paid));
    const hours = (Number.parseInt(paid.requestId.replace("-", "").slice(0, 12), 16) - Date.now()) / 3_600_000;
    assert.equal(Math.round(hours), Number.parseInt(offsets[index] ?? "", 10), "its clock is wrong indeed");
    for (const other of servers) {
      const again = await journal.search(other.url, question);
      assert.ok(again.kind === "answered" && again.isReplayed && again.text === paid.text);
      const entries = await readEntries(other.url, wallet);
      assert.equal(entries.filter((entry) => entry.request_id === paid.requestId).length, 1);
    }
  }
  assert.equal((await readEntries(servers[0]?.url ?? "", wallet)).length, 3, "two searches and the top-up");
  await fixture.assertBooksBalance();
  await Promise.all(servers.map((server) => server.kill()));
});

test("servers hours off and a worker 50 s ahead: a hold ends by the database's clock, no sooner and no later", {
  skip,
}, async () => {
  const [early, late, worker] = await Promise.all([
    startServerAt("+5h"),
    startServerAt("-5h"),
    fixture.startWorker({ ...fakedClock("+50s") }),
  ]);
  const dying = await Promise.all([early, late].map((server) => holdAt(server.url)));
  const living = await Promise.all([early, late].map((server) => holdAt(server.url)));
  for (const { question } of living) await fixture.moveExpiry(question.wallet, "30 seconds");
  for (const { question } of dying) await fixture.moveExpiry(question.wallet, "0 seconds");
  for (const { question } of dying)
    await until("the worker ends it", async () => (await fixture.statesOf(question.wallet))[0] === "expired", 30_000);
  for (const { question } of living) assert.deepEqual(await fixture.statesOf(question.wallet), ["pending"]);
  for (const { question } of [...dying, ...living]) upstream.answer(question.query);
  for (const { running } of dying) assert.match(JSON.stringify(await running[0]), /"code":"ledger_unavailable"/);
  for (const { running } of living) assert.match(JSON.stringify(await running[0]), /"status":200/);
  await fixture.assertBooksBalance();
  assert.equal(await worker.stop(), 0);
});

/** A search that waits for the upstream, with a hold that lives a minute of the database's time. */
async function holdAt(serverUrl: string) {
  const question = { wallet: await fixture.createWallet(), query: randomUUID() };
  upstream.keepWaiting(question.query);
  const running = [journal.search(serverUrl, question)];
  await until("the upstream is asked", () => upstream.isWaiting(question.query));
  const { rows } = await db.owner.query<{ lives: boolean }>(
    `select held_at between clock_timestamp() - interval '30 seconds' and clock_timestamp()
       and expires_at = held_at + interval '60 seconds' as lives
     from pb.searches where wallet_id = $1`,
    [question.wallet.walletId],
  );
  assert.deepEqual(rows, [{ lives: true }]);
  return { question, running };
}

test("a worker hours ahead or behind refuses to work, since its timetable would be everyone's", { skip }, async () => {
  for (const [offset, words] of [
    ["+5h", /18000 s ahead of the database's/],
    ["-5h", /18000 s behind the database's/],
  ] as const)
    await assert.rejects(fixture.startWorker({ ...fakedClock(offset) }), words);
});

test("a server more than a day off is told so: 503 ledger_unavailable, and nothing is charged or held", {
  skip,
}, async () => {
  const servers = await Promise.all(["+25h", "-25h"].map(startServerAt));
  const wallet = await fixture.createWallet();
  for (const server of servers) {
    const seen = await journal.search(server.url, { wallet, query: randomUUID(), idempotencyKey: randomUUID() });
    assert.ok(seen.kind === "answered");
    assert.deepEqual([seen.status, seen.code], [503, "ledger_unavailable"]);
  }
  assert.deepEqual(await fixture.statesOf(wallet), []);
  await fixture.assertBooksBalance();
});
