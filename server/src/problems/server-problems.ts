import { configurationProblems } from "./configuration-problems.ts";
import type { ProblemRow } from "./problem-row.ts";

/** Failures of the server or of something it depends on, which are not the fault of the request. */
export const serverProblems = {
  internal_error: {
    status: 500,
    title: "Internal error",
    retryable: true,
    detail:
      "Internal error. You were not charged. Retry, and if the error persists, send the request id to the operator.",
    cause: "An unexpected error in the server.",
    fix: "Retry. If the error persists, send the request id to the operator, who can find the cause in the log.",
  },
  upstream_error: {
    status: 502,
    title: "Upstream provider error",
    retryable: true,
    detail:
      "The search provider returned an error. You were not charged. Retry after the number of seconds in `Retry-After`, and do not answer from memory.",
    cause:
      "The search provider returned an error. Its status is forwarded unless it would be misleading: 401, 402 and 407 concern the operator's account with the provider, not yours, and 405 and 426 require headers that do not apply here. These become 502.",
    fix: "Retry after the number of seconds in `Retry-After`. If the operator's account is the cause, `retryable` is false, and a retry fails until the operator has corrected it. `upstream_status` is always the provider's own status.",
    members: { upstream_status: 502 },
    occurrenceHeaders: { "proxy-status": "search; received-status=502" },
    retryAfterSeconds: 2,
  },
  upstream_invalid_response: {
    status: 502,
    title: "Invalid upstream response",
    retryable: true,
    detail:
      "The search provider returned an unusable response, which is a failure and not an empty result. You were not charged. Retry after the number of seconds in `Retry-After`.",
    cause:
      "The provider's response is not a search result: a redirect, the wrong content type, malformed JSON, too many bytes, or an empty list with a report that its engines failed.",
    fix: "Retry after the number of seconds in `Retry-After`. Do not treat this as an empty result.",
    members: { upstream_status: 200 },
    occurrenceHeaders: { "proxy-status": "search; error=http_protocol_error; received-status=200" },
    retryAfterSeconds: 2,
  },
  upstream_unreachable: {
    status: 502,
    title: "Upstream provider unreachable",
    retryable: true,
    detail:
      "The connection to the search provider failed. You were not charged. Retry after the number of seconds in `Retry-After`.",
    cause:
      "The connection was refused or reset, the provider's hostname could not be resolved, or its certificate could not be verified.",
    fix: "Retry after the number of seconds in `Retry-After`.",
    occurrenceHeaders: { "proxy-status": "search; error=destination_unavailable" },
    retryAfterSeconds: 2,
  },
  payment_processor_unavailable: {
    status: 502,
    title: "Payment processor unavailable",
    retryable: true,
    detail:
      "The payment processor did not return a usable response. No money was added. Retry with the same Idempotency-Key.",
    cause:
      "The payment processor could not be reached or its response could not be used. If the top-up had already started, it stays pending.",
    fix: "Retry with the same Idempotency-Key. The retry continues the top-up and never starts a second one. Money paid in the meantime is credited once, when the processor reports it.",
    retryAfterSeconds: 5,
  },
  overloaded: {
    status: 503,
    title: "Service overloaded",
    retryable: true,
    detail:
      "The server is at its capacity of {max} requests at a time for {subject}. You were not charged. Retry after the number of seconds in `Retry-After`.",
    cause:
      "The server is at its capacity and rejects requests early instead of answering late. `exceeded` names the limit that was reached. Its `max` is the current value, which is lower while the server is slow.",
    fix: "Retry with exponential backoff, not before the number of seconds in `Retry-After`.",
    members: {
      exceeded: { limit: "server_in_flight", applies_to: "server", max: 4000, retry_after_seconds: 2 },
    },
    values: { max: "4000", subject: "all wallets on one server" },
    retryAfterSeconds: 2,
  },
  shutting_down: {
    status: 503,
    title: "Server shutting down",
    retryable: true,
    detail: "This server is shutting down. You were not charged. Retry on a new connection.",
    cause: "The server is shutting down and accepts no new searches.",
    fix: "Retry on a new connection, which reaches another server.",
    retryAfterSeconds: 1,
  },
  ledger_unavailable: {
    status: 503,
    title: "Ledger unavailable",
    retryable: true,
    detail: "The ledger is unavailable. You were not charged. Retry after the number of seconds in `Retry-After`.",
    cause:
      "A search that cannot be recorded in the ledger is not answered. You get this error only if it is certain that you were not charged. Otherwise the connection is closed without a response.",
    fix: "Retry after the number of seconds in `Retry-After`. Send an Idempotency-Key, so that a retry after a closed connection returns the answer without a second charge.",
    retryAfterSeconds: 2,
  },
  ...configurationProblems,
  upstream_timeout: {
    status: 504,
    title: "Search timed out",
    retryable: true,
    detail:
      "The search provider did not respond within the server's deadline. You were not charged. Retry after the number of seconds in `Retry-After`, and do not answer from memory.",
    cause:
      "The search was cancelled and its hold released. `deadline_set_by` is `server` if no upstream responded within 10 seconds, and `caller` if your timeout, `Prefer: wait=N`, passed first.",
    fix: "If `deadline_set_by` is `server`, retry after the number of seconds in `Retry-After`. If it is `caller`, `retryable` is false. Send a larger number or omit the header.",
    members: { deadline_set_by: "server" },
    occurrenceHeaders: { "proxy-status": "search; error=http_response_timeout" },
    retryAfterSeconds: 2,
  },
} as const satisfies Record<string, ProblemRow>;
