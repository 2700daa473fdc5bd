import { callAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import type { Act } from "../db/record-act.ts";
import type { Micros } from "../lib/money.ts";
import type { BookedPayment, ProcessorEvent } from "./top-ups.ts";

// Payments that the processor takes back. If the wallet cannot cover the amount, the rest becomes debt, because a balance is
// never negative.

export interface Reversal {
  /** The processor's id of the refund or dispute. */
  id: string;
  kind: "refund" | "dispute";
  amount: Micros;
  /** taken: the money left our account. returned: it came back, or never left. lost: the dispute was decided against us. */
  state: "taken" | "returned" | "lost";
}

export type ReversalOutcome = Reversal["state"] | "repeated" | "not_credited" | "conflicting";

/**
 * Applies each state of a refund or dispute once, in any order of arrival. If the payment is `paid`, it is booked first, in
 * the same statement.
 */
export function reversePayment(
  pool: Pool,
  walletId: string,
  payment: { id: string; paid?: Omit<BookedPayment, "paymentId"> | undefined },
  reversal: Reversal,
  event?: ProcessorEvent,
): Promise<ReversalOutcome> {
  return callAsTenant(pool, walletId, "pb.reverse_payment($2, $3, $4, $5, $6, $7, $8, $9, $10, $11)", [
    event?.id ?? null,
    event?.type ?? null,
    reversal.id,
    reversal.kind,
    payment.id,
    reversal.amount,
    reversal.state,
    payment.paid?.topUpId ?? null,
    payment.paid?.amount ?? null,
    payment.paid?.receiptUrl ?? null,
  ]);
}

/**
 * All reversals that may still change: disputes until they are decided, refunds for a month in case they fail. Read in
 * pages by id, so that reversals decided meanwhile do not shift the next page.
 */
export async function* listUndecided(payments: Queryable): AsyncGenerator<Pick<Reversal, "id" | "kind">> {
  for (let lastId = ""; ; ) {
    const { rows } = await payments.query<Pick<Reversal, "id" | "kind">>(
      `select reversal_id as id, kind from pb.reversals
       where state = 'taken' and (kind = 'dispute' or created_at > clock_timestamp() - interval '31 days')
         and reversal_id > $1
       order by reversal_id limit ${undecidedPageSize}`,
      [lastId],
    );
    yield* rows;
    if (rows.length < undecidedPageSize) return;
    lastId = rows.at(-1)?.id ?? lastId;
  }
}

const undecidedPageSize = 500;

export interface PaymentNotice {
  id: string;
  reason: string;
  subject: string;
  walletId: string | null;
  amount: Micros | null;
  foundAt: Date;
}

/** All open notices that need a person, oldest first. */
export async function listNotices(db: Queryable): Promise<PaymentNotice[]> {
  const { rows } = await db.query<PaymentNotice>(
    `select id, reason, subject, wallet_id as "walletId", amount_micros as amount, found_at as "foundAt"
     from pb.payment_notices where closed_at is null order by found_at`,
  );
  return rows;
}

export async function countNotices(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ open: bigint }>(
    "select count(*) as open from pb.payment_notices where closed_at is null",
  );
  return Number(rows[0]?.open ?? 0);
}

/** Opens a notice for a payment, refund or dispute that could not be read or booked. */
export async function recordUnreadable(
  db: Queryable,
  item: { id: string; walletId?: string; amount?: Micros | undefined },
): Promise<void> {
  await db.query("select pb.open_payment_notice('unreadable', $1, $2, $3)", [
    item.id,
    item.walletId ?? null,
    item.amount ?? null,
  ]);
}

/** Opens a notice for a credited payment that the processor does not report as paid. */
export async function recordUnpaid(
  db: Queryable,
  unpaid: { paymentId: string; walletId: string; amount: Micros },
): Promise<void> {
  await db.query("select pb.open_payment_notice('not_paid_there', $1, $2, $3)", [
    unpaid.paymentId,
    unpaid.walletId,
    unpaid.amount,
  ]);
}

/** Writes the audit log too. Returns false if the notice does not exist or is already closed. */
export async function closeNotice(db: Queryable, { operator, reason }: Act, id: string): Promise<boolean> {
  const { rows } = await db.query<{ closed: boolean }>("select pb.operator_close_notice($1, $2, $3) as closed", [
    operator,
    reason,
    id,
  ]);
  return rows[0]?.closed ?? false;
}
