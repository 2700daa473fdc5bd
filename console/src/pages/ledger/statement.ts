import type { Entry } from "../../api/ledger.ts";
import { subtract } from "../../words/amounts.ts";
import { addMoney } from "../../words/format-money.ts";

export interface Totals {
  in: string;
  out: string;
  sum: string;
  /** Before the oldest line and after the newest; undefined where lines are left out between them. */
  opening: string | undefined;
  closing: string | undefined;
}

/** What the lines that are shown, newest first, come to. */
export function addUp(entries: readonly Pick<Entry, "amount" | "balance">[]): Totals {
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

/** Whether the opening balance and the lines make the closing one. */
export function isBalanced({ opening, sum, closing }: Totals): boolean {
  return opening === undefined || closing === undefined || addMoney([opening, sum]) === addMoney([closing]);
}
