import { formatUsd, toMicros } from "@pennyblack/sdk";

/** Parses user input such as "20" or "$1,000.50". Undefined if it is not an amount in whole cents. */
export function parseAmount(text: string): string | undefined {
  const plain = text.trim().replace(/^\$\s*/, "");
  if (!/^(?:\d{1,9}|\d{1,3}(?:,\d{3})+)(?:\.\d{1,2})?$/.test(plain)) return undefined;
  const [dollars = "0", cents = ""] = plain.replaceAll(",", "").split(".");
  return `${BigInt(dollars)}.${cents.padEnd(2, "0")}`;
}

export function isLessThan(one: string, other: string): boolean {
  return toMicros(one) < toMicros(other);
}

export function subtract(one: string, other: string): string {
  return formatUsd(toMicros(one) - toMicros(other));
}

/** From 0 to 1, for drawing only. */
export function fractionOf(part: string, whole: string): number {
  const fraction = Number(part) / Number(whole);
  return Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 1;
}
