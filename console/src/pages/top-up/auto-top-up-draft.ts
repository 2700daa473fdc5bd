import type { AutoTopUp } from "@pennyblack/sdk";
import { isLessThan, parseAmount } from "../../format/amounts.ts";
import { checkAmount } from "./amounts.ts";

export interface AutoTopUpDraft {
  threshold: string;
  amount: string;
  monthly: string;
}

export function toAutoTopUpDraft(auto: AutoTopUp): AutoTopUpDraft {
  const plain = (amount: string | null, fallback: string): string => (amount ?? fallback).replace(/\.00$/, "");
  return {
    threshold: plain(auto.threshold, "2.00"),
    amount: plain(auto.amount, "20.00"),
    monthly: plain(auto.monthly_cap, "100.00"),
  };
}

/** The request body, or validation errors by field. */
export function parseAutoTopUpDraft(
  draft: AutoTopUpDraft,
  limits: { minimum: string; maximum: string },
): { body?: { threshold: string; amount: string; monthly_cap: string }; errors: Partial<AutoTopUpDraft> } {
  const errors: Partial<AutoTopUpDraft> = {};
  const threshold = parseAmount(draft.threshold);
  const monthly = parseAmount(draft.monthly);
  const { amount, error } = checkAmount(draft.amount, limits);
  if (threshold === undefined || isLessThan(threshold, "0.01")) errors.threshold = "Enter a balance such as 2 or 0.50.";
  if (error !== undefined) errors.amount = error;
  if (monthly === undefined) errors.monthly = "Enter an amount such as 100.";
  else if (amount !== undefined && isLessThan(monthly, amount))
    errors.monthly = "Must be at least the amount added each time.";
  if (threshold === undefined || amount === undefined || monthly === undefined || Object.keys(errors).length > 0) {
    return { errors };
  }
  return { body: { threshold, amount, monthly_cap: monthly }, errors };
}
