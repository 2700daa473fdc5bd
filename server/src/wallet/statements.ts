import { randomUUIDv7 } from "node:crypto";
import { type Queryable, within } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

// One statement per batch, autocommitted: what the functions of the migrations promise, in our types.
// The i-th outcome belongs to the i-th item.

export interface Hold {
  searchId: string;
  walletId: string;
}

export interface HoldRequest extends Hold {
  keyId: string;
  idempotency?: { keyHmac: Buffer; fingerprint: Buffer } | undefined;
  run?: { name: string; maxMicros: Micros; ttlSeconds: number } | undefined;
  /** For the owner's usage report. */
  category?: string | undefined;
}

export type HoldOutcome =
  | { outcome: "held" | "insufficient_balance" | "balance_reserved"; balance: Micros }
  | { outcome: "replayed"; balance: Micros; answer: Buffer }
  | { outcome: "key_budget_spent" | "run_budget_spent"; limit: Micros; spent: Micros; resetsAt: Date | null }
  | {
      outcome:
        | "idempotency_in_progress"
        | "idempotency_key_reused"
        | "api_key_invalid"
        | "api_key_revoked"
        | "api_key_expired"
        | "account_suspended";
    }
  /** The server's clock is more than a day off; the id is another wallet's; the hold came and went. */
  | { outcome: "clock_skewed" | "id_taken" | "lost" };

export interface CaptureRequest extends Hold {
  /** Encrypted; kept a day when the search bore an Idempotency-Key. */
  answer?: Buffer | undefined;
}

export interface ReleaseRequest extends Hold {
  /** Why the search failed: a problem code, for the owner's usage report. */
  outcome?: string | undefined;
}

export interface Settlement {
  state: "captured" | "released" | "expired" | "pending" | "unknown";
  balance: Micros;
}

/** Ids that were never sent need not be looked for; should one be known all the same, the whole batch is refused. */
export async function holdBatch(
  db: Queryable,
  items: readonly HoldRequest[],
  wereSentBefore = true,
): Promise<HoldOutcome[]> {
  const statement = {
    name: "hold",
    text: "select * from pb.hold($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    values: [
      ids(items.map((item) => item.searchId)),
      ids(items.map((item) => item.walletId)),
      ids(items.map((item) => item.keyId)),
      maybeNone(items.map((item) => item.idempotency?.keyHmac)),
      maybeNone(items.map((item) => item.idempotency?.fingerprint)),
      maybeNone(items.map((item) => item.run?.name)),
      maybeNone(items.map((item) => item.run?.maxMicros)),
      maybeNone(items.map((item) => item.run?.ttlSeconds)),
      items.map((item) => item.category ?? null),
      wereSentBefore,
    ],
  };
  // Shorter than the caller's patience, so that a connection gone silent is found out while asking again still helps.
  const { rows } = await db.query<HoldRow>(within(2_000, statement));
  return inOrder(rows, toHoldOutcome);
}

export async function captureBatch(db: Queryable, items: readonly CaptureRequest[]): Promise<Settlement[]> {
  const { rows } = await db.query<SettlementRow>({
    name: "capture",
    text: "select * from pb.capture($1, $2, $3)",
    values: [
      ids(items.map((item) => item.searchId)),
      ids(items.map((item) => item.walletId)),
      maybeNone(items.map((item) => item.answer)),
    ],
  });
  return inOrder(rows, toSettlement);
}

export async function releaseBatch(db: Queryable, items: readonly ReleaseRequest[]): Promise<Settlement[]> {
  const { rows } = await db.query<SettlementRow>({
    name: "release",
    text: "select * from pb.release($1, $2, $3)",
    values: [
      items.map((item) => item.searchId),
      items.map((item) => item.walletId),
      items.map((item) => item.outcome ?? null),
    ],
  });
  return inOrder(rows, toSettlement);
}

export interface Swept {
  holds: number;
  /** What they held; those of test keys hold nothing. */
  micros: Micros;
}

/** Ends holds whose life is over by the database's clock; says how many. A thorough pass looks two days back. */
export async function expireHolds(db: Queryable, most: number, isThorough = false): Promise<Swept> {
  const { rows } = await db.query<{ ended: number; micros: bigint }>("select * from pb.sweep($1, $2)", [
    most,
    isThorough,
  ]);
  return { holds: rows[0]?.ended ?? 0, micros: rows[0]?.micros ?? 0n };
}

export interface TopUp {
  paymentId: string;
  walletId: string;
  amount: Micros;
}

export type TopUpOutcome = "credited" | "repeated" | "conflicting" | "unknown_wallet";
export type RefundOutcome = "refunded" | "repeated" | "not_captured";

/** `top_up` is money received, `credit` is ours to give. Once per payment id, whoever announces it. */
export async function topUpBatch(
  db: Queryable,
  kind: "top_up" | "credit",
  items: readonly TopUp[],
): Promise<TopUpOutcome[]> {
  const { rows } = await db.query<OutcomeRow<TopUpOutcome>>("select * from pb.top_up($1, $2, $3, $4, $5)", [
    items.map((item) => item.paymentId),
    items.map((item) => item.walletId),
    items.map((item) => item.amount),
    items.map(() => randomUUIDv7()),
    kind,
  ]);
  return inOrder(rows, (row) => row.outcome);
}

/** Gives a captured search's price back, at most once. */
export async function refundBatch(
  db: Queryable,
  items: readonly (Hold & { reason: string })[],
): Promise<RefundOutcome[]> {
  const { rows } = await db.query<OutcomeRow<RefundOutcome>>("select * from pb.refund($1, $2, $3, $4)", [
    items.map((item) => item.searchId),
    items.map((item) => item.walletId),
    items.map(() => randomUUIDv7()),
    items.map((item) => item.reason),
  ]);
  return inOrder(rows, (row) => row.outcome);
}

/** As PostgreSQL reads a list. The driver would look at each for what has to be escaped, and a UUID has nothing. */
function ids(uuids: readonly string[]): string {
  return `{${uuids.join(",")}}`;
}

/** What no search of the batch has need not be written out for each of them. */
function maybeNone<Value>(values: readonly (Value | undefined)[]): (Value | null)[] | null {
  return values.every((value) => value === undefined) ? null : values.map((value) => value ?? null);
}

interface Row {
  /** One-based position in the batch: the database answers in its own order. */
  item: number;
}

interface HoldRow extends Row {
  outcome: HoldOutcome["outcome"];
  balance_micros: Micros;
  limit_micros: Micros | null;
  spent_micros: Micros | null;
  resets_at: Date | null;
  answer: Buffer | null;
}

interface SettlementRow extends Row {
  state: Settlement["state"];
  balance_micros: Micros;
}

interface OutcomeRow<Outcome> extends Row {
  outcome: Outcome;
}

function inOrder<R extends Row, Result>(rows: R[], toResult: (row: R) => Result): Result[] {
  const results: Result[] = [];
  for (const row of rows) results[row.item - 1] = toResult(row);
  return results;
}

/** pb.hold fills exactly the columns that belong to its outcome. */
function toHoldOutcome(row: HoldRow): HoldOutcome {
  return {
    outcome: row.outcome,
    balance: row.balance_micros,
    limit: row.limit_micros,
    spent: row.spent_micros,
    resetsAt: row.resets_at,
    answer: row.answer,
  } as HoldOutcome;
}

function toSettlement(row: SettlementRow): Settlement {
  return { state: row.state, balance: row.balance_micros };
}
