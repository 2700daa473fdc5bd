import type { Micros } from "../../src/lib/money.ts";
import type { BudgetState, HoldOutcome, SpentBudget } from "../../src/wallet/statements.ts";

// The rows of the ledger model, and what it returns.

export type Mode = "live" | "test" | "mgmt";

export interface ModelKey {
  id: string;
  walletId: string;
  mode: Mode;
  /** Shared with the key's rotated successor. Undefined without limits. */
  limits?: ModelLimits | undefined;
  isRevoked: boolean;
  isExpired: boolean;
}

/** A key's own limits, in the order of refusals. That of an end user is per day. */
export const budgetKinds = ["total", "day", "month", "end_user"] as const;
/** Shared budgets are per week or, for an end user, per day. */
export type BudgetKind = (typeof budgetKinds)[number] | "week";

export interface ModelBudget {
  id: string;
  kind: BudgetKind;
  amount: Micros;
  isShared: boolean;
  /** Added to the amount of the shared budget per week until it ends. */
  raise: Micros;
}

export interface ModelLimits {
  id: string;
  /** In the order of refusals. */
  budgets: ModelBudget[];
}

export const sharedName = "A shared budget";
/** Of the budget per week. */
export const sharedAlerts = [40, 75];

export interface ModelWallet {
  id: string;
  credited: Micros;
  debited: Micros;
  held: Micros;
  owed: Micros;
  isSuspended: boolean;
}

/** The amount spent of a budget in a period, or of a run. */
export interface ModelWindow {
  /** Its row. The next period replaces it. */
  place: string;
  walletId: string;
  mode: Mode;
  budgetId: string | undefined;
  kind: BudgetKind | "run";
  isShared: boolean;
  /** Undefined for an end user that the search does not name. */
  subject: string | undefined;
  max: Micros;
  /** The limit in its row. A raise that ends changes it with the next search that is held. */
  written: Micros;
  spent: Micros;
  day: number;
  week: number;
  month: number;
  /** Of a run. */
  isOver: boolean;
  /** The highest percentage that was warned about. */
  warned: number;
  lastKeyId?: string;
}

export interface ModelSearch {
  id: string;
  walletId: string;
  mode: Mode;
  price: Micros;
  state: "pending" | "captured" | "released" | "expired";
  isOverdue: boolean;
  windows: ModelWindow[];
  endUser: string | undefined;
  claimId: string | undefined;
}

export interface ModelClaim {
  id: string;
  fingerprint: string;
  searchId: string;
  answer: string | undefined;
  /** Stale after 15 s: it can be taken over. Expired after a day: it is ignored. */
  age: "fresh" | "stale" | "expired";
}

/** When a spent budget resets. "run" is the end of the run, which only the database has. */
export type Resets = "never" | "day" | "week" | "month" | "run";

export interface ModelBudgetState extends Omit<BudgetState, "resetsAt"> {
  resets: Resets;
}

export interface ModelHoldOutcome {
  outcome: HoldOutcome["outcome"];
  budgets?: ModelBudgetState[];
  balance?: Micros;
  owed?: Micros;
  answer?: string;
  limit?: Micros;
  spent?: Micros;
  resets?: Resets;
  budget?: SpentBudget | null;
}
