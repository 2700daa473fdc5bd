import type { ProblemCode, Search } from "@pennyblack/sdk";

// Outcomes of searches whose price was held.
const outcomes: Partial<Record<ProblemCode, string>> & Record<string, string> = {
  ok: "Succeeded",
  pending: "In progress. Its price is on hold and has not been charged",
  expired: "Expired before it finished",
  caller_left: "Canceled, because the client disconnected before the response",
  released: "Ended without a response",
  upstream_error: "Failed, because the upstream returned an error",
  upstream_invalid_response: "Failed, because the upstream returned an invalid response",
  upstream_unreachable: "Failed, because the upstream was unreachable",
  upstream_timeout: "Failed, because the deadline passed before the upstream responded",
  upstream_not_configured: "Failed, because no upstream is configured",
  internal_error: "Failed with an internal error",
  overloaded: "Failed, because the server was overloaded",
  shutting_down: "Failed, because the server was shutting down",
  ledger_unavailable: "Failed, because the ledger was unavailable",
};

/** Describes the outcome of a request. Newer servers may return other codes. */
export function describeOutcome({ kind, outcome }: Pick<Search, "kind" | "outcome">): string {
  if (kind === "replayed") return "Answered from its Idempotency-Key, without another search";
  if (kind === "refused") return `Refused before its price was held (${outcome})`;
  const known = Object.hasOwn(outcomes, outcome) ? outcomes[outcome] : undefined;
  return known ?? `Failed with ${outcome.replaceAll("_", " ")}`;
}
