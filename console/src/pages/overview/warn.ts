import type { Summary } from "../../api/wallet.ts";
import { formatMoney, toNumber } from "../../words/format-money.ts";
import { formatDays } from "../../words/format-time.ts";

export interface Warning {
  tone: "warning" | "danger";
  title: string;
  text: string;
  mayTopUp: boolean;
}

const fewDays = 3;
const fewSearches = 25;

/** What a wallet's owner has to know before anything else, the worst first. */
export function warn(input: { summary: Summary; price: string; isSuspended: boolean }): Warning[] {
  const { summary, price, isSuspended } = input;
  const warnings: Warning[] = [];
  if (isSuspended) {
    warnings.push({
      tone: "danger",
      title: "This account is suspended.",
      text: "Every key is refused until the operator lifts it. The balance is untouched. Write to the operator.",
      mayTopUp: false,
    });
  }
  if (toNumber(summary.owed) > 0) {
    warnings.push({
      tone: "warning",
      title: `This wallet owes ${formatMoney(summary.owed)}.`,
      text: "A payment was refunded or disputed after it had been spent. The next top-up settles it first.",
      mayTopUp: true,
    });
  }
  const low = warnOfBalance(summary, price);
  return low ? [...warnings, low] : warnings;
}

function warnOfBalance({ available, held, runway_days: days }: Summary, price: string): Warning | undefined {
  const left = Math.max(0, Math.floor(toNumber(available) / toNumber(price)));
  if (left === 0 && toNumber(held) === 0) {
    return {
      // Nobody was refused yet where nothing was ever spent.
      tone: days === null ? "warning" : "danger",
      title: "The balance is empty.",
      text: "Live searches are refused until you top up. Test searches go on.",
      mayTopUp: true,
    };
  }
  if ((days !== null && days < fewDays) || left < fewSearches) {
    const lasts = days === null ? "" : `, about ${formatDays(days)} at your usual pace`;
    return {
      tone: "warning",
      title: "The balance is low.",
      text: `${formatMoney(available)} is enough for ${left} ${left === 1 ? "search" : "searches"}${lasts}.`,
      mayTopUp: true,
    };
  }
  return undefined;
}
