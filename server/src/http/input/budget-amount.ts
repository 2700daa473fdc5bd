import { formatUsd, parseUsd, priceMicros } from "../../lib/money.ts";
import { type Fault, fieldFault } from "./faults.ts";

/** A budget below the price of a search allows none, and an empty one is better expressed by revoking the key. */
export function findAmountFaults(path: string, amount: string | null | undefined): Fault[] {
  const micros = typeof amount === "string" ? parseUsd(amount) : undefined;
  if (micros === undefined || micros >= priceMicros) return [];
  const rule = `must be at least ${formatUsd(priceMicros)} USD, the price of a search, but is ${formatUsd(micros)}`;
  return [fieldFault(path, rule, "out_of_range")];
}
