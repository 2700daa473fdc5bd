import type { FailureReason } from "./provider.ts";

/** What a bare 4xx or 5xx means. An adapter that can prove more from the body says so itself. */
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
