import { randomUUIDv7 } from "node:crypto";
import { asTenant, writeAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

// Money that comes in through a payment. The SQL functions decide what is credited, for the tenant of the transaction.

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

export function beginTopUp(
  pool: Pool,
  walletId: string,
  request: { amount: Micros; keyHmac: Buffer; fingerprint: Buffer },
): Promise<StartedTopUp> {
  return writeAsTenant(pool, walletId, async (db) => {
    const { rows } = await db.query<StartedTopUp>(
      `select b.id, b.is_new as "isNew", b.is_same as "isSame", b.saves_card as "savesCard",
         b.checkout_url as "checkoutUrl", (select customer_id from pb.payment_customers where wallet_id = $5) as "customerId"
       from pb.begin_top_up($1, $2, $3, $4) b`,
      [randomUUIDv7(), request.amount, request.keyHmac, request.fingerprint, walletId],
    );
    const [started] = rows;
    if (!started) throw new Error(`wallet ${walletId} does not exist`);
    return started;
  });
}

/** Stores the first checkout of a top-up and ignores later ones, which come from concurrent retries. */
export function recordCheckout(
  pool: Pool,
  walletId: string,
  checkout: { topUpId: string; checkoutId: string; url: string; expiresAt: Date | null },
): Promise<void> {
  return writeAsTenant(pool, walletId, async (db) => {
    await db.query("select pb.record_checkout($1, $2, $3, $4)", [
      checkout.topUpId,
      checkout.checkoutId,
      checkout.url,
      checkout.expiresAt,
    ]);
  });
}

/** Stores the first customer id of a wallet and returns the stored one. */
export function recordCustomer(pool: Pool, walletId: string, customerId: string): Promise<string> {
  return writeAsTenant(pool, walletId, async (db) => {
    const { rows } = await db.query<{ id: string }>("select pb.record_customer($1) as id", [customerId]);
    return rows[0]?.id ?? customerId;
  });
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

/** Runs as the tenant. Credits each payment once. "conflicting" moved no money and opened a notice. */
export async function bookPayment(
  db: Queryable,
  payment: BookedPayment,
  event?: ProcessorEvent,
): Promise<"credited" | "repeated" | "conflicting"> {
  const { rows } = await db.query<{ outcome: "credited" | "repeated" | "conflicting" }>(
    "select pb.book_payment($1, $2, $3, $4, $5, $6) as outcome",
    [event?.id ?? null, event?.type ?? null, payment.topUpId, payment.paymentId, payment.amount, payment.receiptUrl],
  );
  return rows[0]?.outcome ?? "conflicting";
}

/** Runs as the tenant. With `kind`, only ends a top-up of that kind. A payment booked later still credits the wallet. */
export async function endTopUp(
  db: Queryable,
  ended: { topUpId: string; status: "failed" | "expired"; failure?: string | undefined; kind?: TopUpView["kind"] },
  event?: ProcessorEvent,
): Promise<"failed" | "expired" | "repeated"> {
  const { rows } = await db.query<{ outcome: "failed" | "expired" | "repeated" }>(
    "select pb.end_top_up($1, $2, $3, $4, $5, $6) as outcome",
    [event?.id ?? null, event?.type ?? null, ended.topUpId, ended.status, ended.failure ?? null, ended.kind ?? null],
  );
  return rows[0]?.outcome ?? "repeated";
}

/** Expires unpaid top-ups whose checkout ended over an hour ago. Returns how many. Runs as the owner. */
export async function expireTopUps(db: Queryable, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `update pb.top_ups set status = 'expired', settled_at = clock_timestamp()
     where id in (
       select id from pb.top_ups
       where status = 'pending' and kind = 'checkout'
         and coalesce(expires_at, created_at + interval '24 hours') < clock_timestamp() - interval '1 hour'
       order by created_at limit $1 for update skip locked
     ) and status = 'pending'`,
    [limit],
  );
  return rowCount ?? 0;
}

/** Processor payments credited since a moment, oldest first. Runs as the owner. */
export async function listBooked(
  db: Queryable,
  since: Date,
): Promise<{ paymentId: string; walletId: string; amount: Micros }[]> {
  const { rows } = await db.query<{ paymentId: string; walletId: string; amount: Micros }>(
    `select payment_id as "paymentId", wallet_id as "walletId", amount_micros as amount
     from pb.top_ups where payment_id is not null and settled_at >= $1 order by settled_at`,
    [since],
  );
  return rows;
}

/**
 * Deletes processor events older than 90 days. The rows that prevent double crediting (`payments`, `reversals`) stay.
 * Runs as the owner.
 */
export async function deleteOldPaymentEvents(db: Queryable, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from pb.payment_events where event_id in (
       select event_id from pb.payment_events where received_at < clock_timestamp() - interval '90 days' limit $1)`,
    [limit],
  );
  return rowCount ?? 0;
}
