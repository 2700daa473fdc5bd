import type { EntryKind } from "@pennyblack/sdk";

export const entryLabels: Record<EntryKind, { singular: string; plural: string }> = {
  search: { singular: "Search", plural: "Searches" },
  top_up: { singular: "Top-up", plural: "Top-ups" },
  refund: { singular: "Search refund", plural: "Refunds" },
  credit: { singular: "Credit", plural: "Credits" },
  reversal: { singular: "Payment reversal", plural: "Reversals" },
  reinstatement: { singular: "Payment reinstated", plural: "Reinstatements" },
  settlement: { singular: "Debt settled", plural: "Settlements" },
  correction: { singular: "Correction", plural: "Corrections" },
  payout: { singular: "Payout", plural: "Payouts" },
  transfer_out: { singular: "Transfer out", plural: "Transfers out" },
  transfer_in: { singular: "Transfer in", plural: "Transfers in" },
  breakage: { singular: "Forfeited balance", plural: "Forfeited balances" },
};
