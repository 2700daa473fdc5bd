import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { until } from "../support/assertions/until.ts";
import { startMailServer } from "../support/services/mail-server.ts";
import { type Receiver, startReceiver } from "../support/services/webhook-receiver.ts";
import type { WorkerProcess } from "../support/services/worker-process.ts";
import { createWebhookFixture, type WebhookFixture } from "../support/webhook-fixture.ts";
import { startWorker as startWorkerOn } from "./worker-fixture.ts";

// Webhook deliveries by worker processes that are killed in between.

let fixture: WebhookFixture;
let receiver: Receiver;
const settings = { PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE: "true" };

before(async () => {
  fixture = await createWebhookFixture();
  receiver = await startReceiver();
});

after(async () => {
  await receiver.close();
  await fixture.close();
});

function startWorker(more: Record<string, string> = {}): Promise<WorkerProcess> {
  return startWorkerOn(fixture.db, { ...settings, ...more });
}

const countDeliveries = async (state: string): Promise<number> => {
  const { rows } = await fixture.db.owner.query<{ count: bigint }>(
    "select count(*) from pb.webhook_deliveries where state = $1",
    [state],
  );
  return Number(rows[0]?.count);
};

test("when workers are killed repeatedly during two hundred deliveries, each event arrives with its own id", async () => {
  const wallet = await fixture.createWallet();
  const secrets = new Map<string, string>();
  for (let count = 0; count < 10; count += 1) {
    const { secret } = await fixture.subscribe(wallet, `${receiver.url}/${count}`, ["top_up.failed"]);
    secrets.set(`/${count}`, secret);
  }
  const eventIds: string[] = [];
  for (let count = 0; count < 20; count += 1)
    eventIds.push(await fixture.emitEvent(wallet, "top_up.failed", { count }));
  for (const enough of [20, 90, 150]) {
    // Later calls are not answered, so deliveries are in flight when the worker is killed.
    receiver.answer((_call, response) => {
      if (receiver.received.length < enough) response.writeHead(200).end();
    });
    const worker = await startWorker();
    await receiver.waitFor(enough);
    worker.process.kill("SIGKILL");
    await until("the worker has ended", () => worker.process.signalCode === "SIGKILL");
    // Ends the leases, which otherwise last a minute.
    const endLeases = "update pb.webhook_deliveries set claimed_until = now() where claimed_until is not null";
    const { rowCount } = await fixture.db.owner.query(endLeases);
    assert.ok((rowCount ?? 0) > 0, "deliveries were in flight");
    assert.ok((await countDeliveries("delivered")) < 200, "deliveries were left");
  }
  receiver.answer((_call, response) => response.writeHead(200).end());
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

test("SIGTERM ends a worker without waiting for a receiver that does not respond", async () => {
  const wallet = await fixture.createWallet();
  const { id } = await fixture.subscribe(wallet, `${receiver.url}/stuck`, ["top_up.failed"]);
  await fixture.emitEvent(wallet, "top_up.failed");
  const before = receiver.received.length;
  receiver.answer(() => undefined);
  const worker = await startWorker();
  await receiver.waitFor(before + 1);
  assert.equal(await worker.stop(), 0);
  // Not attempted, so the worker did not wait for the timeout of the delivery.
  const [delivery] = await fixture.deliveriesOf(wallet, id);
  assert.deepEqual([delivery.status, delivery.attempts], ["pending", 0]);
});

test("a worker with a mail server sends alerts to the owner", async () => {
  const mail = await startMailServer();
  try {
    const wallet = await fixture.createWallet("1.00");
    const from = "Pennyblack <alerts@search.test>";
    const worker = await startWorker({ PENNYBLACK_SMTP_URL: mail.url, PENNYBLACK_MAIL_FROM: from });
    const alerts = { email: "owner@example.com", low_balance: "5.00" };
    assert.equal((await fixture.manage(wallet, "PUT", "/v1/wallet/alerts", alerts)).status, 200);
    // It usually takes two seconds, and once took more than thirty on an overloaded machine.
    await until("the e-mail arrives", () => mail.emails.length > 0, 120_000);
    assert.match(mail.emails[0]?.raw ?? "", /is 1\.00 USD/);
    assert.equal(await worker.stop(), 0);
    assert.doesNotMatch(worker.logged(), /owner@example\.com|pass word/);
  } finally {
    await mail.close();
  }
});
