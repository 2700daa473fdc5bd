import { addMoney } from "./format-money.ts";

/** What a person typed as an amount: "20", "$1,000.50". In cents at most; undefined if it is none. */
export function readAmount(text: string): string | undefined {
  const plain = text.trim().replace(/^\$\s*/, "");
  if (!/^(?:\d{1,9}|\d{1,3}(?:,\d{3})+)(?:\.\d{1,2})?$/.test(plain)) return undefined;
  const [dollars = "0", cents = ""] = plain.replaceAll(",", "").split(".");
  return `${BigInt(dollars)}.${cents.padEnd(2, "0")}`;
}

export function isLess(one: string, other: string): boolean {
  return subtract(one, other).startsWith("-");
}

export function subtract(one: string, other: string): string {
  return addMoney([one, other.startsWith("-") ? other.slice(1) : `-${other}`]);
}

/** For drawing only: from 0 to 1. */
export function shareOf(part: string, whole: string): number {
  const share = Number(part) / Number(whole);
  return Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 1;
}
