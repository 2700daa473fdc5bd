import { randomUUIDv7 } from "node:crypto";
import { asTenant, writeAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

// Money that comes in by a payment. The functions of 0014_payments.sql decide; a wallet is named by the transaction.

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

export interface BegunTopUp {
  id: string;
  /** False if this Idempotency-Key opened it before. */
  isNew: boolean;
  /** False if it did so with another body. */
  isSame: boolean;
  /** Whether the owner asked for automatic top-ups, so that the card must be kept. */
  savesCard: boolean;
  checkoutUrl: string | null;
  /** The processor's name for the owner, if it has one. */
  customerId: string | null;
}

export function beginTopUp(
  pool: Pool,
  walletId: string,
  wanted: { amount: Micros; keyHmac: Buffer; fingerprint: Buffer },
): Promise<BegunTopUp> {
  return writeAsTenant(pool, walletId, async (db) => {
    const { rows } = await db.query<BegunTopUp>(
      `select b.id, b.is_new as "isNew", b.is_same as "isSame", b.saves_card as "savesCard",
         b.checkout_url as "checkoutUrl", (select customer_id from pb.payment_customers where wallet_id = $5) as "customerId"
       from pb.begin_top_up($1, $2, $3, $4) b`,
      [randomUUIDv7(), wanted.amount, wanted.keyHmac, wanted.fingerprint, walletId],
    );
    const [begun] = rows;
    if (!begun) throw new Error("the wallet of a key exists");
    return begun;
  });
}

/** Keeps the first checkout of a top-up: a second one, from a request that raced it, is shown to nobody. */
export function noteCheckout(
  pool: Pool,
  walletId: string,
  noted: { topUpId: string; checkoutId: string; url: string; expiresAt: Date | null },
): Promise<void> {
  return writeAsTenant(pool, walletId, async (db) => {
    await db.query("select pb.note_checkout($1, $2, $3, $4)", [
      noted.topUpId,
      noted.checkoutId,
      noted.url,
      noted.expiresAt,
    ]);
  });
}

/** Keeps the first name the processor gave the owner and says which one that is. */
export function noteCustomer(pool: Pool, walletId: string, customerId: string): Promise<string> {
  return writeAsTenant(pool, walletId, async (db) => {
    const { rows } = await db.query<{ id: string }>("select pb.note_customer($1) as id", [customerId]);
    return rows[0]?.id ?? customerId;
  });
}

/** Newest first. */
export async function readTopUps(
  pool: Pool,
  walletId: string,
  wanted: { id?: string; before?: string | undefined; most: number },
): Promise<TopUpView[]> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<TopUpView>(
      `select id, kind, status, amount_micros as amount, refunded_micros as refunded, checkout_url as "checkoutUrl",
         receipt_url as "receiptUrl", failure, created_at as "createdAt", expires_at as "expiresAt",
         settled_at as "settledAt"
       from pb.top_ups
       where wallet_id = $1 and ($2::uuid is null or id = $2) and ($3::uuid is null or id < $3)
       order by id desc limit $4`,
      [walletId, wanted.id ?? null, wanted.before ?? null, wanted.most],
    ),
  );
  return rows;
}

/** Who told us. Absent when nobody did and we asked. */
export interface EventName {
  id: string;
  type: string;
}

export interface BookedPayment {
  paymentId: string;
  topUpId: string;
  amount: Micros;
  receiptUrl: string | null;
}

/** As the wallet of the transaction. Credits once per payment; "conflicting" moved nothing and waits for a person. */
export async function bookPayment(
  db: Queryable,
  payment: BookedPayment,
  event?: EventName,
): Promise<"credited" | "repeated" | "conflicting"> {
  const { rows } = await db.query<{ outcome: "credited" | "repeated" | "conflicting" }>(
    "select pb.book_payment($1, $2, $3, $4, $5, $6) as outcome",
    [event?.id ?? null, event?.type ?? null, payment.topUpId, payment.paymentId, payment.amount, payment.receiptUrl],
  );
  return rows[0]?.outcome ?? "conflicting";
}

/** As the wallet of the transaction. Only a top-up of the kind, if one is named. A payment that is booked later still wins. */
export async function endTopUp(
  db: Queryable,
  ended: { topUpId: string; status: "failed" | "expired"; failure?: string | undefined; kind?: TopUpView["kind"] },
  event?: EventName,
): Promise<"failed" | "expired" | "repeated"> {
  const { rows } = await db.query<{ outcome: "failed" | "expired" | "repeated" }>(
    "select pb.end_top_up($1, $2, $3, $4, $5, $6) as outcome",
    [event?.id ?? null, event?.type ?? null, ended.topUpId, ended.status, ended.failure ?? null, ended.kind ?? null],
  );
  return rows[0]?.outcome ?? "repeated";
}

/** Top-ups that nobody paid and whose checkout ended an hour ago; as the owner. Says how many it ended. */
export async function expireTopUps(db: Queryable, most: number): Promise<number> {
  const { rowCount } = await db.query(
    `update pb.top_ups set status = 'expired', settled_at = clock_timestamp()
     where id in (
       select id from pb.top_ups
       where status = 'pending' and kind = 'checkout'
         and coalesce(expires_at, created_at + interval '24 hours') < clock_timestamp() - interval '1 hour'
       order by created_at limit $1 for update skip locked
     ) and status = 'pending'`,
    [most],
  );
  return rowCount ?? 0;
}

/** Payments of the processor that were credited since a moment, oldest first; as the owner. */
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

/** What was said of payments long ago serves nobody. The gates of the money stay. As the owner. */
export async function forgetPaymentEvents(db: Queryable, most: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from pb.payment_events where event_id in (
       select event_id from pb.payment_events where received_at < clock_timestamp() - interval '90 days' limit $1)`,
    [most],
  );
  return rowCount ?? 0;
}
