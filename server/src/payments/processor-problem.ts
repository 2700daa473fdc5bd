import { Problem } from "../problems/problems.ts";

export function processorProblem(cause: unknown): never {
  throw new Problem("payment_processor_unavailable", { cause });
}
