/** Event types an endpoint can subscribe to. event-types.test.ts lists every place that repeats them. */
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
