import { randomUUIDv7 } from "node:crypto";
import { type Actor, asTenant, callAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

// Automatic top-ups are started by a background job. Searches never check for them or wait for them.

export interface AutoTopUpLimits {
  /** The wallet is topped up when its balance falls below this. */
  threshold: Micros;
  amount: Micros;
  dayCap: Micros;
  monthCap: Micros;
}

export interface AutoTopUpView extends AutoTopUpLimits {
  hasCard: boolean;
  declines: number;
  isOff: boolean;
  nextAttemptAt: Date;
  /** Added in this UTC month, pending charges included. */
  addedThisMonth: Micros;
}

export async function readAutoTopUp(pool: Pool, walletId: string): Promise<AutoTopUpView | undefined> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<AutoTopUpView>(
      `select a.threshold_micros as threshold, a.amount_micros as amount, a.day_cap_micros as "dayCap",
         a.month_cap_micros as "monthCap", a.declines, a.off_at is not null as "isOff",
         a.next_attempt_at as "nextAttemptAt",
         exists (
           select from pb.top_ups c where c.wallet_id = a.wallet_id and c.saves_card
             and c.status in ('succeeded', 'refunded', 'disputed')
         ) as "hasCard",
         (
           select coalesce(sum(t.amount_micros), 0)::bigint from pb.top_ups t
           where t.wallet_id = a.wallet_id and t.kind = 'automatic' and t.status not in ('failed', 'expired')
             and t.created_at >= date_trunc('month', clock_timestamp() at time zone 'utc') at time zone 'utc'
         ) as "addedThisMonth"
       from pb.auto_top_ups a where a.wallet_id = $1`,
      [walletId],
    ),
  );
  return rows[0];
}

/** Also re-enables an automatic top-up that was turned off after declines. */
export async function setAutoTopUp(pool: Pool, by: Actor, limits: AutoTopUpLimits): Promise<void> {
  await callAsTenant(pool, by.walletId, "pb.set_auto_top_up($2, $3, $4, $5, $6)", [
    by.keyId,
    limits.threshold,
    limits.amount,
    limits.dayCap,
    limits.monthCap,
  ]);
}

/** Returns the processor's customer id, so that the caller can detach the saved cards. */
export async function deleteAutoTopUp(pool: Pool, { walletId, keyId }: Actor): Promise<{ customerId: string | null }> {
  await callAsTenant(pool, walletId, "pb.delete_auto_top_up($2)", [keyId]);
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<{ customer_id: string }>("select customer_id from pb.payment_customers where wallet_id = $1", [walletId]),
  );
  return { customerId: rows[0]?.customer_id ?? null };
}

export interface Attempt {
  topUpId: string;
  walletId: string;
  amount: Micros;
  customerId: string;
  createdAt: Date;
}

/** Opens a top-up for every automatic top-up that is due. Its id is the idempotency key of the charge. */
export async function beginAutoTopUps(payments: Queryable, limit: number): Promise<number> {
  const ids = Array.from({ length: limit }, () => randomUUIDv7());
  const { rowCount } = await payments.query("select * from pb.begin_auto_top_ups($1)", [ids]);
  return rowCount ?? 0;
}

/** Lists pending automatic top-ups: new ones, and those left behind by a worker that crashed. */
export async function listAttempts(payments: Queryable): Promise<Attempt[]> {
  const { rows } = await payments.query<Attempt>(
    `select t.id as "topUpId", t.wallet_id as "walletId", t.amount_micros as amount, c.customer_id as "customerId",
       t.created_at as "createdAt"
     from pb.top_ups t
     join pb.payment_customers c on c.wallet_id = t.wallet_id
     join pb.wallets w on w.id = t.wallet_id and w.suspended_at is null
     where t.kind = 'automatic' and t.status = 'pending' order by t.created_at`,
  );
  return rows;
}
