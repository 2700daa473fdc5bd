import type { EntryKind } from "../../api/ledger.ts";

/** What happened, in the words of a statement. */
export const kindWords: Record<EntryKind, { one: string; many: string }> = {
  search: { one: "Search", many: "Searches" },
  top_up: { one: "Top-up", many: "Top-ups" },
  refund: { one: "Search refunded", many: "Refunds" },
  credit: { one: "Credit", many: "Credits" },
  reversal: { one: "Payment reversed", many: "Reversals" },
  reinstatement: { one: "Payment came back", many: "Reinstatements" },
  settlement: { one: "Paid what was owed", many: "Settlements" },
};
