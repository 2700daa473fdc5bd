/** What a receiver can ask to be told. The table pb.webhook_endpoints knows the same names. */
export const eventTypes = [
  "wallet.low_balance",
  "wallet.depleted",
  "top_up.succeeded",
  "top_up.failed",
  "key.created",
  "key.rotated",
  "key.revoked",
  "key.budget_spent",
] as const;

export type EventType = (typeof eventTypes)[number];
