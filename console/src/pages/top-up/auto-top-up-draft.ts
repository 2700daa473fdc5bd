import type { AutoTopUp } from "../../api/top-ups.ts";
import { isLess, readAmount } from "../../words/amounts.ts";
import { checkAmount } from "./amounts.ts";

export interface AutoDraft {
  threshold: string;
  amount: string;
  monthly: string;
}

export function toAutoDraft(auto: AutoTopUp): AutoDraft {
  const plain = (amount: string | null, usual: string): string => (amount ?? usual).replace(/\.00$/, "");
  return {
    threshold: plain(auto.threshold, "2.00"),
    amount: plain(auto.amount, "20.00"),
    monthly: plain(auto.monthly_cap, "100.00"),
  };
}

/** The order, if it can be given, else what is wrong beside its field. */
export function readAutoDraft(
  draft: AutoDraft,
  limits: { minimum: string; maximum: string },
): { body?: { threshold: string; amount: string; monthly_cap: string }; errors: Partial<AutoDraft> } {
  const errors: Partial<AutoDraft> = {};
  const threshold = readAmount(draft.threshold);
  const monthly = readAmount(draft.monthly);
  const { amount, error } = checkAmount(draft.amount, limits);
  if (threshold === undefined || isLess(threshold, "0.01")) errors.threshold = "A balance such as 2 or 0.50.";
  if (error !== undefined) errors.amount = error;
  if (monthly === undefined) errors.monthly = "An amount such as 100.";
  else if (amount !== undefined && isLess(monthly, amount)) errors.monthly = "At least as much as is added each time.";
  if (threshold === undefined || amount === undefined || monthly === undefined || Object.keys(errors).length > 0) {
    return { errors };
  }
  return { body: { threshold, amount, monthly_cap: monthly }, errors };
}
