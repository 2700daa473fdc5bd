import type { FailureReason } from "./provider.ts";

/** The default reason of a 4xx or 5xx. Adapters may derive a more specific one from the body. */
export function reasonForStatus(status: number): FailureReason {
  switch (status) {
    case 401:
    case 407:
      return "credential";
    case 402:
      return "account_empty";
    case 429:
      return "throttled";
    default:
      return "status";
  }
}
