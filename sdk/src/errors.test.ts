import assert from "node:assert/strict";
import { test } from "node:test";
import { consoleProblems } from "../../server/src/problems/console-problems.ts";
import { Problem, problemCodes, type ProblemCode as ServerCode } from "../../server/src/problems/problems.ts";
import { createError, PennyblackError, type ProblemCode } from "./errors.ts";

// `npm run types` fails here when the SDK's ProblemCode lacks a server code. Console-only codes are excluded.
const codes: readonly ProblemCode[] = problemCodes.filter(
  (code): code is Exclude<ServerCode, keyof typeof consoleProblems> => !(code in consoleProblems),
);

const kinds: [kind: string, codes: RegExp][] = [
  ["AuthenticationError", /^(?:api_key_|authentication_required)/],
  ["BalanceError", /^(?:insufficient_balance|balance_reserved)$/],
  ["BudgetError", /_budget_spent$/],
  ["PermissionError", /^(?:insufficient_scope|ip_not_allowed|account_suspended)$/],
  ["RateLimitError", /^(?:rate|concurrency|unpaid_calls)_limited$/],
  ["UpstreamError", /^upstream_/],
  ["ServerError", /^(?:internal_error|overloaded|shutting_down|\w+_unavailable|(?:payments|receipts)_not_configured)$/],
];

test("every server problem maps to the right error class", () => {
  for (const code of codes) {
    const { status, retryable, detail } = new Problem(code);
    const error = createError({ code, status, detail, retryable, charged: false, problem: {}, requestId: "r-1" });
    const kind = kinds.find(([, pattern]) => pattern.test(code))?.[0] ?? "RequestError";
    assert.equal(error.constructor.name, kind, code);
    assert.ok(error instanceof PennyblackError && error instanceof Error);
    assert.equal(error.message, `${detail} [${code}, request r-1]`);
    assert.equal(error.name, kind);
  }
});

test("a 429 forwarded from an upstream is an UpstreamError, not a RateLimitError", () => {
  const error = createError({
    code: "upstream_error",
    status: 429,
    detail: "",
    retryable: true,
    charged: false,
    problem: {},
  });
  assert.equal(error.name, "UpstreamError");
});
