import assert from "node:assert/strict";
import { test } from "node:test";
import { consoleProblems } from "../../server/src/console-problems.ts";
import { problemCodes, problems, type ProblemCode as ServerCode } from "../../server/src/problems.ts";
import { makeError, PennyblackError, type ProblemCode } from "./errors.ts";

// `npm run types` fails here when the server has a code that the SDK does not know, but for those that only a person in
// a browser meets.
const codes: readonly ProblemCode[] = problemCodes.filter(
  (code): code is Exclude<ServerCode, keyof typeof consoleProblems> => !(code in consoleProblems),
);

const kinds: [kind: string, codes: RegExp][] = [
  ["AuthenticationError", /^(?:api_key_|authentication_required)/],
  ["BalanceError", /^(?:insufficient_balance|balance_reserved)$/],
  ["BudgetError", /_budget_spent$/],
  ["PermissionError", /^(?:insufficient_scope|ip_not_allowed|account_suspended)$/],
  ["RateLimitError", /^(?:rate|concurrency)_limited$/],
  ["UpstreamError", /^upstream_/],
  ["ServerError", /^(?:internal_error|overloaded|shutting_down|\w+_unavailable|payments_not_configured)$/],
];

test("every problem of the server has a kind that a caller can act on", () => {
  for (const code of codes) {
    const { status, retryable, detail } = problems[code as ServerCode];
    const error = makeError({ code, status, detail, retryable, charged: false, problem: {}, requestId: "r-1" });
    const kind = kinds.find(([, pattern]) => pattern.test(code))?.[0] ?? "RequestError";
    assert.equal(error.constructor.name, kind, code);
    assert.ok(error instanceof PennyblackError && error instanceof Error);
    assert.equal(error.message, `${detail} [${code}, request r-1]`);
    assert.equal(error.name, kind);
  }
});

test("an upstream's forwarded 429 is the upstream's, not the caller's", () => {
  const error = makeError({
    code: "upstream_error",
    status: 429,
    detail: "",
    retryable: true,
    charged: false,
    problem: {},
  });
  assert.equal(error.name, "UpstreamError");
});
