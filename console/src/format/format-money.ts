/** Formats the decimal string "4.99" as "$4.99", truncated to cents, without converting it to a number. */
export function formatMoney(amount: string): string {
  const [, sign = "", dollars = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  const cents = fraction.padEnd(2, "0").slice(0, 2);
  const grouped = dollars.replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
  return `${sign === "-" ? "−" : ""}$${grouped}.${cents}`;
}

/** With a plus or minus sign, unless it is zero. */
export function formatSignedMoney(amount: string): string {
  return amount.startsWith("-") || Number(amount) === 0 ? formatMoney(amount) : `+${formatMoney(amount)}`;
}

/** Adds decimal strings exactly, in micros. */
export function addMoney(amounts: readonly string[]): string {
  const sum = amounts.reduce((total, amount) => total + toMicros(amount), 0n);
  const absolute = sum < 0n ? -sum : sum;
  const fraction = String(absolute % 1_000_000n)
    .padStart(6, "0")
    .replace(/0{1,4}$/, "");
  return `${sum < 0n ? "-" : ""}${absolute / 1_000_000n}.${fraction}`;
}

/** Not exact: for charts and comparisons only. */
export function toNumber(amount: string): number {
  return Number(amount);
}

function toMicros(amount: string): bigint {
  const [, sign = "", dollars = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  const micros = BigInt(dollars) * 1_000_000n + BigInt(fraction.padEnd(6, "0").slice(0, 6));
  return sign === "-" ? -micros : micros;
}
