import assert from "node:assert/strict";
import { test } from "node:test";
import { chargeCards } from "../../src/payments/charge-cards.ts";
import { createDatabase } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { fakeKey } from "../support/payments/fake-stripe.ts";
import { createPaymentFixture, stripeSettings } from "../support/payments/payment-fixture.ts";
import type { TestWallet } from "../support/services/server.ts";
import { startWorkerProcess } from "../support/services/worker-process.ts";

// Automatic top-ups: a saved card is charged when the balance is low, once, within its caps, with a back-off after a decline.

const fixture = await createPaymentFixture();
const { db, stripe, processor, balanceOf, createWallet } = fixture;

const path = "/v1/wallet/auto-top-up";
const order = { threshold: "6.00", amount: "10.00", monthly_cap: "40.00", daily_cap: "20.00" };
const read = async (wallet: TestWallet) => (await fixture.manage(wallet, "GET", path)).body;
const charge = (inHours = 0) =>
  chargeCards(db.payments, processor, () => undefined, new Date(Date.now() + inHours * 3_600_000));

/** A wallet with automatic top-ups, a saved card and a balance of 5.00. */
async function createLowWallet(options: object = order): Promise<TestWallet & { customerId: string }> {
  const wallet = await createWallet();
  assert.equal((await fixture.manage(wallet, "PUT", path, options)).body.state, "waiting_for_card");
  const payment = stripe.payCheckout((await fixture.openTopUp(wallet, "5.00")).checkout_url);
  await fixture.deliverNewEvents();
  assert.equal((await read(wallet)).state, "active");
  return { ...wallet, customerId: payment.customer ?? "" };
}

/** Ends a back-off and returns its length in hours. */
async function endBackOff(wallet: TestWallet): Promise<string> {
  const { rows } = await db.owner.query<{ hours: string }>(
    `with before as (select * from pb.auto_top_ups where wallet_id = $1)
     update pb.auto_top_ups a set next_attempt_at = clock_timestamp() from before b where a.wallet_id = b.wallet_id
     returning round(extract(epoch from b.next_attempt_at - clock_timestamp()) / 3600)::text as hours`,
    [wallet.walletId],
  );
  return rows[0]?.hours ?? "";
}

async function ageByADay(wallet: TestWallet): Promise<void> {
  await db.owner.query(
    "update pb.top_ups set created_at = created_at - interval '1 day' where wallet_id = $1 and kind = 'automatic'",
    [wallet.walletId],
  );
}

/** Ends automatic top-ups, so that later tests see only their own wallets. */
async function cancel(wallet: TestWallet): Promise<void> {
  assert.equal((await fixture.manage(wallet, "DELETE", path)).body.state, "none");
}

test("a card is saved only with automatic top-ups, and removed when they end", async () => {
  const plain = await fixture.createPaidWallet("5.00");
  assert.equal((await read(plain)).state, "none");
  const { customer } = stripe.payments.get(plain.paymentId) ?? assert.fail();
  assert.deepEqual(stripe.cards.get(customer ?? ""), undefined);

  const wallet = await createLowWallet();
  assert.equal(stripe.cards.get(wallet.customerId)?.length, 1);
  await cancel(wallet);
  assert.deepEqual(stripe.cards.get(wallet.customerId), []);
  assert.equal((await charge()).started, 0);
  // Setting it up again requires a new card.
  assert.equal((await fixture.manage(wallet, "PUT", path, order)).body.state, "waiting_for_card");
  assert.equal((await charge()).started, 0);
  await cancel(wallet);
});

test("concurrent workers top up a low wallet once", async () => {
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
  await cancel(wallet);
});

test("charges stay within the daily and monthly caps", async () => {
  const wallet = await createLowWallet({ ...order, threshold: "1000.00" });
  for (let round = 0; round < 5; round += 1) await charge();
  assert.equal(await balanceOf(wallet), "25.00", "two of 10.00 in a day");
  await ageByADay(wallet);
  // On the first of a month, yesterday counts for another month.
  const isFirst = new Date().getUTCDate() === 1;
  for (let round = 0; round < 5; round += 1) await charge();
  assert.equal(await balanceOf(wallet), "45.00");
  await ageByADay(wallet);
  for (let round = 0; round < 5; round += 1) await charge();
  assert.equal(
    await balanceOf(wallet),
    isFirst || new Date().getUTCDate() === 2 ? "65.00" : "45.00",
    "four in a month",
  );
  await cancel(wallet);
});

test("a declined card is retried after 1, 6 and 24 hours, and then no more", async () => {
  const wallet = await createLowWallet();
  stripe.decline = "insufficient_funds";
  for (const hours of ["1", "6", "24"]) {
    const before = stripe.charges;
    assert.equal((await charge()).declined, 1);
    assert.equal((await charge()).started, 0, "not before the back-off ends");
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
  assert.equal((await charge()).started, 0, "not charged while off");
  const { rows } = await db.owner.query(
    "select from pb.payment_notices where reason = 'automatic_top_up_off' and subject = $1",
    [wallet.walletId],
  );
  assert.equal(rows.length, 1, "an operator is notified");
  const [newest] = (await fixture.manage(wallet, "GET", "/v1/wallet/top-ups")).body.top_ups;
  assert.deepEqual([newest.status, newest.kind, newest.failure], ["failed", "automatic", "insufficient_funds"]);

  // The owner sets it up again with a working card.
  assert.equal((await fixture.manage(wallet, "PUT", path, order)).body.state, "active");
  assert.equal((await charge()).paid, 1);
  assert.equal(await balanceOf(wallet), "15.00");
  await cancel(wallet);
});

test("a worker that dies after the charge does not cause a second one, however late the next run is", async () => {
  for (const lateHours of [0, 1, 13]) {
    const wallet = await createLowWallet();
    const before = stripe.charges;
    // The card is charged and the response is lost, which has the same effect as a crash of the worker.
    stripe.isMute = true;
    assert.equal((await charge()).undecided, 1);
    stripe.isMute = false;
    assert.ok(stripe.charges > before, "it was charged");
    assert.equal((await charge(lateHours)).paid, 1, `${lateHours} h later`);
    assert.equal(stripe.charges, before + 1);
    assert.equal(await balanceOf(wallet), "15.00");
    await cancel(wallet);
  }
});

test("an attempt that never reached the processor is abandoned once its idempotency key may have expired", async () => {
  const wallet = await createLowWallet();
  stripe.isDown = true;
  assert.equal((await charge()).undecided, 1);
  stripe.isDown = false;
  const before = stripe.charges;
  assert.equal((await charge(13)).declined, 1);
  assert.equal(stripe.charges, before);
  assert.equal(await balanceOf(wallet), "5.00");
  await cancel(wallet);
});

test("a refunded top-up is not repeated until the owner saves the settings again", async () => {
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
  await cancel(wallet);
});

test("a suspended wallet is not charged", async () => {
  const wallet = await createLowWallet();
  await db.owner.query("select pb.suspend_wallet($1, true)", [wallet.walletId]);
  assert.equal((await charge()).started, 0);
  await db.owner.query("select pb.suspend_wallet($1, false)", [wallet.walletId]);
  await until("the cached suspension has expired", async () => (await read(wallet)).state === "active");
  await cancel(wallet);
});

for (const [name, options] of Object.entries({
  "no threshold": { amount: "10.00", monthly_cap: "40.00" },
  "an amount below the minimum": { ...order, amount: "1.00" },
  "a cap below the amount": { ...order, monthly_cap: "9.99" },
  "a daily cap above the monthly cap": { ...order, daily_cap: "41.00" },
  "a threshold of zero": { ...order, threshold: "0.00" },
})) {
  test(`rejects ${name}`, async () => {
    const wallet = await createWallet();
    assert.equal((await fixture.manage(wallet, "PUT", path, options)).status, 400);
    assert.equal((await read(wallet)).state, "none");
  });
}

test("the worker charges low wallets and credits payments whose webhooks were lost", async () => {
  const wallet = await createLowWallet();
  const lost = await createWallet();
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

test("ten thousand automatic top-ups that are not due are checked, and no card is charged", async (t) => {
  const many = await createDatabase(t);
  for (let made = 0; made < 10; made += 1)
    await many.owner.query(`
      with made as (
        insert into pb.wallets (id, name, credited_micros)
        select pb.new_uuid(), 'many', 1000000 from generate_series(1, 1000) returning id
      )
      insert into pb.auto_top_ups select id, 1, 10000000, 10000000, 10000000 from made`);
  await many.owner.query("analyze pb.auto_top_ups, pb.wallets");
  const { started } = await chargeCards(many.payments, processor, () => undefined);
  assert.equal(started, 0);
});

test("the books balance after all of it", () => fixture.assertBooksBalance());
