import type { Micros } from "../../src/lib/money.ts";
import type { budgetKinds } from "./model-rows.ts";

// The actions of a history. Plans use small numbers as names, so that they often collide and shrink well.

export const keyKinds = [
  "plain",
  "budgeted",
  "rotated",
  "sharing",
  "test",
  "budgeted test",
  "expired",
  "mgmt",
] as const;

export interface FixturePlan {
  wallets: { credit: Micros; limits: Limits; shared: SharedAmounts }[];
}

/** A key's own limits. That of an end user is per day. */
export type Limits = Record<(typeof budgetKinds)[number], Micros | undefined>;

/** Of the budgets that the live keys with limits share: per week, and per end user and day. */
export type SharedAmounts = Record<"week" | "end_user", Micros>;

export interface HoldPlan {
  /** Numbered per wallet, so that most ids are new or repeated, and few belong to another wallet. */
  search: number;
  isForeignId: boolean;
  wallet: number;
  key: (typeof keyKinds)[number];
  /** Uses the key of another wallet. */
  isForeignKey: boolean;
  idempotency: { key: number; body: number } | undefined;
  run: { name: number; max: Micros } | undefined;
  endUser: number | undefined;
}

export interface SettlePlan {
  /** Index of a search that was held before. */
  search: number;
  isUnknown: boolean;
  isForeignWallet: boolean;
}

export type Action =
  | { do: "hold"; items: HoldPlan[] }
  | { do: "capture" | "release" | "refund"; items: SettlePlan[] }
  | { do: "top up"; kind: "top_up" | "credit"; items: { payment: number; wallet: number; amount: Micros }[] }
  | { do: "reverse"; payment: number; state: "taken" | "returned" }
  | { do: "expire" }
  | { do: "next day" | "next week" | "next month" }
  | { do: "make overdue"; searches: number[] }
  | { do: "age claims"; wallet: number; age: "stale" | "expired" }
  | { do: "end run"; wallet: number; mode: "live" | "test"; name: number }
  | { do: "revoke"; wallet: number; key: (typeof keyKinds)[number] }
  | { do: "suspend"; wallet: number; isSuspended: boolean }
  | { do: "set limits"; wallet: number; mode: "live" | "test"; limits: Limits }
  | { do: "set budget"; wallet: number; kind: keyof SharedAmounts; amount: Micros }
  | { do: "raise budget"; wallet: number; amount: Micros }
  | { do: "end raise"; wallet: number };
