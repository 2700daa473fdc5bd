import { Type } from "typebox";
import { formatUsd, type Micros } from "../lib/money.ts";
import { type Entry, nameOfKind } from "./read-wallet.ts";

export const money = (description: string) =>
  Type.String({ description: `${description}, in USD as a decimal string.`, pattern: "^-?\\d+\\.\\d{2,6}$" });

export const entryKinds = ["search", "refund", "top_up", "credit", "reversal", "reinstatement", "settlement"];

export const entrySchema = Type.Object({
  id: Type.String({ format: "uuid" }),
  kind: Type.Enum(entryKinds, {
    description:
      "`reversal`: a payment was refunded or disputed. `reinstatement`: it came back. `settlement`: of a top-up, what was owed.",
  }),
  amount: money("What the wallet gained, or lost if negative"),
  currency: Type.Literal("usd"),
  request_id: Type.Union([Type.String({ format: "uuid" }), Type.Null()], { description: "The search it is about." }),
  created_at: Type.String({ format: "date-time" }),
  balance: Type.Optional(
    money(
      "The balance after it: that of the entry below plus its amount. In lists that leave nothing out between two entries",
    ),
  ),
});

export function showEntry({ balance, ...entry }: Entry & { balance?: Micros }) {
  return {
    id: entry.id,
    kind: nameOfKind(entry.kind),
    amount: formatUsd(entry.amount),
    currency: "usd",
    request_id: entry.requestId,
    created_at: entry.createdAt.toISOString(),
    ...(balance !== undefined && { balance: formatUsd(balance) }),
  };
}
