import type { ProblemRow } from "./problem-row.ts";

/** Shared budgets and the requests to raise them. */
export const budgetProblems = {
  budget_in_use: {
    status: 409,
    title: "Budget in use",
    detail:
      "Keys in `keys` name this budget, so it was not archived. Remove it from their `budgets`, or revoke them, then retry.",
    cause: "A budget that limits a key cannot be archived. Revoked keys do not count.",
    fix: "Remove the budget from the `budgets` of each key in `keys` with `PATCH /v1/keys/{id}`, or revoke the key. `keys` lists up to 100.",
    members: { keys: [{ id: "0199b3a4-6f10-7c2e-9d51-2f6a1c0e8b01", name: "crawler" }] },
  },
  budget_limit_reached: {
    status: 409,
    title: "Budget limit reached",
    detail:
      "A wallet can have at most 1,000 shared budgets. No budget was created. Archive a budget you no longer use.",
    cause: "The wallet has 1,000 shared budgets. Archived budgets do not count.",
    fix: "Archive budgets you no longer use. `GET /v1/budgets` lists them.",
  },
  budget_requests_open: {
    status: 409,
    title: "Too many open requests",
    detail:
      "A key can have 3 open requests, and a wallet 20. Nothing was requested. Wait until a person has decided, or finish with the results you have.",
    cause: "The key has 3 undecided requests, or the wallet has 20. A request is open for 7 days.",
    fix: "Approve or deny requests in the console under Budgets. Equal requests of a key count once, so a retry is safe.",
  },
} as const satisfies Record<string, ProblemRow>;
