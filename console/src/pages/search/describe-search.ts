import type { SearchDetails } from "@pennyblack/sdk";
import { subtract } from "../../format/amounts.ts";
import { addMoney, formatMoney } from "../../format/format-money.ts";

/** Describes the charge and the outcome of the search. */
export function describeSearch(search: SearchDetails): { charge: string; result: string } {
  return { charge: describeCharge(search), result: describeResult(search) };
}

function describeCharge({ kind, mode, outcome, charged, entries }: SearchDetails): string {
  if (kind !== "search") return "Not charged.";
  if (mode === "test") return "Free (test search).";
  if (outcome === "pending") return "In progress. The price is on hold and has not been charged.";
  if (Number(charged) === 0) return "Not charged.";
  const refunded = addMoney(entries.filter(({ kind }) => kind === "refund").map(({ amount }) => amount));
  if (Number(refunded) === 0) return `Charged ${formatMoney(charged)}.`;
  const rest = subtract(charged, refunded);
  return Number(rest) === 0
    ? `Charged ${formatMoney(charged)} and refunded in full.`
    : `Charged ${formatMoney(charged)}, of which ${formatMoney(refunded)} was refunded.`;
}

const outcomes: Record<string, string> = {
  ok: "Completed",
  replayed: "Replayed",
  pending: "Not finished yet",
  expired: "Expired without a response",
  caller_left: "Client disconnected before the response",
  released: "Ended without a response",
};

function describeResult({ kind, outcome }: SearchDetails): string {
  return outcomes[outcome] ?? `${kind === "refused" ? "Refused" : "Failed"} (${outcome.replaceAll("_", " ")})`;
}
