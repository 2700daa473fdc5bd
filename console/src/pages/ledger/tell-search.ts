import type { Entry, SearchFact } from "../../api/ledger.ts";
import { subtract } from "../../words/amounts.ts";
import { addMoney, formatMoney } from "../../words/format-money.ts";
import { formatMs } from "../../words/format-time.ts";

/** Whether the search was charged, in a sentence, and why. */
export function tellSearch(search: SearchFact & { entries: Entry[] }): { verdict: string; why: string } {
  return { verdict: tellVerdict(search), why: `${tellOutcome(search)} ${tellKey(search)}` };
}

function tellVerdict({ mode, outcome, charged, entries }: SearchFact & { entries: Entry[] }): string {
  if (mode === "test") return "Free: a test search.";
  if (outcome === "pending") return "In flight: its price is set aside, and not charged yet.";
  if (Number(charged) === 0) return "Not charged.";
  const back = addMoney(entries.filter(({ kind }) => kind === "refund").map(({ amount }) => amount));
  if (Number(back) === 0) return `Charged ${formatMoney(charged)}.`;
  const rest = subtract(charged, back);
  return Number(rest) === 0
    ? `Charged ${formatMoney(charged)}, and refunded in full.`
    : `Charged ${formatMoney(charged)}, of which ${formatMoney(back)} was refunded.`;
}

const ends: Record<string, string> = {
  ok: "It was answered",
  pending: "It has not ended",
  expired: "It ended without an answer",
  caller_left: "The caller left before the answer",
  released: "It ended without an answer",
};

function tellOutcome({ outcome, ms }: SearchFact): string {
  const words = ends[outcome] ?? `It failed: ${outcome.replaceAll("_", " ")}`;
  return ms === null ? `${words}.` : `${words} after ${formatMs(ms)}.`;
}

function tellKey({ key_name: name, category, run }: SearchFact): string {
  const parts = [name === null ? "By a key that is gone" : `By the key ${name}`];
  if (category !== null) parts.push(`category ${category}`);
  if (run !== null) parts.push(`run ${run}`);
  return `${parts.join(", ")}.`;
}
