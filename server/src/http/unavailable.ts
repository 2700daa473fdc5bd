import { Problem } from "../problems.ts";

/** What a route says when a read of the books fails: `read().catch(unavailable)`. */
export function unavailable(cause: unknown): never {
  throw new Problem("ledger_unavailable", { cause });
}
