/** Micro-USD: 0.01 USD is 10,000. A bigint, because a number would round. */
export type Micros = bigint;

/** The price of one search. pb.price_micros() returns the same constant; a test compares them. */
export const priceMicros: Micros = 10_000n;

const microsPerUsd = 1_000_000n;

/** "4.99": two decimals, or more if the amount has them. */
export function formatUsd(amount: Micros): string {
  const sign = amount < 0n ? "-" : "";
  const absolute = amount < 0n ? -amount : amount;
  const fraction = (absolute % microsPerUsd)
    .toString()
    .padStart(6, "0")
    .replace(/0{1,4}$/, "");
  return `${sign}${absolute / microsPerUsd}.${fraction}`;
}

/** Parses a decimal such as "5", "5.00" or "0.000001"; undefined for anything else. */
export function parseUsd(text: string): Micros | undefined {
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text);
  if (!match) return undefined;
  return BigInt(match[1] ?? "0") * microsPerUsd + BigInt((match[2] ?? "").padEnd(6, "0"));
}
