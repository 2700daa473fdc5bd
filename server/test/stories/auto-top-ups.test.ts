import assert from "node:assert/strict";
import { after, test } from "node:test";
import { chargeCards } from "../../src/payments/charge-cards.ts";
import { createStripe } from "../../src/payments/stripe.ts";
import { formatReport, reconcile } from "../../src/wallet/wallet.ts";
import { until } from "../support/assertions/until.ts";
import { fakeKey } from "../support/payments/fake-stripe.ts";
import { openPaymentFixture, stripeSettings } from "../support/payments/payment-fixture.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, type TestWallet } from "../support/services/server.ts";
import { startWorkerProcess } from "../support/services/worker-process.ts";

// A saved card is charged when the balance is low: never twice, never beyond its caps, never for long after a decline.

const fixture = await openPaymentFixture();
const { db, stripe, server } = fixture;
const processor = createStripe({ secretKey: fakeKey, webhookSecrets: [], url: stripe.url });

after(async () => {
  const report = await reconcile(db.owner);
  await fixture.close();
  assert.ok(report.isClean, formatReport(report));
});

const path = "/v1/wallet/auto-top-up";
const order = { threshold: "6.00", amount: "10.00", monthly_cap: "40.00", daily_cap: "20.00" };
const balanceOf = async (wallet: TestWallet): Promise<string> => (await server.readMoney(wallet.management)).balance;
const read = async (wallet: TestWallet) => (await fixture.manage(wallet, "GET", path)).body;
const charge = (inHours = 0) =>
  chargeCards(db.owner, processor, () => undefined, new Date(Date.now() + inHours * 3_600_000));

/** A wallet with a standing order, a saved card and a balance of 5.00. */
async function createLowWallet(wanted: object = order): Promise<TestWallet & { customerId: string }> {
  const wallet = await createTestWallet(db, "0.00");
  assert.equal((await fixture.manage(wallet, "PUT", path, wanted)).body.state, "waiting_for_card");
  const payment = stripe.payCheckout((await fixture.openTopUp(wallet, "5.00")).checkout_url);
  await fixture.deliverNewEvents();
  assert.equal((await read(wallet)).state, "active");
  return { ...wallet, customerId: payment.customer ?? "" };
}

/** The end of a back-off, without waiting for it. */
async function endBackOff(wallet: TestWallet): Promise<string> {
  const { rows } = await db.owner.query<{ hours: string }>(
    `with before as (select * from pb.auto_top_ups where wallet_id = $1)
     update pb.auto_top_ups a set next_attempt_at = clock_timestamp() from before b where a.wallet_id = b.wallet_id
     returning round(extract(epoch from b.next_attempt_at - clock_timestamp()) / 3600)::text as hours`,
    [wallet.walletId],
  );
  return rows[0]?.hours ?? "";
}

/** The rest of the file is about other wallets. */
async function end(wallet: TestWallet): Promise<void> {
  assert.equal((await fixture.manage(wallet, "DELETE", path)).body.state, "none");
}

test("a card is kept only for an owner who asked for it, and forgotten when that ends", async () => {
  const plain = await fixture.createPaidWallet("5.00");
  assert.equal((await read(plain)).state, "none");
  const { customer } = stripe.payments.get(plain.paymentId) ?? assert.fail();
  assert.deepEqual(stripe.cards.get(customer ?? ""), undefined);

  const wallet = await createLowWallet();
  assert.equal(stripe.cards.get(wallet.customerId)?.length, 1);
  await end(wallet);
  assert.deepEqual(stripe.cards.get(wallet.customerId), []);
  assert.equal((await charge()).started, 0);
  // A new order waits for a new card.
  assert.equal((await fixture.manage(wallet, "PUT", path, order)).body.state, "waiting_for_card");
  assert.equal((await charge()).started, 0);
  await end(wallet);
});

test("a low wallet is topped up once, also when several workers look at once", async () => {
  const wallet = await createLowWallet();
  const before = stripe.charges;
  const reports = await Promise.all([charge(), charge(), charge()]);
  await charge();
  assert.equal(
    reports.reduce((sum, report) => sum + report.started, 0),
    1,
  );
  assert.equal(stripe.charges, before + 1);
  assert.equal(await balanceOf(wallet), "15.00");
  assert.equal((await read(wallet)).added_this_month, "10.00");
  // The webhooks of the same payment change nothing.
  assert.deepEqual(new Set(await fixture.deliverNewEvents()), new Set(["repeated"]));
  assert.equal(await balanceOf(wallet), "15.00");
  await end(wallet);
});

test("the caps of the day and of the month hold", async () => {
  const wallet = await createLowWallet({ ...order, threshold: "1000.00" });
  for (let looked = 0; looked < 5; looked += 1) await charge();
  assert.equal(await balanceOf(wallet), "25.00", "two of 10.00 in a day");
  await db.owner.query(
    "update pb.top_ups set created_at = created_at - interval '1 day' where wallet_id = $1 and kind = 'automatic'",
    [wallet.walletId],
  );
  // On the first of a month, yesterday counts for another month.
  const isFirst = new Date().getUTCDate() === 1;
  for (let looked = 0; looked < 5; looked += 1) await charge();
  assert.equal(await balanceOf(wallet), "45.00");
  await db.owner.query(
    "update pb.top_ups set created_at = created_at - interval '1 day' where wallet_id = $1 and kind = 'automatic'",
    [wallet.walletId],
  );
  for (let looked = 0; looked < 5; looked += 1) await charge();
  assert.equal(
    await balanceOf(wallet),
    isFirst || new Date().getUTCDate() === 2 ? "65.00" : "45.00",
    "four in a month",
  );
  await end(wallet);
});

test("a declined card is tried again after an hour, six and a day, and then no more", async () => {
  const wallet = await createLowWallet();
  stripe.decline = "insufficient_funds";
  for (const hours of ["1", "6", "24"]) {
    const before = stripe.charges;
    assert.equal((await charge()).declined, 1);
    assert.equal((await charge()).started, 0, "not before its time");
    assert.equal(stripe.charges, before + 1);
    assert.equal((await read(wallet)).state, "backing_off");
    // The webhook of the same decline does not count again.
    await fixture.deliverNewEvents();
    assert.equal(await endBackOff(wallet), hours);
  }
  assert.equal((await charge()).declined, 1);
  assert.equal((await read(wallet)).state, "off");
  await endBackOff(wallet);
  stripe.decline = undefined;
  assert.equal((await charge()).started, 0, "off is off");
  const { rows } = await db.owner.query(
    "select from pb.payment_notices where reason = 'automatic_top_up_off' and subject = $1",
    [wallet.walletId],
  );
  assert.equal(rows.length, 1, "and a person is told");
  const [newest] = (await fixture.manage(wallet, "GET", "/v1/wallet/top-ups")).body.top_ups;
  assert.deepEqual([newest.status, newest.kind, newest.failure], ["failed", "automatic", "insufficient_funds"]);

  // The owner sets it again, with a card that works.
  assert.equal((await fixture.manage(wallet, "PUT", path, order)).body.state, "active");
  assert.equal((await charge()).paid, 1);
  assert.equal(await balanceOf(wallet), "15.00");
  await end(wallet);
});

test("a worker that dies after the charge never charges twice, however late the next one looks", async () => {
  for (const lateHours of [0, 1, 13]) {
    const wallet = await createLowWallet();
    const before = stripe.charges;
    // The card is charged and the answer is lost on its way: to us the same as dying.
    stripe.isMute = true;
    assert.equal((await charge()).undecided, 1);
    stripe.isMute = false;
    assert.ok(stripe.charges > before, "it was charged");
    assert.equal((await charge(lateHours)).paid, 1, `${lateHours} h later`);
    assert.equal(stripe.charges, before + 1);
    assert.equal(await balanceOf(wallet), "15.00");
    await end(wallet);
  }
});

test("an attempt that never reached the processor is made, or given up when its key may be forgotten", async () => {
  const wallet = await createLowWallet();
  stripe.isDown = true;
  assert.equal((await charge()).undecided, 1);
  stripe.isDown = false;
  const before = stripe.charges;
  assert.equal((await charge(13)).declined, 1);
  assert.equal(stripe.charges, before);
  assert.equal(await balanceOf(wallet), "5.00");
  await end(wallet);
});

test("money that was given back is not fetched again until the owner sets the order anew", async () => {
  const wallet = await createLowWallet();
  await charge();
  assert.equal(await balanceOf(wallet), "15.00");
  const { rows } = await db.owner.query(
    "select payment_id from pb.top_ups where wallet_id = $1 and kind = 'automatic'",
    [wallet.walletId],
  );
  stripe.refund(rows[0]?.payment_id, 1_000);
  await fixture.deliverNewEvents();
  assert.equal(await balanceOf(wallet), "5.00");
  assert.equal((await charge()).started, 0);
  await fixture.manage(wallet, "PUT", path, order);
  assert.equal((await charge()).started, 1);
  await end(wallet);
});

test("a suspended wallet is not charged", async () => {
  const wallet = await createLowWallet();
  await db.owner.query("select pb.suspend_wallet($1, true)", [wallet.walletId]);
  assert.equal((await charge()).started, 0);
  await db.owner.query("select pb.suspend_wallet($1, false)", [wallet.walletId]);
  await until("the key's suspension is forgotten", async () => (await read(wallet)).state === "active");
  await end(wallet);
});

for (const [name, wanted] of Object.entries({
  "no threshold": { amount: "10.00", monthly_cap: "40.00" },
  "an amount below the least": { ...order, amount: "1.00" },
  "a cap below the amount": { ...order, monthly_cap: "9.99" },
  "a day above its month": { ...order, daily_cap: "41.00" },
  "a threshold of nothing": { ...order, threshold: "0.00" },
})) {
  test(`${name} is refused`, async () => {
    const wallet = await createTestWallet(db, "0.00");
    assert.equal((await fixture.manage(wallet, "PUT", path, wanted)).status, 400);
    assert.equal((await read(wallet)).state, "none");
  });
}

test("the worker does all of it by itself: credits what it finds and charges what is low", async () => {
  const wallet = await createLowWallet();
  const lost = await createTestWallet(db, "0.00");
  stripe.payCheckout((await fixture.openTopUp(lost, "7.00")).checkout_url);
  const worker = await startWorkerProcess(db, stripeSettings(stripe.url));
  try {
    await until("the card is charged", async () => (await balanceOf(wallet)) === "15.00");
    await until("the lost payment is credited", async () => (await balanceOf(lost)) === "7.00");
  } finally {
    assert.equal(await worker.stop(), 0);
  }
  assert.ok(!worker.logged().includes(fakeKey));
});

test("looking for what is due takes milliseconds among ten thousand standing orders", async () => {
  const many = await createTestDatabase();
  for (let made = 0; made < 10; made += 1)
    await many.owner.query(`
      with made as (
        insert into pb.wallets (id, name, credited_micros)
        select pb.new_uuid(), 'many', 1000000 from generate_series(1, 1000) returning id
      )
      insert into pb.auto_top_ups select id, 1, 10000000, 10000000, 10000000 from made`);
  await many.owner.query("analyze pb.auto_top_ups, pb.wallets");
  const began = performance.now();
  const { started: begun } = await chargeCards(many.owner, processor, () => undefined);
  const tookMs = performance.now() - began;
  await many.drop();
  console.log(`looking at 10,000 standing orders took ${tookMs.toFixed(1)} ms`);
  assert.equal(begun, 0);
  assert.ok(tookMs < 2_000);
});
