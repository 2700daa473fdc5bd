import { formatUsd, toMicros } from "@pennyblack/sdk";

const options = { style: "currency", currency: "USD", roundingMode: "trunc" } as const;
const plain = new Intl.NumberFormat("en-US", options);
const signed = new Intl.NumberFormat("en-US", { ...options, signDisplay: "exceptZero" });

/** Formats the decimal string "4.99" as "$4.99", truncated to cents. `Intl` formats a string exactly. */
export function formatMoney(amount: string): string {
  return plain.format(amount as Intl.StringNumericLiteral).replace("-", "−");
}

/** With a plus or minus sign, unless it is zero. */
export function formatSignedMoney(amount: string): string {
  return signed.format(amount as Intl.StringNumericLiteral).replace("-", "−");
}

/** Adds decimal strings exactly, in micros. */
export function addMoney(amounts: readonly string[]): string {
  return formatUsd(amounts.reduce((total, amount) => total + toMicros(amount), 0n));
}

/** Not exact: for charts and comparisons only. */
export function toNumber(amount: string): number {
  return Number(amount);
}
