import type { Budget } from "@pennyblack/sdk";
import type { Mode } from "../../api/wallet.ts";
import { isLessThan, parseAmount } from "../../format/amounts.ts";

/** Form state, as typed. */
export interface BudgetDraft {
  name: string;
  amount: string;
  period: Budget["period"];
  per: Budget["per"];
  /** Percentages, separated by commas. Empty for no warnings. */
  alerts: string;
}

export type BudgetErrors = Partial<Record<"name" | "amount" | "alerts", string>>;

export const emptyDraft: BudgetDraft = { name: "", amount: "", period: "month", per: "wallet", alerts: "80, 95" };

export function toDraft({ name, amount, period, per, alerts }: Budget): BudgetDraft {
  return { name, amount: amount.replace(/\.00$/, ""), period, per, alerts: alerts.join(", ") };
}

/** The server accepts no total per end user. */
export function choosePer(draft: BudgetDraft, per: Budget["per"]): BudgetDraft {
  const period = per === "end_user" && draft.period === "total" ? "month" : draft.period;
  return { ...draft, per, period };
}

/** Validation errors by field. */
export function findErrors(draft: BudgetDraft): BudgetErrors {
  const errors: BudgetErrors = {};
  if (draft.name.trim() === "") errors.name = "Enter a name.";
  const amount = parseAmount(draft.amount);
  if (amount === undefined) errors.amount = "Enter an amount such as 50 or 12.50.";
  else if (isLessThan(amount, "0.01")) errors.amount = "Enter at least 0.01.";
  if (draft.per === "wallet" && !areAlerts(draft.alerts))
    errors.alerts = "Enter up to five different whole numbers from 1 to 99, separated by commas.";
  return errors;
}

/** Body of POST /budgets. */
export function toNewBudget(draft: BudgetDraft, mode: Mode): Record<string, unknown> {
  return { mode, period: draft.period, per: draft.per, ...toChanges(draft) };
}

/** Body of PATCH /budgets/{id}, with all editable fields. */
export function toChanges({ name, amount, per, alerts }: BudgetDraft): Record<string, unknown> {
  const percentages = per === "wallet" ? splitAlerts(alerts).map(Number) : [];
  return { name: name.trim(), amount: parseAmount(amount), alerts: percentages.toSorted((a, b) => a - b) };
}

function areAlerts(text: string): boolean {
  const alerts = splitAlerts(text);
  return (
    alerts.length <= 5 &&
    new Set(alerts.map(Number)).size === alerts.length &&
    alerts.every((alert) => isPercent(alert))
  );
}

function isPercent(text: string): boolean {
  return /^\d{1,2}$/.test(text) && Number(text) >= 1;
}

function splitAlerts(text: string): string[] {
  return text.split(/[\s,%]+/).filter((alert) => alert !== "");
}
