// What became of a search that was not answered, in words. A failure never costs anything, and each sentence is told
// with "nothing charged" behind it. The codes are those of /problems.

interface Words {
  /** Begins in lower case: it stands behind a time, or at the head of a line. */
  happened: string;
  todo: string;
}

const shortly = "Send it again in a moment.";
const anotherKey = "Use another key of this wallet.";
const program = "Correct the program that sent it.";

const outcomes: Record<string, Words> = {
  malformed_json: { happened: "the body was not valid JSON", todo: program },
  invalid_request: { happened: "the request broke a rule", todo: program },
  query_too_long: { happened: "the query was too long", todo: "Shorten it. We never cut a query." },
  conflicting_credentials: { happened: "two different keys were sent", todo: "Send one key." },
  authentication_required: { happened: "no key was sent", todo: "Send one as a bearer token." },
  api_key_invalid: { happened: "no such key exists", todo: "Check that it was copied whole." },
  api_key_revoked: { happened: "the key was revoked", todo: anotherKey },
  api_key_expired: { happened: "the key had expired", todo: `${anotherKey} Or change its end date.` },
  insufficient_balance: { happened: "the balance was too low", todo: "Top up, then send it again." },
  balance_reserved: { happened: "the balance was set aside for searches in flight", todo: shortly },
  insufficient_scope: { happened: "the key may not search", todo: "Use a live or a test key." },
  ip_not_allowed: { happened: "the key is bound to other addresses", todo: anotherKey },
  account_suspended: { happened: "the account was suspended", todo: "Write to the operator." },
  key_budget_spent: { happened: "the key's budget was spent", todo: "Raise it, or wait until it begins anew." },
  run_budget_spent: { happened: "the run's budget was spent", todo: "Begin a run with a larger maximum." },
  idempotency_in_progress: { happened: "the same search was still running", todo: "Ask again in a second." },
  idempotency_key_reused: {
    happened: "the Idempotency-Key belonged to another search",
    todo: "Use a new one for each search.",
  },
  payload_too_large: { happened: "the body was too large", todo: "Send a query, not a document." },
  unsupported_media_type: { happened: "the body was not plain JSON", todo: program },
  rate_limited: { happened: "the key sent too many requests", todo: "Wait as Retry-After says." },
  concurrency_limited: { happened: "the key had too many searches in flight", todo: "Wait until one has finished." },
  internal_error: { happened: "something broke on our side", todo: `${shortly} If it stays, write to the operator.` },
  upstream_error: { happened: "the upstream refused the search", todo: shortly },
  upstream_invalid_response: { happened: "the upstream gave no usable answer", todo: shortly },
  upstream_unreachable: { happened: "the upstream could not be reached", todo: shortly },
  upstream_timeout: { happened: "the upstream timed out", todo: shortly },
  upstream_not_configured: {
    happened: "no upstream is set up",
    todo: "Test keys work without one; for live searches the operator connects a provider.",
  },
  overloaded: { happened: "the service was overloaded", todo: "Send it again, with a growing pause." },
  shutting_down: { happened: "the server was about to stop", todo: "Send it again on a new connection." },
  ledger_unavailable: { happened: "the ledger could not be reached, so nothing was sold", todo: shortly },
  expired: { happened: "it was never finished", todo: shortly },
  caller_left: { happened: "the caller left before the answer", todo: "Give it a longer time-out." },
  released: { happened: "it ended without an answer", todo: shortly },
};

/** Of a code that is newer than this page, the code itself is the best that can be said. */
export function describeOutcome(code: string): Words {
  return Object.hasOwn(outcomes, code)
    ? (outcomes[code] as Words)
    : { happened: `it ended with ${code.replaceAll("_", " ")}`, todo: shortly };
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
