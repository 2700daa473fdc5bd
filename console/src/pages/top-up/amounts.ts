import { isLessThan, parseAmount } from "../../format/amounts.ts";
import { formatMoney } from "../../format/format-money.ts";

interface Limits {
  minimum: string;
  maximum: string;
}

/** Preset amounts within the limits. */
export function listAmounts({ minimum, maximum }: Limits): string[] {
  return ["5.00", "10.00", "20.00", "50.00", "100.00", "250.00"]
    .filter((amount) => !isLessThan(amount, minimum) && !isLessThan(maximum, amount))
    .slice(0, 5);
}

export function checkAmount(text: string, { minimum, maximum }: Limits): { amount?: string; error?: string } {
  const amount = parseAmount(text);
  if (amount === undefined) return { error: "Enter an amount in dollars such as 20 or 12.50." };
  if (isLessThan(amount, minimum)) return { error: `The minimum is ${formatMoney(minimum)}.` };
  if (isLessThan(maximum, amount)) return { error: `The maximum is ${formatMoney(maximum)} per payment.` };
  return { amount };
}

/** Whole number of searches that an amount pays for. */
export function countSearches(amount: string, price: string): number {
  return Number(price) > 0 ? Math.floor(Math.round((Number(amount) / Number(price)) * 1e6) / 1e6) : 0;
}
