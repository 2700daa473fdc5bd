// Exit codes, as listed in README.md. cli.test.ts covers each of them.

import { PennyblackError } from "@pennyblack/sdk";
import { UsageError } from "./usage-error.ts";

export const exitCodes = {
  ok: 0,
  /** Not charged. Retrying will fail again. */
  failed: 1,
  /** Invalid command. Nothing was sent. */
  usage: 2,
  /** `apply --plan` found a difference. */
  difference: 2,
  /** Not charged. Retrying may succeed. */
  retryable: 3,
  /** No response. The search may have been charged. */
  unknown: 4,
  /** Insufficient balance or budget spent. Not charged. */
  money: 5,
};

const moneyCodes = new Set(["insufficient_balance", "key_budget_spent", "run_budget_spent", "end_user_budget_spent"]);

/** Thrown by `apply --plan` after it has printed the plan. */
export class DifferenceFound extends Error {}

export function exitCodeFor(error: unknown): number {
  if (error instanceof UsageError) return exitCodes.usage;
  if (!(error instanceof PennyblackError)) return exitCodes.failed;
  if (error.charged === "unknown") return exitCodes.unknown;
  if (moneyCodes.has(error.code)) return exitCodes.money;
  return error.retryable ? exitCodes.retryable : exitCodes.failed;
}

export function formatError(error: unknown, isJson: boolean): string {
  if (!(error instanceof PennyblackError)) {
    const message = error instanceof Error ? error.message : String(error);
    return isJson ? JSON.stringify({ error: { detail: message } }) : `pennyblack: ${message}`;
  }
  const { code, status, detail, charged, retryable, retryAfter, requestId, idempotencyKey, problem } = error;
  if (isJson) {
    const fields = { code, status, detail, charged, retryable, retryAfter, requestId, idempotencyKey, problem };
    return JSON.stringify({ error: fields });
  }
  const errors = problem && "errors" in problem ? problem.errors : [];
  return [
    `pennyblack: ${detail}`,
    ...errors.map(({ pointer, detail: reason }) => `  ${pointer}: ${reason}`),
    ...(retryable && retryAfter !== undefined ? [`  Retry in ${Math.ceil(retryAfter)} s.`] : []),
    ...connectionHints(code),
    `  (${code}${requestId === undefined ? "" : `, request ${requestId}`})`,
  ].join("\n");
}

function connectionHints(code: string): string[] {
  const checks: Record<string, string> = {
    connection_closed: "Check that the server is running, and that its URL is right",
    timeout: "Check your network, and that the URL is right",
    invalid_answer: "Check that the URL is that of a Pennyblack server",
  };
  const check = checks[code];
  return check === undefined
    ? []
    : [`  ${check} (--url, PENNYBLACK_URL or the profile). See: pennyblack profiles list`];
}
