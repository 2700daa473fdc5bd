import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";
import type { EventName } from "./top-ups.ts";

// A payment that the processor takes back. A balance is never negative: see 0016_reversals.sql.

export interface Reversal {
  /** The processor's name of the refund or dispute. */
  id: string;
  kind: "refund" | "dispute";
  amount: Micros;
  /** taken: the money has left us. returned: it came back, or never left. lost: it left for good. */
  state: "taken" | "returned" | "lost";
}

export type ReversalOutcome = Reversal["state"] | "repeated" | "not_credited" | "conflicting";

/** As the wallet of the transaction. Once per refund or dispute, in whatever order it is told of it. */
export async function reversePayment(
  db: Queryable,
  paymentId: string,
  reversal: Reversal,
  event?: EventName,
): Promise<ReversalOutcome> {
  const { rows } = await db.query<{ outcome: ReversalOutcome }>(
    "select pb.reverse_payment($1, $2, $3, $4, $5, $6, $7) as outcome",
    [event?.id ?? null, event?.type ?? null, reversal.id, reversal.kind, paymentId, reversal.amount, reversal.state],
  );
  return rows[0]?.outcome ?? "conflicting";
}

/**
 * Reversals that may still change: a dispute until it is decided, a refund for a month in case it fails. The oldest
 * first, a few hundred at most. As the owner.
 */
export async function listUndecided(owner: Queryable): Promise<Pick<Reversal, "id" | "kind">[]> {
  const { rows } = await owner.query<Pick<Reversal, "id" | "kind">>(
    `select reversal_id as id, kind from pb.reversals
     where state = 'taken' and (kind = 'dispute' or created_at > clock_timestamp() - interval '31 days')
     order by created_at limit 500`,
  );
  return rows;
}

export interface PaymentNotice {
  id: string;
  reason: string;
  subject: string;
  walletId: string | null;
  amount: Micros | null;
  foundAt: Date;
}

/** What a person has to look at, oldest first; as the owner. */
export async function listNotices(db: Queryable): Promise<PaymentNotice[]> {
  const { rows } = await db.query<PaymentNotice>(
    `select id, reason, subject, wallet_id as "walletId", amount_micros as amount, found_at as "foundAt"
     from pb.payment_notices where closed_at is null order by found_at limit 1000`,
  );
  return rows;
}

/** A payment that we credited and the processor does not know as paid; as the owner. */
export async function noteUnpaid(
  db: Queryable,
  unpaid: { paymentId: string; walletId: string; amount: Micros },
): Promise<void> {
  await db.query("select pb.note_for_a_person('not_paid_there', $1, $2, $3)", [
    unpaid.paymentId,
    unpaid.walletId,
    unpaid.amount,
  ]);
}

/** False if there is no such notice, or somebody closed it before. */
export async function closeNotice(db: Queryable, id: string, operator: string): Promise<boolean> {
  const { rowCount } = await db.query(
    "update pb.payment_notices set closed_at = clock_timestamp(), closed_by = $2 where id = $1 and closed_at is null",
    [id, operator],
  );
  return rowCount === 1;
}
