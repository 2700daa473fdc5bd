// Amounts in the API are decimal strings in USD. Floating-point sums of them lose precision.

/** Converts an amount such as "0.01" to millionths of a dollar, to add and compare amounts exactly. */
export function toMicros(amount: string): bigint {
  const [, sign, whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(amount) ?? [];
  if (whole === "") throw new TypeError('amount must be a decimal string such as "4.99", with at most six decimals.');
  const micros = BigInt(whole + fraction.padEnd(6, "0"));
  return sign === "-" ? -micros : micros;
}

/** Converts millionths of a dollar to an amount as in the API: "4.99", with more decimals only if it has them. */
export function formatUsd(micros: bigint): string {
  const digits = String(micros < 0n ? -micros : micros).padStart(7, "0");
  return `${micros < 0n ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6).replace(/0{1,4}$/, "")}`;
}
