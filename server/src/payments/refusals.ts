import { Problem } from "../problems.ts";

export function unavailable(cause: unknown): never {
  throw new Problem("ledger_unavailable", { cause });
}

export function processorProblem(cause: unknown): never {
  throw new Problem("payment_processor_unavailable", { cause });
}
