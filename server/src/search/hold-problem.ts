import { formatUsd, type Micros, priceMicros } from "../lib/money.ts";
import { Problem } from "../problems.ts";
import type { HoldOutcome } from "../wallet/wallet.ts";

export interface TopUpApi {
  url: string;
  /** The smallest top-up it takes. */
  minimum: Micros;
}

/** What the caller is told when the ledger did not hold the price. */
export function refuseHold(held: HoldOutcome, way: { topUpUrl: string; topUpApi?: TopUpApi | undefined }): Problem {
  switch (held.outcome) {
    case "insufficient_balance":
      return new Problem("insufficient_balance", {
        members: { ...amounts(held.balance), top_up: topUp(way.topUpUrl, way.topUpApi) },
        headers: { link: `<${way.topUpUrl}>; rel="payment"` },
      });
    case "balance_reserved":
      return new Problem("balance_reserved", { members: amounts(held.balance) });
    case "key_budget_spent":
    case "run_budget_spent":
      return new Problem(held.outcome, {
        members: {
          limit: formatUsd(held.limit),
          spent: formatUsd(held.spent),
          currency: "usd",
          resets_at: held.resetsAt?.toISOString() ?? null,
        },
      });
    case "api_key_invalid":
    case "api_key_revoked":
    case "api_key_expired":
    case "account_suspended":
    case "idempotency_in_progress":
    case "idempotency_key_reused":
      return new Problem(held.outcome);
    // The hold of a resent request was ended meanwhile, or our clock is far off: known to have charged nothing.
    case "lost":
    case "clock_skewed":
      return new Problem("ledger_unavailable", { cause: new Error(held.outcome) });
    case "id_taken":
    case "held":
    case "replayed":
      return new Problem("internal_error", { cause: new Error(`unexpected outcome ${held.outcome}`) });
  }
}

function amounts(balance: Micros): Record<string, unknown> {
  return { balance: formatUsd(balance), price: formatUsd(priceMicros), currency: "usd" };
}

function topUp(url: string, api: TopUpApi | undefined): Record<string, unknown> {
  if (!api) {
    return {
      url,
      minimum: formatUsd(priceMicros),
      instructions: "Open this address; it says how the wallet's owner adds money. Searches work again at once.",
    };
  }
  const amount = formatUsd(api.minimum);
  return {
    url,
    minimum: amount,
    instructions:
      "Send `create` with a management key and an Idempotency-Key of yours, then let the wallet's owner pay at the checkout_url of the answer. Searches work again at once.",
    create: { method: "POST", url: api.url, required_scope: "wallet:write", body: { amount } },
  };
}
