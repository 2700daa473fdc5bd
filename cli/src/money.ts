// Amounts are decimal strings in USD. Floating-point sums of them lose precision.

export function toMicros(amount: string): bigint {
  const [whole = "0", fraction = ""] = amount.split(".");
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
}

export function formatUsd(micros: bigint): string {
  const fraction = (micros % 1_000_000n)
    .toString()
    .padStart(6, "0")
    .replace(/0{1,4}$/, "");
  return `${micros / 1_000_000n}.${fraction}`;
}

/** The rest of a budget. Zero if its limit was lowered below what was spent. */
export function subtractUsd(limit: string, spent: string): string {
  const left = toMicros(limit) - toMicros(spent);
  return formatUsd(left < 0n ? 0n : left);
}
