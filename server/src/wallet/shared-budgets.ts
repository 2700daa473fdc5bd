import { randomUUIDv7 } from "node:crypto";
import { type Actor, callAsTenant } from "../db/as-tenant.ts";
import { type Creator, creatorOf } from "../db/creator-of.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import { toJsonb } from "../db/to-jsonb.ts";
import type { Micros } from "../lib/money.ts";
import type { BudgetPeriod } from "./statements.ts";

// Budgets that several keys spend from. They are rows of pb.budgets with a name; a key's own limits are rows without one.

export interface Raise {
  /** Added to the amount of the budget. */
  amount: Micros;
  endsAt: Date;
}

export interface SharedBudget {
  id: string;
  mode: "live" | "test";
  name: string;
  amount: Micros;
  period: BudgetPeriod;
  isPerEndUser: boolean;
  alerts: number[];
  externalId: string | null;
  /** A temporary increase that has not ended. */
  raise: Raise | null;
  /** In the current period. Null per end user. */
  spent: Micros | null;
  resetsAt: Date | null;
  createdAt: Date;
  archivedAt: Date | null;
  createdBy: Creator | null;
}

type Row<Budget extends { raise: Raise | null }> = Omit<Budget, "raise"> & {
  raiseAmount: Micros | null;
  raiseEndsAt: Date | null;
};

function toBudget<Budget extends { raise: Raise | null }>({ raiseAmount, raiseEndsAt, ...row }: Row<Budget>) {
  const raise = raiseAmount !== null && raiseEndsAt ? { amount: raiseAmount, endsAt: raiseEndsAt } : null;
  return { ...row, raise };
}

/** The amount of a budget with its raise. */
export function limitOf({ amount, raise }: Pick<SharedBudget, "amount" | "raise">): Micros {
  return amount + (raise?.amount ?? 0n);
}

/** A window that has ended reads as 0. */
const columns = `b.id, b.mode, b.name, b.amount_micros as amount, coalesce(b.period, 'total') as period,
  b.per_end_user as "isPerEndUser",
  case when b.raise_ends_at > clock_timestamp() then b.raise_micros end as "raiseAmount", b.raise_ends_at as "raiseEndsAt",
  case when not b.per_end_user then coalesce(w.spent_micros, 0) end as spent,
  coalesce(w.resets_at, (
    date_trunc(b.period, clock_timestamp() at time zone 'utc') + ('1 ' || b.period)::interval
  ) at time zone 'utc') as "resetsAt"`;
const windows = `left join pb.budget_windows w on w.wallet_id = b.wallet_id and w.mode = b.mode and w.budget_id = b.id
  and w.subject = '' and (w.resets_at is null or w.resets_at > clock_timestamp())`;

/** Newest first: one of them, or a page of those that are not archived. */
export async function readSharedBudgets(
  db: Queryable,
  walletId: string,
  { id, before, limit }: { id?: string; before?: string | undefined; limit?: number },
): Promise<SharedBudget[]> {
  const { rows } = await db.query<Row<SharedBudget>>(
    `select ${columns}, b.alerts, b.external_id as "externalId", b.created_at as "createdAt", b.archived_at as "archivedAt",
       ${creatorOf("b.id", ["budget.create"])} as "createdBy"
     from pb.budgets b ${windows}
     where b.wallet_id = $1 and b.name is not null and (b.id = $2 or $2::uuid is null and b.archived_at is null)
       and ($3::uuid is null or b.id < $3)
     order by b.id desc limit $4`,
    [walletId, id ?? null, before ?? null, limit ?? null],
  );
  return rows.map((row): SharedBudget => toBudget<SharedBudget>(row));
}

/** A shared budget of a key, in the order in which the key names them. */
export interface BudgetOfKey
  extends Pick<SharedBudget, "id" | "name" | "amount" | "raise" | "period" | "isPerEndUser" | "spent" | "resetsAt"> {
  limitsId: string;
}

export async function readBudgetsOfKeys(
  db: Queryable,
  walletId: string,
  limitsIds: readonly string[],
): Promise<BudgetOfKey[]> {
  const { rows } = await db.query<Row<BudgetOfKey>>(
    `select l.limits_id as "limitsId", ${columns}
     from pb.key_limit_budgets l join pb.budgets b on b.id = l.budget_id ${windows}
     where l.wallet_id = $1 and l.limits_id = any ($2) and b.name is not null
     order by l.position`,
    [walletId, limitsIds],
  );
  return rows.map((row): BudgetOfKey => toBudget<BudgetOfKey>(row));
}

/** The keys that name a budget and are not revoked: up to 100, newest first. */
export async function readBudgetKeys(
  db: Queryable,
  walletId: string,
  budgetId: string,
): Promise<{ id: string; name: string }[]> {
  const { rows } = await db.query<{ id: string; name: string }>(
    `select k.id, k.name from pb.key_limit_budgets l
     join pb.keys k on k.wallet_id = l.wallet_id and k.limits_id = l.limits_id and k.revoked_at is null
     where l.wallet_id = $1 and l.budget_id = $2
     order by k.id desc limit 100`,
    [walletId, budgetId],
  );
  return rows;
}

/** A SQL expression: the name of the shared budget with this id. NULL once it is deleted. */
export function nameOfBudget(id: string): string {
  return `(select b.name from pb.budgets b where b.id = ${id})`;
}

/** "done", or the reason why nothing was changed. */
export type BudgetOutcome =
  | "done"
  | "not_found"
  | "budget_in_use"
  | "budget_limit_reached"
  | "external_id_taken"
  | "alerts_per_end_user"
  | "insufficient_scope"
  | "api_key_invalid"
  | "api_key_revoked"
  | "api_key_expired"
  | "account_suspended"
  | "session_required"
  | "insufficient_role"
  | "reauthentication_required";

export interface NewRequest {
  budgetId: string;
  amount: Micros;
  hours: number;
}

/** "done", or the reason why nothing was requested. */
export type RequestOutcome =
  | "done"
  | "not_found"
  | "per_end_user"
  | "budget_requests_open"
  | "insufficient_scope"
  | "api_key_invalid"
  | "api_key_revoked"
  | "api_key_expired"
  | "account_suspended";

/** An equal request that is open is returned instead of a second one. */
export function requestIncrease(
  pool: Pool,
  by: Actor,
  { budgetId, amount, hours }: NewRequest,
): Promise<{ outcome: RequestOutcome; id?: string }> {
  const values = [by.keyId, randomUUIDv7(), budgetId, amount, hours];
  return callAsTenant(pool, by.walletId, "pb.request_own_increase($2, $3, $4, $5, $6)", values);
}

export interface NewBudget {
  mode: "live" | "test";
  name: string;
  amount: Micros;
  period: BudgetPeriod;
  isPerEndUser: boolean;
  alerts: readonly number[];
  externalId: string | null;
}

export type BudgetChanges = Partial<Pick<NewBudget, "name" | "amount" | "alerts" | "externalId">>;

export async function createBudget(
  pool: Pool,
  by: Actor,
  budget: NewBudget,
): Promise<{ outcome: BudgetOutcome; id: string }> {
  const id = randomUUIDv7();
  const { mode, period, isPerEndUser } = budget;
  const options = {
    ...toColumns(budget),
    mode,
    period: period === "total" ? null : period,
    per_end_user: isPerEndUser,
  };
  const values = [by.keyId, id, toJsonb(options)];
  const outcome = await callAsTenant<BudgetOutcome>(pool, by.walletId, "pb.create_own_budget($2, $3, $4)", values);
  return { outcome, id };
}

/** A new amount applies to the current period, and the amount spent does not change. */
export function changeBudget(pool: Pool, by: Actor, id: string, changes: BudgetChanges): Promise<BudgetOutcome> {
  const values = [by.keyId, id, toJsonb(toColumns(changes))];
  return callAsTenant(pool, by.walletId, "pb.change_own_budget($2, $3, $4)", values);
}

export function archiveBudget(pool: Pool, by: Actor, id: string): Promise<BudgetOutcome> {
  return callAsTenant(pool, by.walletId, "pb.archive_own_budget($2, $3)", [by.keyId, id]);
}

/** Undefined fields are not sent, which leaves them unchanged. */
function toColumns({ name, amount, alerts, externalId }: BudgetChanges) {
  return { name, amount_micros: amount?.toString(), alerts, external_id: externalId };
}
