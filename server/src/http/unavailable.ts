import { Problem } from "../problems/problems.ts";

/** For routes whose database call failed: `read().catch(unavailable)`. */
export function unavailable(cause: unknown): never {
  throw new Problem("ledger_unavailable", { cause });
}
