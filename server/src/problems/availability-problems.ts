import type { ProblemRow } from "./problem-row.ts";

/** The account cannot be charged or changed at the moment. */
export const availabilityProblems = {
  ledger_unavailable: {
    status: 503,
    title: "Ledger unavailable",
    retryable: true,
    detail: "The ledger is unavailable. You were not charged. Retry after the number of seconds in `Retry-After`.",
    page: "A search that cannot be recorded in the ledger is not answered. You get this error only if it is certain that you were not charged. Otherwise the connection is closed without a response, and a retry with the same Idempotency-Key returns the answer without a second charge.",
    retryAfterSeconds: 2,
  },
  account_moving: {
    status: 503,
    title: "Account is being moved",
    retryable: true,
    detail:
      "The account is being moved to another installation, which takes a few seconds. You were not charged. Retry after the number of seconds in `Retry-After`.",
    page: "The operator is moving the account to another of its installations. A search waits for up to nine seconds until the move is complete; a change is rejected with this error at once. Keys, Idempotency-Keys, runs and budgets keep working afterwards.",
    retryAfterSeconds: 2,
  },
} as const satisfies Record<string, ProblemRow>;
