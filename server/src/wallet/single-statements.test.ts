import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/services/database.ts";
import type { Pool } from "../db/pool.ts";
import { applyPaymentUpdate } from "../payments/apply-payment-update.ts";
import type { Payment } from "../payments/payments.ts";
import { setAutoTopUp } from "./auto-top-ups.ts";
import { creditManually } from "./manual-credit.ts";
import { beginTopUp, endTopUp, recordCheckout, recordCustomer } from "./top-ups.ts";

// Between two statements of a transaction, a server that stalls would keep the wallet locked and block its searches. So
// every change is one statement, which needs no dedicated connection.

let database: TestDatabase;

before(async () => {
  database = await createTestDatabase();
});

after(() => database.drop());

function withoutTransactions(pool: Pool): Pool {
  return new Proxy(pool, {
    get: (target, name) => {
      if (name === "connect") throw new Error("a transaction of several statements");
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const amount = 5_000_000n;

async function begin(walletId: string): Promise<string> {
  const request = { amount, keyHmac: randomBytes(32), fingerprint: randomBytes(32) };
  return (await beginTopUp(withoutTransactions(database.tenant), walletId, request)).id;
}

function paymentOf(walletId: string, topUpId: string): Payment {
  return { id: `pi_${topUpId}`, walletId, topUpId, amount, status: "paid", receiptUrl: null };
}

async function readBalance(walletId: string): Promise<bigint | undefined> {
  const { rows } = await database.owner.query<{ balance: bigint }>(
    "select credited_micros - debited_micros as balance from pb.wallets where id = $1",
    [walletId],
  );
  return rows[0]?.balance;
}

test("a top-up is opened, recorded, booked and ended without a transaction of several statements", async () => {
  const { walletId, keyId } = await seedWallet(database.owner, {});
  const tenant = withoutTransactions(database.tenant);
  const topUpId = await begin(walletId);
  await recordCheckout(tenant, walletId, { topUpId, checkoutId: "cs_1", url: "https://pay.test/1", expiresAt: null });
  assert.equal(await recordCustomer(tenant, walletId, "cus_1"), "cus_1");
  assert.equal(await recordCustomer(tenant, walletId, "cus_2"), "cus_1");
  await setAutoTopUp(tenant, { walletId, keyId }, { threshold: amount, amount, dayCap: amount, monthCap: amount });
  const payment = paymentOf(walletId, topUpId);
  const payments = withoutTransactions(database.payments);
  assert.equal(await applyPaymentUpdate(payments, { about: "payment", payment }), "credited");
  assert.equal(await endTopUp(payments, walletId, { topUpId: await begin(walletId), status: "expired" }), "expired");
  assert.equal(await readBalance(walletId), amount);
});

test("a dispute that is reported before its payment books and reverses it in one statement", async () => {
  const { walletId } = await seedWallet(database.owner, {});
  const payment = paymentOf(walletId, await begin(walletId));
  const reversal = { id: "dp_1", kind: "dispute", amount, state: "taken" } as const;
  const update = { about: "reversal", payment, reversal } as const;
  assert.equal(await applyPaymentUpdate(withoutTransactions(database.payments), update), "taken");
  assert.equal(await readBalance(walletId), 0n);
  const { rows } = await database.owner.query(
    "select kind from pb.transfers where wallet_id = $1 order by created_at",
    [walletId],
  );
  assert.deepEqual(rows, [{ kind: "top_up" }, { kind: "reversal" }]);
});

test("a payment booked by an operator and its audit entry are one statement", async () => {
  const { walletId } = await seedWallet(database.owner, {});
  const act = { operator: "alice", reason: "a test" };
  const payment = { ...act, kind: "payment", walletId, amount, reference: `pi_${randomUUIDv7()}` } as const;
  for (const outcome of ["credited", "repeated"])
    assert.equal((await creditManually(withoutTransactions(database.operator), payment)).outcome, outcome);
  const { rows } = await database.owner.query(
    "select operator, act, outcome from pb.audit_log where wallet_id = $1 order by number",
    [walletId],
  );
  const entry = { operator: "alice", act: "adjustment.request" };
  assert.deepEqual(rows, [
    { ...entry, outcome: "booked" },
    { ...entry, outcome: "repeated" },
  ]);
});
