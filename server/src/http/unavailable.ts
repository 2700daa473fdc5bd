import { DatabaseError } from "pg";
import { sqlStates } from "../db/sql-states.ts";
import { Problem } from "../problems/problems.ts";

/** For routes whose database call failed: `read().catch(unavailable)`. */
export function unavailable(cause: unknown): never {
  if (cause instanceof DatabaseError && cause.code === sqlStates.sessionEnded)
    throw new Problem("session_required", { cause });
  throw new Problem("ledger_unavailable", { cause });
}
