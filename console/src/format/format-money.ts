/** "4.99" as "$4.99". Amounts come as decimal strings and are never made a number; a person sees cents. */
export function formatMoney(amount: string): string {
  const [, sign = "", dollars = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  const cents = fraction.padEnd(2, "0").slice(0, 2);
  const grouped = dollars.replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
  return `${sign === "-" ? "−" : ""}$${grouped}.${cents}`;
}

/** With its sign, as in a statement: what came in and what went out. */
export function formatChange(amount: string): string {
  return amount.startsWith("-") ? formatMoney(amount) : `+${formatMoney(amount)}`;
}

/** Adds decimal strings in cents, exactly. */
export function addMoney(amounts: readonly string[]): string {
  const sum = amounts.reduce((total, amount) => total + toMicros(amount), 0n);
  const size = sum < 0n ? -sum : sum;
  const fraction = String(size % 1_000_000n)
    .padStart(6, "0")
    .replace(/0{1,4}$/, "");
  return `${sum < 0n ? "-" : ""}${size / 1_000_000n}.${fraction}`;
}

/** For drawing only: the height of a bar need not be exact. */
export function toNumber(amount: string): number {
  return Number(amount);
}

function toMicros(amount: string): bigint {
  const [, sign = "", dollars = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  const micros = BigInt(dollars) * 1_000_000n + BigInt(fraction.padEnd(6, "0").slice(0, 6));
  return sign === "-" ? -micros : micros;
}
