import { formatUsd, type Micros, priceMicros } from "../lib/money.ts";
import { Problem } from "../problems/problems.ts";
import type { HoldOutcome } from "../wallet/wallet.ts";

/** The route that starts a top-up, and the smallest amount it accepts. */
export interface TopUpApi {
  url: string;
  minimum: Micros;
}

interface ProblemContext {
  topUpUrl: string;
  topUpApi?: TopUpApi | undefined;
  publicUrl: string;
  walletId: string;
}

/** The problem to return when the ledger did not hold the price. */
export function holdOutcomeToProblem(
  held: HoldOutcome,
  run: string | undefined,
  { topUpUrl, topUpApi, publicUrl, walletId }: ProblemContext,
): Problem {
  switch (held.outcome) {
    case "insufficient_balance":
      return new Problem("insufficient_balance", {
        ...(held.owed > 0n && { detail: describeDebt(held.owed, topUpUrl) }),
        members: {
          ...amounts(held.balance),
          owed: formatUsd(held.owed),
          top_up: describeTopUp(topUpUrl, topUpApi, held.owed),
        },
        // In the text as well, because the clients of other vendors show only the text.
        values: { top_up_url: topUpUrl },
        headers: { link: `<${topUpUrl}>; rel="payment"` },
      });
    case "balance_reserved":
      return new Problem("balance_reserved", { members: amounts(held.balance) });
    case "key_budget_spent":
    case "run_budget_spent":
    case "end_user_budget_spent": {
      const increase = held.outcome === "run_budget_spent" ? undefined : describeIncrease(held, publicUrl, walletId);
      return new Problem(held.outcome, {
        ...(held.budget?.name && { detail: describeShared(held.outcome, { ...held, name: held.budget.name }) }),
        members: {
          limit: formatUsd(held.limit),
          spent: formatUsd(held.spent),
          currency: "usd",
          resets_at: held.resetsAt?.toISOString() ?? null,
          ...(held.budget && { budget: held.budget }),
          ...(increase && { increase }),
        },
        values: { run },
      });
    }
    case "end_user_required":
      return new Problem("end_user_required");
    case "api_key_invalid":
      return new Problem("api_key_invalid", { values: { fault: "This server no longer has this API key" } });
    case "api_key_revoked":
    case "api_key_expired":
    case "account_suspended":
    case "idempotency_in_progress":
    case "idempotency_key_reused":
      return new Problem(held.outcome);
    // The hold of a retried request has already ended, or this server's clock is wrong. Neither can have been charged.
    case "lost":
    case "clock_skewed":
      return new Problem("ledger_unavailable", { cause: new Error(held.outcome) });
    case "id_taken":
    case "held":
    case "replayed":
      return new Problem("internal_error", { cause: new Error(`unexpected outcome ${held.outcome}`) });
  }
}

function describeShared(
  code: "key_budget_spent" | "end_user_budget_spent" | "run_budget_spent",
  { name, limit, spent }: { name: string; limit: Micros; spent: Micros },
): string {
  const subject =
    code === "end_user_budget_spent"
      ? `The end user in \`Search-For\` has spent ${formatUsd(spent)} USD of the ${formatUsd(limit)} USD that the shared budget "${name}" allows each end user.`
      : `${formatUsd(spent)} USD of the ${formatUsd(limit)} USD of the shared budget "${name}" are spent.`;
  return `${subject} You were not charged. Finish with the results you have, or wait until \`resets_at\` if it is set.`;
}

/** A key can request an increase of a shared budget, except of one per end user. */
function describeIncrease(
  { outcome, budget }: Pick<SpentOutcome, "outcome" | "budget">,
  publicUrl: string,
  walletId: string,
): { url: string; request?: Record<string, unknown> } {
  const id = budget?.id ?? null;
  const url = `${publicUrl}/console/w/${walletId}/${id === null ? "keys" : "budgets"}`;
  if (id === null || outcome !== "key_budget_spent") return { url };
  const body = { budget: id, amount: "1.00", hours: 24 };
  return {
    url,
    request: {
      method: "POST",
      url: `${publicUrl}/v1/key/budget-requests`,
      required_scope: "budgets:request",
      body,
    },
  };
}

type SpentOutcome = Extract<HoldOutcome, { limit: Micros }>;

function amounts(balance: Micros): Record<string, unknown> {
  return { balance: formatUsd(balance), price: formatUsd(priceMicros), currency: "usd" };
}

function describeDebt(owed: Micros, topUpUrl: string): string {
  return `The wallet owes ${formatUsd(owed)} USD for refunded or disputed payments, which the next money added pays first. You were not charged. Top up at ${topUpUrl} and retry.`;
}

/** The minimum pays the debt and one search. Top-ups are whole cents. */
function describeTopUp(url: string, api: TopUpApi | undefined, owed: Micros): Record<string, unknown> {
  const needed = ((owed + 9_999n) / 10_000n) * 10_000n + priceMicros;
  if (!api) {
    return {
      url,
      minimum: formatUsd(needed),
      instructions:
        "Open this URL to see how the wallet's owner adds money. Searches work again immediately afterwards.",
    };
  }
  const amount = formatUsd(needed > api.minimum ? needed : api.minimum);
  return {
    url,
    minimum: amount,
    instructions:
      "Send the request in `create` with a management key and an Idempotency-Key, then have the wallet's owner pay at the `checkout_url` in the response. Searches work again immediately afterwards.",
    create: { method: "POST", url: api.url, required_scope: "wallet:write", body: { amount } },
  };
}
