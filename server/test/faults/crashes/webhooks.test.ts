import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { comparePayments } from "../../../src/payments/compare-payments.ts";
import { createStripe } from "../../../src/payments/stripe.ts";
import { formatReport, reconcile } from "../../../src/wallet/wallet.ts";
import { until } from "../../support/assertions/until.ts";
import { seed } from "../../support/data/seed.ts";
import { withoutTriggers } from "../../support/data/without-triggers.ts";
import { fakeKey, signEvent, startFakeStripe } from "../../support/payments/fake-stripe.ts";
import { webhookSecret, webhookSettings } from "../../support/payments/payment-fixture.ts";
import { createTestDatabase } from "../../support/services/database.ts";
import { createTestWallet, type TestWallet } from "../../support/services/server.ts";
import { type ServerProcess, startServerProcess } from "../../support/services/server-process.ts";
import { createRandom } from "../random.ts";

// Webhooks arrive twice, late, out of order or not at all, at servers that are killed while they handle them. Days later
// all of them are delivered again. Every payment is credited exactly once. Long form: PENNYBLACK_TEST_DELIVERIES=10000.

const random = createRandom(seed, "webhooks");
const deliveries = Number(process.env["PENNYBLACK_TEST_DELIVERIES"] ?? 1_000);
const paymentCount = deliveries / 10;
const kills = deliveries >= 10_000 ? 12 : 3;

const db = await createTestDatabase();
const stripe = await startFakeStripe();
const servers: ServerProcess[] = [];
const startServer = (): Promise<ServerProcess> => startServerProcess(db, webhookSettings(stripe.url));

after(async () => {
  for (const server of servers) server.process.kill("SIGKILL");
  await Promise.all(servers.map((server) => server.ended));
  await stripe.close();
  await db.drop();
});

type StripeEvent = (typeof stripe.events)[number];

const counts = { sent: 0, answered: 0, broken: 0, rejected: 0, killed: 0 };

/** Deliveries without a response, by number. */
const inFlight = new Map<number, ServerProcess>();

/** One attempt. Returns false if it must be retried, which Stripe does for days. */
async function deliver(event: StripeEvent): Promise<boolean> {
  counts.sent += 1;
  const server = random.pick(servers);
  const number = counts.sent;
  inFlight.set(number, server);
  try {
    const signed = signEvent(event, webhookSecret);
    const response = await fetch(`${server.url}/v1/payments/stripe/webhook`, { method: "POST", ...signed });
    await response.arrayBuffer();
    if (response.status === 200) counts.answered += 1;
    else counts.rejected += 1;
    return response.status === 200;
  } catch {
    counts.broken += 1;
    return false;
  } finally {
    inFlight.delete(number);
  }
}

/** Delivers with 16 senders. Failed deliveries go back to the end of the queue. */
async function deliverAll(queue: StripeEvent[], onProgress: () => void): Promise<void> {
  const waiting = [...queue];
  const sender = async (): Promise<void> => {
    for (let event = waiting.pop(); event; event = waiting.pop()) {
      onProgress();
      if (!(await deliver(event))) waiting.unshift(event);
    }
  };
  await Promise.all(Array.from({ length: 16 }, sender));
}

async function payOnce(wallet: TestWallet): Promise<{ walletId: string; cents: number }> {
  const cents = random.integer(500, 9_999);
  const idempotencyKey = randomUUID();
  let page = "";
  // As a client does: on a busy machine the database may not respond in time, which is a 503.
  await until("the top-up has a page to pay", async () => {
    const response = await fetch(`${servers[0]?.url}/v1/wallet/top-ups`, {
      method: "POST",
      headers: {
        "x-api-key": wallet.management,
        "content-type": "application/json",
        "idempotency-key": idempotencyKey,
      },
      body: JSON.stringify({ amount: (cents / 100).toFixed(2) }),
    });
    const body = (await response.json()) as { checkout_url?: string };
    assert.ok([201, 503].includes(response.status), JSON.stringify(body));
    page = body.checkout_url ?? "";
    return response.status === 201;
  });
  stripe.payCheckout(page);
  return { walletId: wallet.walletId, cents };
}

/** The number of credits of each payment and their sum in cents. */
async function creditsByPayment(): Promise<Map<string, string>> {
  const { rows } = await db.owner.query<{ id: string; credits: string }>(
    `select p.payment_id as id, count(t.id) || ' times, total ' || (sum(t.amount_micros) / 10000)::bigint as credits
     from pb.payments p join pb.transfers t on t.id = p.transfer_id and t.kind = 'top_up' group by p.payment_id`,
  );
  return new Map(rows.map((row) => [row.id, row.credits]));
}

async function assertCreditedOnce(owed: Map<string, number>): Promise<void> {
  const expected = [...stripe.payments.values()].map(({ id, amount }) => [id, `1 times, total ${amount}`] as const);
  const credits = await creditsByPayment();
  const wrong = expected.filter(([id, credit]) => credits.get(id) !== credit);
  assert.deepEqual([wrong, credits.size], [[], expected.length]);
  const { rows } = await db.owner.query<{ id: string; cents: string }>(
    "select id, ((credited_micros - debited_micros) / 10000)::text as cents from pb.wallets",
  );
  assert.deepEqual(
    new Map(rows.map((row) => [row.id, Number(row.cents)])),
    owed,
    "the balance of each wallet is the sum of its payments",
  );
  const { rows: unpaid } = await db.owner.query("select from pb.top_ups where status <> 'succeeded'");
  assert.equal(unpaid.length, 0, "every top-up has succeeded");
  const report = await reconcile(db.owner);
  assert.ok(report.isClean, formatReport(report));
}

/** Moves the entries to the partition of another day, where only pb.payments still identifies duplicates. */
async function ageByThreeDays(): Promise<void> {
  await db.owner.query("select pb.make_partitions(pb.utc_day(now()) - 4, pb.utc_day(now()) - 3)");
  const earlier = (id: string): string =>
    `(left(replace(pb.uuid_floor(created_at - interval '3 days')::text, '-', ''), 12) || substr(replace(${id}::text, '-', ''), 13))::uuid`;
  await db.owner.query(
    withoutTriggers(`
      with moved as (update pb.payments set transfer_id = ${earlier("transfer_id")}, created_at = created_at - interval '3 days')
      update pb.transfers set id = ${earlier("id")}, created_at = created_at - interval '3 days'`),
  );
  await db.owner.query("delete from pb.payment_events");
  const { rows } = await db.owner.query(
    "select distinct tableoid::regclass from pb.transfers where id < pb.uuid_floor(now() - interval '2 days')",
  );
  assert.ok(rows.length > 0, "the entries have moved to partitions of another day");
}

test(`${deliveries} deliveries, repeated, reordered, lost and interrupted, credit every payment once`, async () => {
  servers.push(await startServer(), await startServer());
  const wallets: TestWallet[] = [];
  for (let made = 0; made < 10; made += 1) wallets.push(await createTestWallet(db, "0.00"));
  const owed = new Map(wallets.map(({ walletId }) => [walletId, 0]));
  const payers = wallets.map(async (wallet) => {
    for (let made = 0; made < paymentCount / wallets.length; made += 1) {
      const { walletId, cents } = await payOnce(wallet);
      owed.set(walletId, (owed.get(walletId) ?? 0) + cents);
    }
  });
  await Promise.all(payers);
  assert.equal(stripe.payments.size, paymentCount);

  // No event arrives for one payment in twenty; of the other events, one in ten is lost.
  const silent = new Set([...stripe.payments.keys()].filter((_id, index) => index % 20 === 0));
  const received = stripe.events.filter((event) => !isAbout(event, silent) && !random.isLucky(0.1));
  const again = deliveries - stripe.events.length - received.length;
  const repeated = Array.from({ length: again }, () => random.pick(received));
  const queue = random.shuffle([...received, ...repeated]);

  let started = 0;
  let restarted = Promise.resolve();
  const killEvery = Math.floor(queue.length / (kills + 1));
  await deliverAll(queue, () => {
    started += 1;
    if (started % killEvery !== 0 || counts.killed === kills) return;
    counts.killed += 1;
    restarted = restarted.then(killAndRestart);
  });
  await restarted;
  assert.equal(counts.killed, kills);
  assert.ok(counts.broken > 0, "servers were killed while they handled deliveries");

  const processor = createStripe({ secretKey: fakeKey, webhookSecrets: [], url: stripe.url });
  const found = await comparePayments(db.payments, processor);
  assert.ok(found.creditedNow >= silent.size, "payments without events are found by comparison");
  assert.deepEqual(found.unpaid, []);
  await assertCreditedOnce(owed);

  await ageByThreeDays();
  await deliverAll(random.shuffle([...stripe.events]), () => undefined);
  await assertCreditedOnce(owed);
  assert.ok(counts.answered >= deliveries, "at least as many as configured");
  console.log(
    JSON.stringify({ payments: paymentCount, silent: silent.size, foundByComparison: found.creditedNow, ...counts }),
  );
});

function isAbout(event: StripeEvent, payments: Set<string>): boolean {
  const object = (event["data"] as { object: { id: string; payment_intent?: string } }).object;
  return payments.has(object.payment_intent ?? object.id);
}

/** Kills a server that cannot finish its deliveries, if any are left, so that they are interrupted. */
async function killAndRestart(): Promise<void> {
  const [victim] = servers;
  const lock = await db.owner.connect();
  try {
    await lock.query("begin; lock table pb.payment_events in exclusive mode");
    const sentBefore = counts.sent;
    const hasWork = (): boolean => [...inFlight].some(([number, server]) => number > sentBefore && server === victim);
    await until("the server waits for the lock", async () => inFlight.size === 0 || hasWork());
    servers.shift();
    victim?.process.kill("SIGKILL");
    await victim?.ended;
  } finally {
    await lock.query("rollback");
    lock.release();
  }
  servers.push(await startServer());
}
