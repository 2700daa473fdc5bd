import { Type } from "typebox";
import { formatUsd, type Micros } from "../../lib/money.ts";
import { type Entry, publicKind } from "./read-wallet.ts";

export const money = (description: string) =>
  Type.String({ description: `${description}, in USD as a decimal string.`, pattern: "^-?\\d+\\.\\d{2,6}$" });

export const entryKinds = [
  "search",
  "refund",
  "top_up",
  "credit",
  "reversal",
  "reinstatement",
  "settlement",
  "correction",
  "payout",
  "breakage",
  "transfer_out",
  "transfer_in",
];

export const entrySchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    kind: Type.Enum(entryKinds, {
      title: "EntryKind",
      description:
        "`reversal`: a payment was refunded or disputed. `reinstatement`: the reversed money was returned. `settlement`: money that paid off debt. `correction`: an entry was wrong. `payout`: the balance was paid out. `breakage`: a balance was forfeited. `transfer_out` and `transfer_in`: balance that the operator transferred between installations.",
    }),
    amount: money("Amount added to the wallet, or negative if deducted"),
    currency: Type.Literal("usd"),
    request_id: Type.Union([Type.String({ format: "uuid" }), Type.Null()], {
      description: "The search that was charged or refunded. Null for other kinds.",
    }),
    created_at: Type.String({ format: "date-time" }),
    balance: Type.Optional(money("Balance after this entry, omitted in lists filtered by `kind` or `request_id`")),
  },
  { title: "Entry" },
);

export function serializeEntry({ balance, ...entry }: Entry & { balance?: Micros }) {
  return {
    id: entry.id,
    kind: publicKind(entry.kind),
    amount: formatUsd(entry.amount),
    currency: "usd",
    request_id: entry.requestId,
    created_at: entry.createdAt.toISOString(),
    ...(balance !== undefined && { balance: formatUsd(balance) }),
  };
}
