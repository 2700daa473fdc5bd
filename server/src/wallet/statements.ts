import { randomUUIDv7 } from "node:crypto";
import type pg from "pg";
import { type Queryable, withTimeout } from "../db/pool.ts";
import { queryFenced, sendFenced } from "../db/query-fenced.ts";
import { busy, isLockTimeout, type LockWait, type SendOptions } from "../db/settle-batch.ts";
import type { Micros } from "../lib/money.ts";

// Typed wrappers of the ledger's SQL functions: one autocommitted statement per batch.
// The i-th outcome belongs to the i-th item.

export interface Hold {
  searchId: string;
  walletId: string;
}

export interface HoldRequest extends Hold {
  keyId: string;
  idempotency?: IdempotencyClaim | undefined;
  run?: { name: string; maxMicros: Micros; ttlSeconds: number } | undefined;
  /** For the owner's usage report. */
  category?: string | undefined;
  /** As it is stored: see end-users.ts. */
  endUser?: string | undefined;
}

export interface IdempotencyClaim {
  keyHmac: Buffer;
  fingerprint: Buffer;
}

export type HoldOutcome = HoldDecision & {
  /** The limits of the run, of the key and of the end user that the search counts against. Undefined if there are none. */
  budgets?: BudgetState[] | undefined;
};

/** A limit at the time of the hold. */
export interface BudgetState {
  limit: "run" | "total" | "day" | "week" | "month" | "end_user";
  /** Of a shared budget. Undefined for a run and for the key's own limits. */
  budgetId?: string | undefined;
  max: Micros;
  /** Includes searches in flight, without this one. */
  spent: Micros;
  /** When the run ends, or the day, week or month of the key or the end user. */
  resetsAt: Date | null;
}

/** The budget that refuses a search. Its id and name are null for the key's own limits. */
export interface SpentBudget {
  id: string | null;
  name: string | null;
  period: BudgetPeriod;
}

export type BudgetPeriod = "total" | "day" | "week" | "month";

export type HoldDecision =
  | { outcome: "held" | "balance_reserved"; balance: Micros }
  | { outcome: "insufficient_balance"; balance: Micros; owed: Micros }
  | { outcome: "replayed"; balance: Micros; answer: Buffer }
  | {
      outcome: "key_budget_spent" | "run_budget_spent" | "end_user_budget_spent";
      limit: Micros;
      spent: Micros;
      resetsAt: Date | null;
      /** Null for a run. */
      budget: SpentBudget | null;
    }
  | {
      outcome:
        | "idempotency_in_progress"
        | "idempotency_key_reused"
        | "api_key_invalid"
        | "api_key_revoked"
        | "api_key_expired"
        | "account_suspended"
        | "end_user_required";
    }
  /**
   * clock_skewed: the server's clock is more than a day off. id_taken: the id belongs to another wallet. lost: the hold
   * was settled or has expired.
   */
  | { outcome: "clock_skewed" | "id_taken" | "lost" };

/** Milliseconds of a search until its capture or release is sent. */
export interface StepTimes {
  auth: number;
  /** From there, with the limits and reading the body. */
  hold: number;
  upstream: number;
  rank: number;
}

export interface CaptureRequest extends Hold {
  stepMs?: StepTimes | undefined;
  /** For operators: see pb.searches. */
  upstreams?: string | undefined;
  /** Encrypted. Stored for a day if the search had an Idempotency-Key. */
  answer?: Buffer | undefined;
}

export interface ReleaseRequest extends Hold {
  stepMs?: StepTimes | undefined;
  upstreams?: string | undefined;
  /** Problem code of the failure, for the owner's usage report. */
  outcome?: string | undefined;
}

export interface Settlement {
  state: "captured" | "released" | "expired" | "pending" | "unknown";
  balance: Micros;
}

/**
 * Sends one batch. `isResend: false` skips the lookup of existing ids; if one exists anyway, the whole batch is rejected.
 */
export async function sendHolds(
  db: Queryable,
  items: readonly HoldRequest[],
  { isResend, lockWait }: SendOptions,
): Promise<(HoldOutcome | typeof busy)[]> {
  const toStatement = (expectedTimeline: string | null): pg.QueryConfig => ({
    name: "hold",
    text: "select * from pb.hold($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    values: [
      uuidArray(items.map((item) => item.searchId)),
      uuidArray(items.map((item) => item.walletId)),
      uuidArray(items.map((item) => item.keyId)),
      nullIfUnused(items.map((item) => item.idempotency?.keyHmac)),
      nullIfUnused(items.map((item) => item.idempotency?.fingerprint)),
      nullIfUnused(items.map((item) => item.run?.name)),
      nullIfUnused(items.map((item) => item.run?.maxMicros)),
      nullIfUnused(items.map((item) => item.run?.ttlSeconds)),
      items.map((item) => item.category ?? null),
      isResend,
      ...lockArguments(lockWait),
      expectedTimeline,
      nullIfUnused(items.map((item) => item.endUser)),
    ],
  });
  // Shorter than the lane's timeout, so that a dead connection is detected while there is time for a retry.
  const { rows } = await sendFenced<HoldRow>(db, (timeline) => withTimeout(2_000, toStatement(timeline)));
  return inItemOrder(rows, toHoldOutcome);
}

export async function sendCaptures(
  db: Queryable,
  items: readonly CaptureRequest[],
  { lockWait }: Pick<SendOptions, "lockWait">,
): Promise<(Settlement | typeof busy)[]> {
  const { rows } = await sendFenced<SettlementRow>(db, (expectedTimeline) => ({
    name: "capture",
    text: "select * from pb.capture($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    values: [
      uuidArray(items.map((item) => item.searchId)),
      uuidArray(items.map((item) => item.walletId)),
      joinAnswers(items),
      nullIfUnused(items.map((item) => item.answer?.length)),
      ...lockArguments(lockWait),
      expectedTimeline,
      toStepMs(items),
      nullIfUnused(items.map((item) => item.upstreams)),
    ],
  }));
  return inItemOrder(rows, toSettlement);
}

export async function sendReleases(
  db: Queryable,
  items: readonly ReleaseRequest[],
  { lockWait }: Pick<SendOptions, "lockWait">,
): Promise<(Settlement | typeof busy)[]> {
  const { rows } = await sendFenced<SettlementRow>(db, (expectedTimeline) => ({
    name: "release",
    text: "select * from pb.release($1, $2, $3, $4, $5, $6, $7, $8)",
    values: [
      items.map((item) => item.searchId),
      items.map((item) => item.walletId),
      items.map((item) => item.outcome ?? null),
      ...lockArguments(lockWait),
      expectedTimeline,
      toStepMs(items),
      nullIfUnused(items.map((item) => item.upstreams)),
    ],
  }));
  return inItemOrder(rows, toSettlement);
}

// Single attempts that wait for locked wallets, for callers without a lane.

export async function holdBatch(db: Queryable, items: readonly HoldRequest[], isResend = true): Promise<HoldOutcome[]> {
  return withoutBusy(await sendHolds(db, items, { isResend, lockWait: "long" }));
}

export async function captureBatch(db: Queryable, items: readonly CaptureRequest[]): Promise<Settlement[]> {
  return withoutBusy(await sendCaptures(db, items, { lockWait: "long" }));
}

export async function releaseBatch(db: Queryable, items: readonly ReleaseRequest[]): Promise<Settlement[]> {
  return withoutBusy(await sendReleases(db, items, { lockWait: "long" }));
}

function withoutBusy<Result>(results: (Result | typeof busy)[]): Result[] {
  return results.filter((result) => result !== busy) as Result[];
}

export interface Swept {
  holds: number;
  /** Amount returned to wallets. Test searches hold 0. */
  micros: Micros;
  /** How long the oldest hold that was skipped, because its wallet is locked, has been overdue. 0 if none was skipped. */
  skippedSeconds: number;
}

/** Wallets whose lock one sweep waits for. */
const maxAwaited = 10;

/** Expires overdue holds, by the database's clock. A thorough pass looks two days back. */
export async function expireHolds(db: Queryable, limit: number, isThorough = false): Promise<Swept> {
  const { skippedIds, ...swept } = await sweep(db, limit, isThorough);
  let stillLocked = skippedIds.length;
  // One by one, so that waiting for one wallet does not delay the others.
  for (const walletId of skippedIds.slice(0, maxAwaited)) {
    const own = await sweep(db, limit, isThorough, walletId).catch(catchLockTimeout);
    if (!own) continue;
    stillLocked -= 1;
    swept.holds += own.holds;
    swept.micros += own.micros;
  }
  return stillLocked === 0 ? { ...swept, skippedSeconds: 0 } : swept;
}

async function sweep(
  db: Queryable,
  limit: number,
  isThorough: boolean,
  onlyWallet?: string,
): Promise<Swept & { skippedIds: string[] }> {
  const { rows } = await db.query<Swept & { skippedIds: string[] }>(
    `select ended as holds, micros, skipped_s as "skippedSeconds", skipped_ids as "skippedIds"
     from pb.sweep($1, $2, $3)`,
    [limit, isThorough, onlyWallet ?? null],
  );
  const [row] = rows;
  if (!row) throw new Error("pb.sweep returned no row");
  return row;
}

function catchLockTimeout(error: unknown): undefined {
  if (!isLockTimeout(error)) throw error;
}

export interface TopUp {
  paymentId: string;
  walletId: string;
  amount: Micros;
}

export type TopUpOutcome = "credited" | "repeated" | "conflicting" | "unknown_wallet";
export type RefundOutcome = "refunded" | "repeated" | "not_captured";

/** `top_up`: money received. `credit`: a credit granted by the operator. Each payment id is credited once. */
export async function topUpBatch(
  db: Queryable,
  kind: "top_up" | "credit",
  items: readonly TopUp[],
): Promise<TopUpOutcome[]> {
  const { rows } = await queryFenced<OutcomeRow<TopUpOutcome>>(db, "select * from pb.top_up($1, $2, $3, $4, $5)", [
    items.map((item) => item.paymentId),
    items.map((item) => item.walletId),
    items.map((item) => item.amount),
    items.map(() => randomUUIDv7()),
    kind,
  ]);
  return inItemOrder(rows, (row) => row.outcome);
}

/** Refunds captured searches, each at most once. */
export async function refundBatch(
  db: Queryable,
  items: readonly (Hold & { reason: string })[],
): Promise<RefundOutcome[]> {
  const { rows } = await queryFenced<OutcomeRow<RefundOutcome>>(db, "select * from pb.refund($1, $2, $3, $4)", [
    items.map((item) => item.searchId),
    items.map((item) => item.walletId),
    items.map(() => randomUUIDv7()),
    items.map((item) => item.reason),
  ]);
  return inItemOrder(rows, (row) => row.outcome);
}

/** Longer than batches of several servers wait for each other under load. */
const shortLockWaitMs = 50;

/** The arguments skip_locked and lock_wait_ms. */
function lockArguments(lockWait: LockWait): [boolean, number | null] {
  return [lockWait === "none", lockWait === "short" ? shortLockWaitMs : null];
}

/** A PostgreSQL array literal. The driver would scan each UUID for characters to escape, and there are none. */
function uuidArray(uuids: readonly string[]): string {
  return `{${uuids.join(",")}}`;
}

/** One value, because the driver sends it unchanged, while it would send an array as text with two digits for each byte. */
function joinAnswers(items: readonly CaptureRequest[]): Buffer | null {
  const answers = items.flatMap(({ answer }) => answer ?? []);
  return answers.length === 0 ? null : Buffer.concat(answers);
}

const maxStepMs = 32_767;

/** Four numbers for each item. */
function toStepMs(items: readonly { stepMs?: StepTimes | undefined }[]): (number | null)[] | null {
  if (items.every(({ stepMs }) => stepMs === undefined)) return null;
  return items.flatMap(({ stepMs }) =>
    stepMs
      ? [stepMs.auth, stepMs.hold, stepMs.upstream, stepMs.rank].map((ms) => Math.min(Math.round(ms), maxStepMs))
      : [null, null, null, null],
  );
}

/** A column that no item of the batch uses is sent as one NULL instead of an array of them. */
function nullIfUnused<Value>(values: readonly (Value | undefined)[]): (Value | null)[] | null {
  return values.every((value) => value === undefined) ? null : values.map((value) => value ?? null);
}

interface Row {
  /** One-based position in the batch. Rows come in any order. */
  item: number;
}

interface HoldRow extends Row {
  outcome: HoldOutcome["outcome"] | "busy";
  balance_micros: Micros;
  owed_micros: Micros | null;
  limit_micros: Micros | null;
  spent_micros: Micros | null;
  resets_at: Date | null;
  answer: Buffer | null;
  budgets:
    | { limit: BudgetState["limit"]; budgetId: string | null; max: string; spent: string; resetsAt: string | null }[]
    | null;
  spent_budget: SpentBudget | null;
}

interface SettlementRow extends Row {
  state: Settlement["state"] | "busy";
  balance_micros: Micros;
}

interface OutcomeRow<Outcome> extends Row {
  outcome: Outcome;
}

function inItemOrder<R extends Row, Result>(rows: R[], toResult: (row: R) => Result): Result[] {
  const results: Result[] = [];
  for (const row of rows) results[row.item - 1] = toResult(row);
  return results;
}

/** pb.hold fills exactly the columns of its outcome. */
function toHoldOutcome(row: HoldRow): HoldOutcome | typeof busy {
  if (row.outcome === "busy") return busy;
  return {
    outcome: row.outcome,
    balance: row.balance_micros,
    owed: row.owed_micros,
    limit: row.limit_micros,
    spent: row.spent_micros,
    resetsAt: row.resets_at,
    answer: row.answer,
    budget: row.spent_budget,
    ...(row.budgets && { budgets: row.budgets.map(toBudget) }),
  } as HoldOutcome;
}

function toBudget({ limit, budgetId, ...row }: NonNullable<HoldRow["budgets"]>[number]): BudgetState {
  return {
    limit,
    ...(budgetId !== null && { budgetId }),
    max: BigInt(row.max),
    spent: BigInt(row.spent),
    resetsAt: row.resetsAt === null ? null : new Date(row.resetsAt),
  };
}

function toSettlement(row: SettlementRow): Settlement | typeof busy {
  return row.state === "busy" ? busy : { state: row.state, balance: row.balance_micros };
}
