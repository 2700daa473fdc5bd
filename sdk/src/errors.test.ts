import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  Problem,
  personProblems,
  problemCodes,
  type ProblemCode as ServerCode,
} from "../../server/src/problems/problems.ts";
import type { ProblemCode } from "./api.ts";
import { BalanceError, BudgetError, createError, PennyblackError, RateLimitError } from "./errors.ts";

// `npm run types` fails here when the SDK's ProblemCode lacks a server code. Codes that no API key gets are excluded.
const codes: readonly ProblemCode[] = problemCodes.filter(
  (code): code is Exclude<ServerCode, keyof typeof personProblems> => !(code in personProblems),
);

const cases = JSON.parse(readFileSync(new URL("../../clients/cases.json", import.meta.url), "utf8")) as {
  errors: Record<string, { status: number; class: string }>;
};

test("clients/cases.json lists every server problem, and each maps to its error class", () => {
  assert.deepEqual(Object.keys(cases.errors), codes);
  for (const code of codes) {
    const { status, retryable, detail } = new Problem(code);
    const error = createError({ code, status, detail, retryable, charged: false, problem: undefined });
    assert.deepEqual({ status, class: error.constructor.name }, cases.errors[code], code);
    assert.ok(error instanceof PennyblackError && error instanceof Error);
  }
});

test("is() compares the code and gives the problem its members", () => {
  const common = { status: 403, detail: "", code: "key_budget_spent", retryable: false, charged: false } as const;
  const details = { type: "about:blank", title: "", instance: "/v1/search", request_id: "r-1" };
  const problem = {
    ...common,
    ...details,
    limit: "1.00",
    spent: "1.00",
    resets_at: null,
    budget: { id: null, name: null, period: "day" as const },
    increase: { url: "https://search.test/console" },
  };
  const error: PennyblackError = createError({ ...common, problem });
  assert.ok(!error.is("insufficient_balance"));
  assert.ok(error instanceof BudgetError);
  assert.deepEqual([error.problem.limit, error.problem.resets_at], ["1.00", null]);
});

// `npm run types` fails here when a line that must not compile does.
export function readMembers(error: PennyblackError): unknown[] {
  // @ts-expect-error -- Only some codes have it.
  if (error.is("not_found")) return [error.problem.resets_at];
  if (error.is("key_budget_spent")) return [error.code satisfies "key_budget_spent", error.problem.resets_at];
  if (error.is("insufficient_balance")) return [error.problem.top_up.url, error.problem.owed];
  if (error.is("rate_limited")) return [error.problem.exceeded.limit];
  if (error.is("invalid_request")) return error.problem.errors.map(({ pointer }) => pointer);
  if (error instanceof BalanceError) return [error.problem.balance, error.problem.top_up?.url];
  if (error instanceof BudgetError) return [error.problem.limit, error.problem.spent];
  if (error instanceof RateLimitError) return [error.problem.exceeded.max];
  // @ts-expect-error -- Not a code.
  if (error.is("key_budget_spend")) return [];
  // @ts-expect-error -- Undefined if there was no response.
  return [error.problem.code, error.problem?.code];
}
