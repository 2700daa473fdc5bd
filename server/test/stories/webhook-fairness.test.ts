import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sender } from "../../src/webhooks/deliver.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { until } from "../support/assertions/until.ts";
import { replaceConstants } from "../support/replace-constants.ts";
import type { TestWallet } from "../support/services/server.ts";
import { createWebhookFixture } from "../support/webhook-fixture.ts";

// One customer's deliveries do not delay another's, no matter what the receivers do or how many deliveries are waiting.

const fixture = await createWebhookFixture(replaceConstants({ deliveriesPerMinute: 3 }));

/** Creates wallets with ten endpoints each, and queues events for all of them. */
async function createBacklog(wallets: number, events: number): Promise<TestWallet[]> {
  const created: TestWallet[] = [];
  for (let count = 0; count < wallets; count += 1) {
    const wallet = await fixture.createWallet();
    for (let endpoint = 0; endpoint < 10; endpoint += 1)
      await fixture.subscribe(wallet, `https://silent.test/${count}/${endpoint}`, ["key.created"]);
    for (let event = 0; event < events; event += 1) await fixture.emitEvent(wallet, "key.created");
    created.push(wallet);
  }
  return created;
}

/** A sender whose calls to silent.test end only when the test releases them. */
function createSilentSender() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const urls: string[] = [];
  let ended = 0;
  const send: Sender["send"] = async ({ url }) => {
    urls.push(url);
    if (!url.startsWith("https://silent.test/")) return { ok: true, status: 204 };
    await released;
    ended += 1;
    return { ok: false, error: "timeout" };
  };
  const count = (start: string): number => urls.filter((url) => url.startsWith(start)).length;
  return { send, release, count, ended: () => ended };
}

const victimUrl = "https://victim.test/";

test("a delivery arrives while receivers of four other wallets with ten endpoints each never respond", async () => {
  await createBacklog(4, 6);
  const victim = await fixture.createWallet();
  await fixture.subscribe(victim, victimUrl, ["key.created"]);
  const silent = createSilentSender();
  const stopping = new AbortController();
  const sending = fixture.send({ send: silent.send }, stopping.signal);
  try {
    await until("deliveries to silent receivers are in flight", () => silent.count("https://silent.test/") >= 32);
    await fixture.emitEvent(victim, "key.created");
    await until("the delivery arrives", () => silent.count(victimUrl) === 1);
    assert.equal(silent.ended(), 0, "no other delivery has ended");
    for (const wallet of [0, 1, 2, 3])
      assert.ok(silent.count(`https://silent.test/${wallet}/`) <= 8, "a wallet has eight deliveries in flight");
  } finally {
    stopping.abort();
    silent.release();
    await sending;
  }
});

test("deliveries continue while a receiver has not responded for minutes", async (t) => {
  await createBacklog(1, 1);
  const victim = await fixture.createWallet();
  await fixture.subscribe(victim, victimUrl, ["key.created"]);
  const silent = createSilentSender();
  const stopping = new AbortController();
  const sending = fixture.send({ send: silent.send }, stopping.signal);
  try {
    await until("a delivery to a silent receiver is in flight", () => silent.count("https://silent.test/") > 0);
    const now = performance.now.bind(performance);
    t.mock.method(performance, "now", () => now() + 600_000);
    await fixture.emitEvent(victim, "key.created");
    await until("the delivery arrives", () => silent.count(victimUrl) === 1);
    assert.equal(silent.ended(), 0);
  } finally {
    stopping.abort();
    silent.release();
    await sending;
  }
});

interface Claimed {
  id: string;
  claim: number;
  url: string;
}

async function claim(deliveries: number): Promise<Claimed[]> {
  const { rows } = await fixture.db.worker.query<Claimed>("select * from pb.claim_deliveries($1, 2, 8)", [deliveries]);
  return rows;
}

test("the wallet with the fewest deliveries in flight is next, even if others have waited longer", async () => {
  await fixture.db.owner.query("delete from pb.webhook_deliveries");
  await createBacklog(3, 4);
  await fixture.db.worker.query("select pb.dispatch_events(500, false)");
  const first = await claim(9);
  const walletOf = ({ url }: Claimed): string => url.split("/")[3] ?? "";
  assert.deepEqual(
    ["0", "1", "2"].map((wallet) => first.filter((each) => walletOf(each) === wallet).length),
    [3, 3, 3],
    "the wallets take turns",
  );
  assert.equal(new Set(first.map(({ url }) => url)).size, 9, "and so do the endpoints of a wallet");

  const victim = await fixture.createWallet();
  await fixture.subscribe(victim, victimUrl, ["key.created"]);
  for (let count = 0; count < 3; count += 1) await fixture.emitEvent(victim, "key.created");
  await fixture.db.worker.query("select pb.dispatch_events(500, false)");
  assert.deepEqual(
    (await claim(2)).map(({ url }) => url),
    [victimUrl, victimUrl],
  );
  assert.equal((await claim(100)).length, 15, "each of the other wallets has eight in flight at most");
  assert.deepEqual(await claim(100), []);
});

test("test events and replays of a wallet are limited together, and other requests are not", async () => {
  const [wallet, other] = [await fixture.createWallet(), await fixture.createWallet()];
  const { id } = await fixture.subscribe(wallet, victimUrl);
  const { id: otherId } = await fixture.subscribe(other, victimUrl);
  const sendTest = () => fixture.manage(wallet, "POST", `/v1/webhooks/${id}/test`);
  const { body: delivery } = await sendTest();
  const replay = () => fixture.manage(wallet, "POST", `/v1/webhooks/deliveries/${delivery.id}/replay`);
  assert.deepEqual([(await replay()).status, (await sendTest()).status], [200, 200]);
  for (const rejected of [await sendTest(), await replay()]) {
    const { exceeded } = assertProblem(rejected, "rate_limited", rejected.body.instance);
    const { limit, max, window_seconds: seconds } = exceeded as Record<string, unknown>;
    assert.deepEqual([limit, max, seconds], ["wallet_requested_deliveries", 3, 60]);
  }
  assert.equal((await fixture.deliveriesOf(wallet, id)).length, 3);
  assert.equal((await fixture.manage(other, "POST", `/v1/webhooks/${otherId}/test`)).status, 200);
});
