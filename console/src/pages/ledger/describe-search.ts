import type { Entry, SearchRecord } from "../../api/ledger.ts";
import { subtract } from "../../format/amounts.ts";
import { addMoney, formatMoney } from "../../format/format-money.ts";
import { formatMs } from "../../format/format-time.ts";

/** Whether the search was charged, and its outcome, key, category and run. */
export function describeSearch(search: SearchRecord & { entries: Entry[] }): { charge: string; details: string } {
  return { charge: describeCharge(search), details: `${describeOutcome(search)} ${describeKey(search)}` };
}

function describeCharge({ mode, outcome, charged, entries }: SearchRecord & { entries: Entry[] }): string {
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
  pending: "Not finished yet",
  expired: "Expired without a response",
  caller_left: "Client disconnected before the response",
  released: "Ended without a response",
};

function describeOutcome({ outcome, ms }: SearchRecord): string {
  const text = outcomes[outcome] ?? `Failed (${outcome.replaceAll("_", " ")})`;
  return ms === null ? `${text}.` : `${text} after ${formatMs(ms)}.`;
}

function describeKey({ key_name: name, category, run }: SearchRecord): string {
  const parts = [name === null ? "Key deleted" : `Key: ${name}`];
  if (category !== null) parts.push(`category: ${category}`);
  if (run !== null) parts.push(`run: ${run}`);
  return `${parts.join(", ")}.`;
}
