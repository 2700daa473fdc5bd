// What a script learns from the exit code. README.md has the same table, and cli.test.ts sees each of them.

import { PennyblackError } from "@pennyblack/sdk";
import { UsageError } from "./usage-error.ts";

export const exitCodes = {
  ok: 0,
  /** Nothing was charged, and the same command will fail again. */
  failed: 1,
  /** The command was wrong. Nothing was sent. */
  usage: 2,
  /** Nothing was charged, and the same command may work later. */
  retryable: 3,
  /** No answer came, so it is not known whether the search was charged. */
  unknown: 4,
  /** The wallet is short, or a budget is spent. Nothing was charged. */
  money: 5,
};

const aboutMoney = new Set(["insufficient_balance", "key_budget_spent", "run_budget_spent"]);

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return exitCodes.usage;
  if (!(error instanceof PennyblackError)) return exitCodes.failed;
  if (error.charged === "unknown") return exitCodes.unknown;
  if (aboutMoney.has(error.code)) return exitCodes.money;
  return error.retryable ? exitCodes.retryable : exitCodes.failed;
}

/** For stderr: what happened, and how to speak about it with others. */
export function explainError(error: unknown, isJson: boolean): string {
  if (!(error instanceof PennyblackError)) {
    const message = error instanceof Error ? error.message : String(error);
    return isJson ? JSON.stringify({ error: { detail: message } }) : `pennyblack: ${message}`;
  }
  const { code, status, detail, charged, retryable, retryAfter, requestId, idempotencyKey, problem } = error;
  if (isJson) {
    const fields = { code, status, detail, charged, retryable, retryAfter, requestId, idempotencyKey, problem };
    return JSON.stringify({ error: fields });
  }
  const faults = Array.isArray(problem["errors"]) ? (problem["errors"] as { pointer: string; detail: string }[]) : [];
  const topUp = problem["top_up"] as { url?: string } | undefined;
  return [
    `pennyblack: ${detail}`,
    ...faults.map((fault) => `  ${fault.pointer}: ${fault.detail}`),
    ...(topUp?.url === undefined ? [] : [`  Add money: ${topUp.url}`]),
    ...(retryable && retryAfter !== undefined ? [`  Try again in ${Math.ceil(retryAfter)} s.`] : []),
    `  (${code}${requestId === undefined ? "" : `, request ${requestId}`})`,
  ].join("\n");
}
