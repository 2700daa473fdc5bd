import type { WalletSummary } from "@pennyblack/sdk";
import { formatMoney, toNumber } from "../../format/format-money.ts";
import { formatDays } from "../../format/format-time.ts";

export interface Warning {
  tone: "warning" | "danger";
  title: string;
  text: string;
  canTopUp: boolean;
}

const lowRunwayDays = 3;
const lowSearchCount = 25;

/** Warnings about the wallet, most severe first. */
export function getWarnings(input: { summary: WalletSummary; price: string; isSuspended: boolean }): Warning[] {
  const { summary, price, isSuspended } = input;
  const warnings: Warning[] = [];
  if (isSuspended) {
    warnings.push({
      tone: "danger",
      title: "This account is suspended.",
      text: "All keys are rejected until the operator lifts the suspension. Your balance is unchanged. Contact the operator.",
      canTopUp: false,
    });
  }
  if (toNumber(summary.owed) > 0) {
    warnings.push({
      tone: "warning",
      title: `This wallet owes ${formatMoney(summary.owed)}.`,
      text: "A payment was refunded or disputed after it was spent. Your next top-up pays this off first.",
      canTopUp: true,
    });
  }
  const balanceWarning = getBalanceWarning(summary, price);
  return balanceWarning ? [...warnings, balanceWarning] : warnings;
}

function getBalanceWarning(summary: WalletSummary, price: string): Warning | undefined {
  const { available, held, runway_days: days, burn_per_day: burn } = summary;
  const searchesLeft = Math.max(0, Math.floor(toNumber(available) / toNumber(price)));
  if (searchesLeft === 0 && toNumber(held) === 0) {
    return {
      // A wallet that has never spent anything is not urgent.
      tone: toNumber(burn) === 0 ? "warning" : "danger",
      title: "Your balance is empty.",
      text: "Live searches are rejected until you top up. Test searches still work.",
      canTopUp: true,
    };
  }
  if ((days !== null && days < lowRunwayDays) || searchesLeft < lowSearchCount) {
    const runway = days === null ? "" : `, ${formatDays(days)} at your current rate`;
    return {
      tone: "warning",
      title: "Your balance is low.",
      text: `${formatMoney(available)} is enough for ${searchesLeft} ${searchesLeft === 1 ? "search" : "searches"}${runway}.`,
      canTopUp: true,
    };
  }
  return undefined;
}
