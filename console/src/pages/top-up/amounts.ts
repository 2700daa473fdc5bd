import { isLess, readAmount } from "../../words/amounts.ts";
import { formatMoney } from "../../words/format-money.ts";

interface Limits {
  minimum: string;
  maximum: string;
}

/** The usual amounts that may be paid here. */
export function listAmounts({ minimum, maximum }: Limits): string[] {
  return ["5.00", "10.00", "20.00", "50.00", "100.00", "250.00"]
    .filter((amount) => !isLess(amount, minimum) && !isLess(maximum, amount))
    .slice(0, 5);
}

/** What a person typed, if it may be paid, else what is wrong with it. */
export function checkAmount(text: string, { minimum, maximum }: Limits): { amount?: string; error?: string } {
  const amount = readAmount(text);
  if (amount === undefined) return { error: "An amount in dollars such as 20 or 12.50." };
  if (isLess(amount, minimum)) return { error: `At least ${formatMoney(minimum)}.` };
  if (isLess(maximum, amount)) return { error: `At most ${formatMoney(maximum)} at a time.` };
  return { amount };
}

/** How many searches an amount is good for, whole ones. */
export function countSearches(amount: string, price: string): number {
  return Number(price) > 0 ? Math.floor(Math.round((Number(amount) / Number(price)) * 1e6) / 1e6) : 0;
}
