import { randomUUIDv7 } from "node:crypto";
import { asTenant, callAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

// Money that comes in through a payment. The SQL functions decide what is credited, for the tenant of the statement. Each
// change is one statement, because a server that stalls between two would keep the wallet locked.

export type TopUpStatus = "pending" | "succeeded" | "failed" | "expired" | "refunded" | "disputed";

export interface TopUpView {
  id: string;
  kind: "checkout" | "automatic";
  status: TopUpStatus;
  amount: Micros;
  refunded: Micros;
  checkoutUrl: string | null;
  receiptUrl: string | null;
  failure: string | null;
  createdAt: Date;
  expiresAt: Date | null;
  settledAt: Date | null;
}

export interface StartedTopUp {
  id: string;
  /** False if this Idempotency-Key was used before. */
  isNew: boolean;
  /** False if it was used with a different body. */
  isSame: boolean;
  /** True if automatic top-ups are set up, so the checkout saves the card for them. */
  savesCard: boolean;
  checkoutUrl: string | null;
  /** The processor's customer id of the wallet, if there is one yet. */
  customerId: string | null;
}

/** HMACs of the Idempotency-Key and the body. */
export interface TopUpClaim {
  keyHmac: Buffer;
  fingerprint: Buffer;
}

export async function beginTopUp(
  pool: Pool,
  walletId: string,
  request: TopUpClaim & { amount: Micros },
): Promise<StartedTopUp> {
  const { amount, keyHmac, fingerprint } = request;
  const row = await callAsTenant<StartedRow>(pool, walletId, "to_jsonb(pb.begin_top_up($2, $3, $4, $5))", [
    randomUUIDv7(),
    amount,
    keyHmac,
    fingerprint,
  ]);
  return {
    id: row.id,
    isNew: row.is_new,
    isSame: row.is_same,
    savesCard: row.saves_card,
    checkoutUrl: row.checkout_url,
    customerId: row.customer_id,
  };
}

interface StartedRow {
  id: string;
  is_new: boolean;
  is_same: boolean;
  saves_card: boolean;
  checkout_url: string | null;
  customer_id: string | null;
}

/** Stores the first checkout of a top-up and ignores later ones, which come from concurrent retries. */
export async function recordCheckout(
  pool: Pool,
  walletId: string,
  checkout: { topUpId: string; checkoutId: string; url: string; expiresAt: Date | null },
): Promise<void> {
  await callAsTenant(pool, walletId, "pb.record_checkout($2, $3, $4, $5)", [
    checkout.topUpId,
    checkout.checkoutId,
    checkout.url,
    checkout.expiresAt,
  ]);
}

/** Stores the first customer id of a wallet and returns the stored one. */
export function recordCustomer(pool: Pool, walletId: string, customerId: string): Promise<string> {
  return callAsTenant(pool, walletId, "pb.record_customer($2)", [customerId]);
}

/** Newest first. */
export async function readTopUps(
  pool: Pool,
  walletId: string,
  query: { id?: string; before?: string | undefined; limit: number },
): Promise<TopUpView[]> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<TopUpView>(
      `select id, kind, status, amount_micros as amount, refunded_micros as refunded, checkout_url as "checkoutUrl",
         receipt_url as "receiptUrl", failure, created_at as "createdAt", expires_at as "expiresAt",
         settled_at as "settledAt"
       from pb.top_ups
       where wallet_id = $1 and ($2::uuid is null or id = $2) and ($3::uuid is null or id < $3)
       order by id desc limit $4`,
      [walletId, query.id ?? null, query.before ?? null, query.limit],
    ),
  );
  return rows;
}

/** The processor's webhook event. Absent when the update was found by polling. */
export interface ProcessorEvent {
  id: string;
  type: string;
}

export interface BookedPayment {
  paymentId: string;
  topUpId: string;
  amount: Micros;
  receiptUrl: string | null;
}

/** Credits each payment once. "conflicting" moved no money and opened a notice. */
export function bookPayment(
  pool: Pool,
  walletId: string,
  payment: BookedPayment,
  event?: ProcessorEvent,
): Promise<"credited" | "repeated" | "conflicting"> {
  return callAsTenant(pool, walletId, "pb.book_payment($2, $3, $4, $5, $6, $7)", [
    event?.id ?? null,
    event?.type ?? null,
    payment.topUpId,
    payment.paymentId,
    payment.amount,
    payment.receiptUrl,
  ]);
}

/** With `kind`, only ends a top-up of that kind. A payment booked later still credits the wallet. */
export function endTopUp(
  pool: Pool,
  walletId: string,
  ended: { topUpId: string; status: "failed" | "expired"; failure?: string | undefined; kind?: TopUpView["kind"] },
  event?: ProcessorEvent,
): Promise<"failed" | "expired" | "repeated"> {
  return callAsTenant(pool, walletId, "pb.end_top_up($2, $3, $4, $5, $6, $7)", [
    event?.id ?? null,
    event?.type ?? null,
    ended.topUpId,
    ended.status,
    ended.failure ?? null,
    ended.kind ?? null,
  ]);
}

/** Expires old top-ups that have no checkout at the processor. */
export async function expireTopUps(payments: Queryable, limit: number): Promise<void> {
  await payments.query("select pb.expire_top_ups($1)", [limit]);
}

/** Processor payments credited since a moment, oldest first. */
export async function listBooked(
  payments: Queryable,
  since: Date,
): Promise<{ paymentId: string; walletId: string; amount: Micros }[]> {
  const { rows } = await payments.query<{ paymentId: string; walletId: string; amount: Micros }>(
    `select payment_id as "paymentId", wallet_id as "walletId", amount_micros as amount
     from pb.top_ups where payment_id is not null and settled_at >= $1 order by settled_at`,
    [since],
  );
  return rows;
}

export interface OpenCheckout {
  checkoutId: string;
  topUpId: string;
  walletId: string;
}

/**
 * Open top-ups that were created before a moment, or whose checkout should have ended. Read in pages by id, so that top-ups
 * that end meanwhile do not shift the next page.
 */
export async function* listOpenCheckouts(
  payments: Queryable,
  { createdBefore, now }: { createdBefore: Date; now: Date },
): AsyncGenerator<OpenCheckout> {
  for (let lastId = "00000000-0000-0000-0000-000000000000"; ; ) {
    const { rows } = await payments.query<OpenCheckout>(
      `select checkout_id as "checkoutId", id as "topUpId", wallet_id as "walletId" from pb.top_ups
       where status = 'pending' and kind = 'checkout' and checkout_id is not null and id > $1
         and (created_at < $2 or coalesce(expires_at, created_at + interval '24 hours') < $3::timestamptz - interval '1 hour')
       order by id limit ${openPageSize}`,
      [lastId, createdBefore, now],
    );
    yield* rows;
    if (rows.length < openPageSize) return;
    lastId = rows.at(-1)?.topUpId ?? lastId;
  }
}

const openPageSize = 500;

/** The time until which the comparison with the processor has completed. */
export async function readComparedUntil(payments: Queryable): Promise<Date> {
  const { rows } = await payments.query<{ until: Date }>("select compared_until as until from pb.payment_comparison");
  if (!rows[0]) throw new Error("pb.payment_comparison has no row");
  return rows[0].until;
}

export async function recordComparison(payments: Queryable, until: Date): Promise<void> {
  await payments.query("select pb.record_comparison($1)", [until]);
}

/** Deletes processor events older than 90 days. */
export async function deleteOldPaymentEvents(payments: Queryable, limit: number): Promise<void> {
  await payments.query("select pb.delete_old_payment_events($1)", [limit]);
}
