import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { until } from "../../support/assertions/until.ts";
import type { TestWallet } from "../../support/services/server.ts";
import { fakedClock } from "../faked-clock.ts";
import type { Outcome, SearchRequest } from "../send-search.ts";
import { openCrashFixture } from "./crash-fixture.ts";

// Servers and workers with wrong clocks. Ids contain the server's time, so that they sort; nothing else may depend on it.
// Holds expire by the database's clock.

const offsets = ["+5h", "-5h"];
const skip = fakedClock("+5h") === undefined && "libfaketime cannot be installed";
const fixture = await openCrashFixture();
const { upstream, journal, db } = fixture;

after(() => fixture.close());

/** It is not ready, so that a load balancer sends it nothing, but must not do harm with requests that still arrive. */
function startServerAt(offset: string) {
  return fixture.startServer({ ...fakedClock(offset) }, "listening");
}

async function readEntries(url: string, wallet: TestWallet) {
  const response = await fetch(`${url}/v1/wallet/entries`, { headers: { "x-api-key": wallet.management } });
  const { entries } = (await response.json()) as { entries: { request_id?: string; kind: string; amount: string }[] };
  return entries;
}

test("servers hours ahead and behind serve one wallet: each search is charged once and replayed by both, and entries are readable", {
  skip,
}, async () => {
  const servers = await Promise.all(offsets.map(startServerAt));
  const wallet = await fixture.createWallet();
  for (const [index, server] of servers.entries()) {
    const request = { wallet, query: randomUUID(), idempotencyKey: randomUUID() };
    const paid = await journal.search(server.url, request);
    assert.ok(paid.kind === "answered" && paid.status === 200, JSON.stringify(paid));
    const hours = (Number.parseInt(paid.requestId.replace("-", "").slice(0, 12), 16) - Date.now()) / 3_600_000;
    assert.equal(Math.round(hours), Number.parseInt(offsets[index] ?? "", 10), "the server's clock has the offset");
    for (const other of servers) {
      const again = await journal.search(other.url, request);
      assert.ok(again.kind === "answered" && again.isReplayed && again.text === paid.text);
      const entries = await readEntries(other.url, wallet);
      assert.equal(entries.filter((entry) => entry.request_id === paid.requestId).length, 1);
    }
  }
  assert.equal((await readEntries(servers[0]?.url ?? "", wallet)).length, 3, "two searches and the top-up");
  await fixture.assertBooksBalance();
  await Promise.all(servers.map((server) => server.kill()));
});

test("with servers hours off and a worker 50 s ahead, holds expire exactly by the database's clock", {
  skip,
}, async () => {
  const [early, late, worker] = await Promise.all([
    startServerAt("+5h"),
    startServerAt("-5h"),
    fixture.startWorker({ ...fakedClock("+50s") }),
  ]);
  const expiring = await Promise.all([early, late].map((server) => holdAt(server.url)));
  const active = await Promise.all([early, late].map((server) => holdAt(server.url)));
  for (const { request } of active) await fixture.moveExpiry(request.wallet, "30 seconds");
  for (const { request } of expiring) await fixture.moveExpiry(request.wallet, "0 seconds");
  for (const { request } of expiring)
    await until("the worker expires it", async () => (await fixture.statesOf(request.wallet))[0] === "expired");
  for (const { request } of active) assert.deepEqual(await fixture.statesOf(request.wallet), ["pending"]);
  for (const { request } of [...expiring, ...active]) upstream.answer(request.query);
  for (const { outcome } of expiring) assert.match(JSON.stringify(await outcome), /"code":"ledger_unavailable"/);
  for (const { outcome } of active) assert.match(JSON.stringify(await outcome), /"status":200/);
  await fixture.assertBooksBalance();
  assert.equal(await worker.stop(), 0);
});

/** A search that waits for the upstream, with a hold that expires after a minute by the database's clock. */
async function holdAt(serverUrl: string): Promise<{ request: SearchRequest; outcome: Promise<Outcome> }> {
  const request = { wallet: await fixture.createWallet(), query: randomUUID() };
  const { outcome } = await fixture.searchUntilUpstream(serverUrl, request);
  const { rows } = await db.owner.query<{ is_exact: boolean }>(
    `select held_at between clock_timestamp() - interval '30 seconds' and clock_timestamp()
       and expires_at = held_at + interval '60 seconds' as is_exact
     from pb.searches where wallet_id = $1`,
    [request.wallet.walletId],
  );
  assert.deepEqual(rows, [{ is_exact: true }]);
  return { request, outcome };
}

test("a worker hours ahead or behind refuses to start, because its schedule applies to all workers", {
  skip,
}, async () => {
  for (const [offset, words] of [
    ["+5h", /18000 s ahead of the database's/],
    ["-5h", /18000 s behind the database's/],
  ] as const)
    await assert.rejects(fixture.startWorker({ ...fakedClock(offset) }), words);
});

test("a server whose clock is off by more than a day returns 503 ledger_unavailable, and nothing is charged or held", {
  skip,
}, async () => {
  const servers = await Promise.all(["+25h", "-25h"].map(startServerAt));
  const wallet = await fixture.createWallet();
  for (const server of servers) {
    const outcome = await journal.search(server.url, { wallet, query: randomUUID(), idempotencyKey: randomUUID() });
    assert.ok(outcome.kind === "answered");
    assert.deepEqual([outcome.status, outcome.code], [503, "ledger_unavailable"]);
  }
  assert.deepEqual(await fixture.statesOf(wallet), []);
  await fixture.assertBooksBalance();
});
