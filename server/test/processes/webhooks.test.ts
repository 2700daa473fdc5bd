import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { until } from "../support/assertions/until.ts";
import { startMailServer } from "../support/services/mail-server.ts";
import { type Receiver, startReceiver } from "../support/services/webhook-receiver.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/services/worker-process.ts";
import { createWebhookFixture, type WebhookFixture } from "../support/webhook-fixture.ts";

// The worker as a process of its own, killed at the worst moment.

let fixture: WebhookFixture;
let receiver: Receiver;
const workers: WorkerProcess[] = [];
const settings = { PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE: "true" };

before(async () => {
  fixture = await createWebhookFixture();
  receiver = await startReceiver();
});

after(async () => {
  for (const worker of workers) worker.process.kill("SIGKILL");
  await receiver.close();
  await fixture.close();
});

async function startWorker(more: Record<string, string> = {}): Promise<WorkerProcess> {
  const worker = await startWorkerProcess(fixture.db, { ...settings, ...more });
  workers.push(worker);
  return worker;
}

const countDeliveries = async (state: string): Promise<number> => {
  const { rows } = await fixture.db.owner.query<{ count: bigint }>(
    "select count(*) from pb.webhook_deliveries where state = $1",
    [state],
  );
  return Number(rows[0]?.count);
};

test("killed in the middle of two hundred deliveries, again and again: each event arrives, with its own id", async () => {
  const wallet = await fixture.createWallet();
  const secrets = new Map<string, string>();
  for (let count = 0; count < 10; count += 1) {
    const { secret } = await fixture.subscribe(wallet, `${receiver.url}/${count}`, ["top_up.failed"]);
    secrets.set(`/${count}`, secret);
  }
  const eventIds: string[] = [];
  for (let count = 0; count < 20; count += 1)
    eventIds.push(await fixture.emitEvent(wallet, "top_up.failed", { count }));
  // Slow enough that a kill always finds some on their way: answered by the receiver, not yet written down.
  receiver.answer((_call, response) => setTimeout(() => response.writeHead(200).end(), 20));

  for (const enough of [20, 90, 150]) {
    const worker = await startWorker();
    await receiver.waitFor(enough);
    worker.process.kill("SIGKILL");
    await until("it is gone", () => worker.process.signalCode === "SIGKILL");
    // A lease is a minute; nobody should wait for it here.
    const freed = "update pb.webhook_deliveries set claimed_until = now() where claimed_until is not null";
    const { rowCount } = await fixture.db.owner.query(freed);
    assert.ok((rowCount ?? 0) > 0, "it was killed with deliveries on their way");
    assert.ok((await countDeliveries("delivered")) < 200, "it was killed before the end");
  }
  const worker = await startWorker();
  await until("all are delivered", async () => (await countDeliveries("delivered")) === 200);

  for (const [path, secret] of secrets) {
    const calls = receiver.received.filter((call) => call.path === path);
    assert.deepEqual(new Set(calls.map(({ headers }) => headers["webhook-id"])), new Set(eventIds));
    for (const { headers, body, event } of calls) {
      assert.equal(event.id, headers["webhook-id"]);
      assert.doesNotThrow(() => new Webhook(secret).verify(body, headers));
    }
  }
  assert.equal(await worker.stop(), 0);
  assert.match(worker.logged(), /webhooks to private addresses allowed/);
  assert.doesNotMatch(worker.logged(), /whsec_/);
});

test("a worker that is told to stop does not wait for a receiver that never answers", async () => {
  const wallet = await fixture.createWallet();
  const { id } = await fixture.subscribe(wallet, `${receiver.url}/stuck`, ["top_up.failed"]);
  await fixture.emitEvent(wallet, "top_up.failed");
  const before = receiver.received.length;
  receiver.answer(() => undefined);
  const worker = await startWorker();
  await receiver.waitFor(before + 1);
  const began = performance.now();
  assert.equal(await worker.stop(), 0);
  assert.ok(performance.now() - began < 9_000);
  const [delivery] = await fixture.deliveriesOf(wallet, id);
  assert.deepEqual([delivery.status, delivery.attempts], ["pending", 0]);
});

test("a worker with a mail server writes to the owner", async () => {
  const mail = await startMailServer();
  try {
    const wallet = await fixture.createWallet("1.00");
    const from = "Pennyblack <alerts@search.test>";
    const worker = await startWorker({ PENNYBLACK_SMTP_URL: mail.url, PENNYBLACK_MAIL_FROM: from });
    const alerts = { email: "owner@example.com", low_balance: "5.00" };
    assert.equal((await fixture.manage(wallet, "PUT", "/v1/wallet/alerts", alerts)).status, 200);
    // Longer than the two seconds it takes: on a starved machine it was once not there after thirty. Why is not known.
    await until("the letter arrives", () => mail.emails.length > 0, 120_000);
    assert.match(mail.emails[0]?.raw ?? "", /is 1\.00 USD/);
    assert.equal(await worker.stop(), 0);
    assert.doesNotMatch(worker.logged(), /owner@example\.com|pass word/);
  } finally {
    await mail.close();
  }
});
