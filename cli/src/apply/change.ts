import type { AlertSettings, AutoTopUp, Budget, Key, Pennyblack, Webhook } from "@pennyblack/sdk";
import type { Difference } from "./differences.ts";

export interface Change {
  section: "budgets" | "keys" | "webhooks" | "alerts" | "auto_top_up";
  action: "create" | "update" | "replace secret" | "remove";
  /** External id of an object. */
  id?: string;
  mode?: string;
  differences: Difference[];
  /** The file for a new secret. */
  secretFile?: string;
  /** Returns a new secret, which goes to `secretFile`. */
  apply: (run: ApplyRun) => Promise<string | void>;
}

export interface ApplyRun {
  client: Pennyblack;
  /** By `identify`. Contains those that this run has created. */
  budgetIds: Map<string, string>;
}

export interface Plan {
  changes: Change[];
  /** Objects with an external id that the file does not have. They are left unchanged. */
  unlisted: Pick<Change, "section" | "id" | "mode">[];
  budgetIds: Map<string, string>;
}

/** The objects and settings with which the file is compared. */
export interface Wallet {
  budgets: Budget[];
  keys: Key[];
  webhooks: Webhook[];
  alerts: AlertSettings | undefined;
  autoTopUp: AutoTopUp | undefined;
}
