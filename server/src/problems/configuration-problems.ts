import type { ProblemRow } from "./problem-row.ts";

/** The operator has not configured a feature. A retry fails until the operator configures it. */
export const configurationProblems = {
  upstream_not_configured: {
    status: 503,
    title: "No upstream provider configured",
    detail:
      "The operator has not configured a search provider. You were not charged. Test keys (`pb_test_`) work without one.",
    cause: "The server has no search provider.",
    fix: "Test keys (`pb_test_`) work without one. For operators: configure at least one provider, for example with PENNYBLACK_BRAVE_KEY, or with PENNYBLACK_SEARXNG_URL for a SearXNG instance that has the JSON format enabled. `npm run providers -- list` lists all providers.",
  },
  payments_not_configured: {
    status: 503,
    title: "Payments not configured",
    detail: "The operator has not configured payments. Ask the operator to add money to the wallet.",
    cause: "The server has no payment processor.",
    fix: "Ask the operator to add money to the wallet. For operators: set PENNYBLACK_STRIPE_SECRET_KEY and PENNYBLACK_PAYMENTS_DATABASE_URL for the server and the worker, set PENNYBLACK_STRIPE_WEBHOOK_SECRET for the server, and send Stripe's webhooks to /v1/payments/stripe/webhook. Until then, record invoices and promotions with `npm run admin -- credit`.",
  },
  receipts_not_configured: {
    status: 503,
    title: "Receipts not configured",
    detail: "The operator has not configured a signing key for receipts. Ask the operator to configure one.",
    cause: "The server has no signing key for receipts.",
    fix: "Ask the operator to configure one. For operators: set PENNYBLACK_SIGNING_KEYS for the server and the worker (`openssl rand -base64 32`).",
  },
} as const satisfies Record<string, ProblemRow>;
