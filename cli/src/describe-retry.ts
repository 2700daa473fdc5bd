import type { ResponseEvent } from "@pennyblack/sdk";

/** One line about an attempt that failed and is repeated, so that a command does not seem to hang. */
export function describeRetry({ attempt, status, code }: ResponseEvent, retryInMs: number): string {
  const reason = (code ?? "no response").replaceAll("_", " ");
  const seconds = (Math.ceil(retryInMs / 100) / 10).toFixed(1);
  return `Attempt ${attempt} failed: ${reason}${status === undefined ? "" : ` (${status})`}. Next attempt in ${seconds} s.`;
}
