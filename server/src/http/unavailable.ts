import { findMoveProblem } from "../problems/account-moved.ts";
import { Problem } from "../problems/problems.ts";

/** For routes whose database call failed: `read().catch(unavailable)`. */
export function unavailable(cause: unknown): never {
  throw findMoveProblem(cause) ?? new Problem("ledger_unavailable", { cause });
}
