// Text for searches that failed and requests that were refused, by problem code. They are never charged.

interface OutcomeText {
  /** In lower case without a period, because it can follow a time. */
  summary: string;
  action: string;
}

const retryLater = "Retry in a moment.";
const useAnotherKey = "Use another key.";
const fixRequest = "Fix the request in your program.";

const outcomes: Record<string, OutcomeText> = {
  malformed_json: { summary: "the body was not valid JSON", action: fixRequest },
  invalid_request: { summary: "the request was invalid", action: fixRequest },
  query_too_long: { summary: "the query was too long", action: "Shorten it. Queries are never truncated." },
  conflicting_credentials: { summary: "two different API keys were sent", action: "Send only one." },
  authentication_required: { summary: "no API key was sent", action: "Send your key as a bearer token." },
  api_key_invalid: { summary: "the API key is not valid", action: "Check that you copied all of it." },
  api_key_revoked: { summary: "the key was revoked", action: useAnotherKey },
  api_key_expired: { summary: "the key had expired", action: "Use another key, or extend this one." },
  insufficient_balance: { summary: "the balance was too low", action: "Top up, then retry." },
  balance_reserved: { summary: "the rest of the balance was on hold for searches in progress", action: retryLater },
  insufficient_scope: { summary: "the key does not have the search scope", action: "Use a live or test key." },
  ip_not_allowed: { summary: "the IP address is not allowed for this key", action: useAnotherKey },
  insufficient_role: { summary: "viewers can search only with test keys", action: "Ask an owner for another role." },
  account_suspended: { summary: "the account is suspended", action: "Contact the operator." },
  key_budget_spent: { summary: "the key's budget was spent", action: "Raise the budget, or wait until it resets." },
  run_budget_spent: { summary: "the run's budget was spent", action: "Let the task finish with the results it has." },
  end_user_required: {
    summary: "the search named no end user",
    action: "Send Search-For with each search of this key.",
  },
  end_user_budget_spent: {
    summary: "the end user's budget was spent",
    action: "Raise the key's limit per end user, or wait until it resets.",
  },
  idempotency_in_progress: { summary: "the same search was still in progress", action: "Retry in a second." },
  idempotency_key_reused: {
    summary: "the Idempotency-Key was already used for a different search",
    action: "Use a new key for each search.",
  },
  payload_too_large: { summary: "the body was too large", action: "Send a shorter query." },
  unsupported_media_type: { summary: "the body was not uncompressed JSON", action: fixRequest },
  rate_limited: { summary: "the rate limit was exceeded", action: "Retry after the number of seconds in Retry-After." },
  concurrency_limited: {
    summary: "the key or its wallet had too many searches in progress",
    action: "Wait for one to finish.",
  },
  unpaid_calls_limited: {
    summary:
      "too many searches of this wallet were abandoned, timed out by their own deadline or got an invalid response",
    action: "Retry after the number of seconds in Retry-After, and give each search more time.",
  },
  internal_error: {
    summary: "an internal error occurred",
    action: `${retryLater} If it keeps happening, contact the operator.`,
  },
  upstream_error: { summary: "the upstream returned an error", action: retryLater },
  upstream_invalid_response: { summary: "the upstream returned an invalid response", action: retryLater },
  upstream_unreachable: { summary: "the upstream was unreachable", action: retryLater },
  upstream_timeout: { summary: "the upstream timed out", action: retryLater },
  upstream_not_configured: {
    summary: "no upstream is configured",
    action: "Ask the operator to configure one. Test keys work without it.",
  },
  overloaded: { summary: "the service was overloaded", action: "Retry with exponential backoff." },
  shutting_down: { summary: "the server was shutting down", action: "Retry on a new connection." },
  ledger_unavailable: { summary: "the ledger was unavailable", action: retryLater },
  expired: { summary: "the search expired before it finished", action: retryLater },
  caller_left: { summary: "the client disconnected before the response", action: "Use a longer client timeout." },
  released: { summary: "the search ended without a response", action: retryLater },
};

/** Falls back to the code itself, which may be newer than this page. */
export function describeOutcome(code: string): OutcomeText {
  return Object.hasOwn(outcomes, code)
    ? (outcomes[code] as OutcomeText)
    : { summary: `it failed with ${code.replaceAll("_", " ")}`, action: retryLater };
}

const endings: Record<string, string> = { ok: "Completed", pending: "In progress", replayed: "Replayed" };

/** How a request ended, for lists. */
export function formatOutcome(outcome: string): string {
  return Object.hasOwn(endings, outcome) ? (endings[outcome] as string) : capitalize(describeOutcome(outcome).summary);
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
