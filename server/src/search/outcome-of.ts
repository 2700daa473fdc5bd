import { OutcomeUnknown } from "../db/settle-batch.ts";
import { NoResponse } from "../http/no-response.ts";
import { Problem } from "../problems/problems.ts";

/** The outcome of a search that failed, as in the metrics, the log and the list of searches. */
export function outcomeOf(error: unknown): string {
  if (error instanceof Problem) return error.code;
  if (!(error instanceof NoResponse)) return "internal_error";
  return error.cause instanceof OutcomeUnknown ? "outcome_unknown" : "caller_left";
}
