import type { Entry } from "@pennyblack/sdk";
import { subtract } from "../../format/amounts.ts";
import { addMoney } from "../../format/format-money.ts";

export interface Totals {
  in: string;
  out: string;
  sum: string;
  /** Balance before the oldest and after the newest entry; undefined in filtered lists. */
  opening: string | undefined;
  closing: string | undefined;
}

/** Totals of the loaded entries, newest first. */
export function computeTotals(entries: readonly Pick<Entry, "amount" | "balance">[]): Totals {
  const amounts = entries.map(({ amount }) => amount);
  const [newest, oldest] = [entries[0], entries.at(-1)];
  return {
    in: addMoney(amounts.filter((amount) => !amount.startsWith("-"))),
    out: addMoney(amounts.filter((amount) => amount.startsWith("-"))),
    sum: addMoney(amounts),
    opening: oldest?.balance === undefined ? undefined : subtract(oldest.balance, oldest.amount),
    closing: newest?.balance,
  };
}

/** Whether the opening balance plus the entries equals the closing balance. */
export function isBalanced({ opening, sum, closing }: Totals): boolean {
  return opening === undefined || closing === undefined || addMoney([opening, sum]) === addMoney([closing]);
}
