import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { createSender, type SendResult } from "../../src/webhooks/deliver.ts";
import type { Attempt } from "../../src/webhooks/webhooks.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { startNameServer } from "../support/services/name-server.ts";
import { type Received, type Receiver, startReceiver } from "../support/services/webhook-receiver.ts";
import { createWebhookFixture } from "../support/webhook-fixture.ts";

// Webhook deliveries to HTTP servers on loopback. server/test/processes/webhooks.test.ts kills the worker during deliveries.

const fixture = await createWebhookFixture();

const receive = async (): Promise<Receiver> => closeAfter(await startReceiver());

/** A new wallet with one endpoint. */
async function subscribe(events?: readonly string[]) {
  const wallet = await fixture.createWallet();
  const receiver = await receive();
  return { wallet, receiver, ...(await fixture.subscribe(wallet, receiver.url, events)) };
}

function answerWith(receiver: Receiver, ...statuses: number[]): void {
  let calls = 0;
  receiver.answer((_call, response) => {
    response.writeHead(statuses[Math.min(calls, statuses.length - 1)] ?? 500).end();
    calls += 1;
  });
}

/** Sends all deliveries that are due and returns the attempts for one endpoint. */
async function attemptsAt(endpointId: string): Promise<Attempt[]> {
  return (await fixture.send()).filter((attempt) => attempt.endpointId === endpointId);
}

const verifies = (secret: string, { body, headers }: Received): boolean => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
};

test("an event arrives, and the reference library verifies its signature", async () => {
  const wallet = await fixture.createWallet();
  const receiver = await receive();
  const { secret } = await fixture.subscribe(wallet, `${receiver.url}/hook?for=us`);
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const id = await fixture.emitEvent(wallet, "top_up.failed", { reason: "card_declined" });
  await fixture.send();
  const [call, ...others] = receiver.received;
  assert.ok(call);
  assert.deepEqual(others, []);
  assert.equal(call.path, "/hook?for=us");
  assert.equal(call.headers["webhook-id"], id);
  assert.ok(verifies(secret, call));
  assert.ok(!verifies(secret, { ...call, body: call.body.replace("declined", "accepted") }));
  assert.ok(!verifies(`whsec_${Buffer.alloc(32).toString("base64")}`, call));
  assert.deepEqual(Object.keys(call.event), ["id", "type", "timestamp", "data"]);
  assert.equal(call.event.type, "top_up.failed");
  assert.deepEqual(call.event.data, { wallet_id: wallet.walletId, reason: "card_declined" });
  assert.ok(Math.abs(Date.parse(call.event.timestamp) - Date.now()) < 60_000);
});

test("an endpoint receives only the events it subscribed to, of its own wallet", async () => {
  const [wallet, other] = [await fixture.createWallet(), await fixture.createWallet()];
  const [picky, stranger] = [await receive(), await receive()];
  await fixture.subscribe(wallet, picky.url, ["key.revoked"]);
  await fixture.subscribe(other, stranger.url);
  await fixture.emitEvent(wallet, "key.created");
  await fixture.emitEvent(wallet, "key.revoked");
  await fixture.send();
  assert.deepEqual(
    picky.received.map(({ event }) => event.type),
    ["key.revoked"],
  );
  assert.deepEqual(stranger.received, []);
});

test("a failed delivery is retried, and the delivery list shows each result", async () => {
  const { wallet, receiver, id } = await subscribe();
  answerWith(receiver, 500, 200);
  const eventId = await fixture.emitEvent(wallet, "key.created");
  await fixture.send();
  const [failed] = await fixture.deliveriesOf(wallet, id);
  assert.deepEqual(
    [failed.status, failed.attempts, failed.response_status, failed.error, failed.event.id],
    ["pending", 1, 500, "status", eventId],
  );
  const waitMs = Date.parse(failed.next_attempt_at) - Date.parse(failed.last_attempt_at);
  assert.ok(waitMs >= 5_000 && waitMs <= 60_000, `${waitMs} ms`);
  assert.deepEqual(await attemptsAt(id), [], "not before it is due");
  await fixture.makeDue(id);
  await fixture.send();
  const [done] = await fixture.deliveriesOf(wallet, id);
  assert.deepEqual(
    [done.id, done.status, done.attempts, done.response_status, done.error, done.next_attempt_at],
    [failed.id, "delivered", 2, 200, null, null],
  );
  assert.equal(receiver.received.length, 2);
  assert.deepEqual(receiver.received[0]?.headers["webhook-id"], receiver.received[1]?.headers["webhook-id"]);
});

test("a failing delivery is attempted ten times over about three days", async () => {
  const { wallet, receiver, id } = await subscribe();
  answerWith(receiver, 503);
  await fixture.emitEvent(wallet, "key.created");
  let waitedMs = 0;
  for (;;) {
    await fixture.send();
    const [delivery] = await fixture.deliveriesOf(wallet, id);
    if (delivery.status === "failed") break;
    waitedMs += Date.parse(delivery.next_attempt_at) - Date.parse(delivery.last_attempt_at);
    await fixture.makeDue(id);
  }
  assert.equal(receiver.received.length, 10);
  assert.ok(waitedMs > 72 * 3_600_000 && waitedMs < 96 * 3_600_000, `${waitedMs / 3_600_000} hours`);
});

test("a slow receiver gets two concurrent calls and does not delay others", async () => {
  const wallet = await fixture.createWallet();
  const [slow, quick] = [await receive(), await receive()];
  const held: ServerResponse[] = [];
  slow.answer((_call, response) => void held.push(response));
  for (const { url } of [slow, quick]) await fixture.subscribe(wallet, url);
  for (let count = 0; count < 10; count += 1) await fixture.emitEvent(wallet, "key.created");
  const sending = Promise.all([fixture.send(), fixture.send()]);
  await quick.waitFor(10);
  // A new event must not wait for the slow receiver either.
  await fixture.emitEvent(wallet, "key.revoked");
  await quick.waitFor(11);
  await slow.waitFor(2);
  assert.equal(slow.received.length, 2);
  slow.answer((_call, response) => void response.writeHead(200).end());
  for (const response of held) response.writeHead(200).end();
  await sending;
  assert.equal(slow.received.length, 11);
});

test("redirects and private addresses are recorded as failures", async () => {
  const wallet = await fixture.createWallet();
  const receiver = await receive();
  receiver.answer((_call, response) => response.writeHead(302, { location: "https://example.com" }).end());
  const [redirecting, home] = [
    await fixture.subscribe(wallet, receiver.url),
    await fixture.subscribe(wallet, `https://localhost:${new URL(receiver.url).port}/`),
  ];
  await fixture.emitEvent(wallet, "key.created");
  const names = await startNameServer({ localhost: ["127.0.0.1"] });
  const strict = createSender({ allowPrivate: false, nameServers: [names.address] });
  const lenient = createSender({ allowPrivate: true });
  // Like a production worker, except for the receiver that redirects, which uses plain HTTP.
  const send: typeof strict.send = (call, signal) =>
    (call.url.startsWith("http:") ? lenient : strict).send(call, signal);
  await fixture.send({ send });
  await Promise.all([strict.close(), lenient.close(), names.close()]);
  const [redirected] = await fixture.deliveriesOf(wallet, redirecting.id);
  assert.deepEqual([redirected.status, redirected.error, redirected.response_status], ["pending", "redirect", 302]);
  const [refused] = await fixture.deliveriesOf(wallet, home.id);
  assert.deepEqual([refused.status, refused.error, refused.response_status], ["pending", "private_address", null]);
  assert.equal(receiver.received.length, 1);
});

test("during a rotation both secrets sign, and a day later only the new one", async () => {
  const { wallet, receiver, id, secret: old } = await subscribe();
  const { body: rotated } = await fixture.manage(wallet, "POST", `/v1/webhooks/${id}/rotate-secret`);
  const hours = (Date.parse(rotated.previous_secret_until) - Date.now()) / 3_600_000;
  assert.ok(hours > 23.9 && hours < 24.1);
  assert.notEqual(rotated.secret, old);
  await fixture.emitEvent(wallet, "key.created");
  await fixture.send();
  const [during] = receiver.received;
  assert.ok(during && verifies(old, during) && verifies(rotated.secret, during));

  await fixture.db.owner.query("update pb.webhook_endpoints set previous_until = clock_timestamp() where id = $1", [
    id,
  ]);
  await fixture.emitEvent(wallet, "key.created");
  await fixture.send();
  const [, afterwards] = receiver.received;
  assert.ok(afterwards && !verifies(old, afterwards) && verifies(rotated.secret, afterwards));
});

test("a replay is a new delivery of the same event, and a test event goes to one endpoint", async () => {
  const wallet = await fixture.createWallet();
  const [receiver, other] = [await receive(), await receive()];
  const { id } = await fixture.subscribe(wallet, receiver.url);
  await fixture.subscribe(wallet, other.url);
  await fixture.emitEvent(wallet, "key.created");
  await fixture.send();
  const [delivery] = await fixture.deliveriesOf(wallet, id);
  const { status, body: replay } = await fixture.manage(
    wallet,
    "POST",
    `/v1/webhooks/deliveries/${delivery.id}/replay`,
  );
  assert.equal(status, 200);
  assert.notEqual(replay.id, delivery.id);
  assert.deepEqual([replay.status, replay.attempts, replay.event], ["pending", 0, delivery.event]);
  await fixture.send();
  assert.equal(receiver.received.length, 2);
  assert.equal(receiver.received[0]?.body, receiver.received[1]?.body);

  const { body: tested } = await fixture.manage(wallet, "POST", `/v1/webhooks/${id}/test`);
  assert.equal(tested.event.type, "webhook.test");
  await fixture.send();
  assert.deepEqual(receiver.received[2]?.event.data, { wallet_id: wallet.walletId, endpoint_id: id });
  assert.equal(other.received.length, 1);
});

test("410 disables an endpoint and ends its pending deliveries, and it can be enabled again", async () => {
  const { wallet, receiver, id } = await subscribe(["key.created"]);
  answerWith(receiver, 500, 410, 200);
  await fixture.emitEvent(wallet, "key.created");
  await fixture.send();
  await fixture.emitEvent(wallet, "key.created");
  assert.deepEqual(pluck(await attemptsAt(id), "disabled"), ["gone"]);
  const { body: endpoint } = await fixture.manage(wallet, "GET", `/v1/webhooks/${id}`);
  assert.deepEqual([endpoint.enabled, endpoint.disabled_reason], [false, "gone"]);
  const ended = (await fixture.deliveriesOf(wallet, id)).map(({ status, error }) => [status, error]);
  assert.deepEqual(ended, [
    ["failed", "status"],
    ["failed", "endpoint_disabled"],
  ]);
  await fixture.emitEvent(wallet, "key.created");
  await fixture.makeDue(id);
  await fixture.send();
  assert.equal(receiver.received.length, 2, "nothing is sent to a disabled endpoint");

  const { body: enabled } = await fixture.manage(wallet, "PATCH", `/v1/webhooks/${id}`, { enabled: true });
  assert.deepEqual([enabled.enabled, enabled.disabled_reason, enabled.failing_since], [true, null, null]);
  await fixture.emitEvent(wallet, "key.created");
  await fixture.send();
  assert.equal(receiver.received.length, 3, "only new events are sent");
});

test("an endpoint that fails for five days without a success is disabled", async () => {
  const { wallet, receiver, id } = await subscribe(["key.created"]);
  answerWith(receiver, 500, 200, 500, 500);
  const fiveDaysLater = () =>
    fixture.db.owner.query(
      "update pb.webhook_endpoints set failing_since = failing_since - interval '5 days' where id = $1",
      [id],
    );
  const reasons: (string | null)[] = [];
  for (let round = 0; round < 4; round += 1) {
    await fixture.emitEvent(wallet, "key.created");
    reasons.push(...(await attemptsAt(id)).map(({ disabled }) => disabled));
    await fiveDaysLater();
  }
  assert.deepEqual(reasons, [null, null, null, "failing"]);
  const { rows } = await fixture.db.owner.query(
    "select data from pb.events where type = 'webhook.disabled' and wallet_id = $1",
    [wallet.walletId],
  );
  assert.deepEqual(rows, [
    { data: { wallet_id: wallet.walletId, endpoint_id: id, url: receiver.url, reason: "failing" } },
  ]);
});

test("a suspended worker cannot overwrite the result of a delivery that another has taken over", async () => {
  const { wallet, id } = await subscribe();
  await fixture.emitEvent(wallet, "key.created");
  const { promise: blocked, resolve: release } = Promise.withResolvers<void>();
  // Suspended between the receiver's response and recording it. Stopped, so that it does not claim the delivery again.
  const stopped = new AbortController();
  const send = async (): Promise<SendResult> => {
    stopped.abort();
    await blocked;
    return { ok: false, error: "timeout" };
  };
  const stuck = fixture.send({ send }, stopped.signal);
  await until("the delivery is claimed, and its claim has expired", async () => {
    const { rowCount } = await fixture.db.owner.query(
      `update pb.webhook_deliveries set claimed_until = clock_timestamp()
       where endpoint_id = $1 and claimed_until is not null`,
      [id],
    );
    return rowCount === 1;
  });
  await fixture.send();
  release();
  await stuck;
  const [delivery] = await fixture.deliveriesOf(wallet, id);
  assert.deepEqual([delivery.status, delivery.attempts], ["delivered", 1]);
});

test("a stopping worker returns unfinished deliveries without counting an attempt", async () => {
  const { wallet, receiver, id } = await subscribe();
  await fixture.emitEvent(wallet, "key.created");
  const stopping = new AbortController();
  receiver.answer(() => stopping.abort());
  await fixture.send({}, stopping.signal);
  const [returned] = await fixture.deliveriesOf(wallet, id);
  assert.deepEqual([returned.status, returned.attempts, returned.error], ["pending", 0, null]);
  answerWith(receiver, 200);
  assert.equal((await attemptsAt(id)).length, 1, "immediately, not after the lease has expired");
});

test("no table, response or log contains a secret in plain text", async () => {
  const { wallet, id, secret } = await subscribe();
  const { rows } = await fixture.db.owner.query("select row_to_json(e)::text as row from pb.webhook_endpoints e");
  assert.ok(!JSON.stringify(rows).includes(secret));
  assert.ok(!JSON.stringify(rows).includes(Buffer.from(secret).toString("hex")));
  for (const path of ["", `/${id}`, `/${id}/deliveries`]) {
    const { text } = await fixture.manage(wallet, "GET", `/v1/webhooks${path}`);
    assert.ok(!text.includes("whsec_") && !text.includes('"secret"'), path);
  }
  assert.ok(!fixture.server.logged().includes("whsec_"));
});
