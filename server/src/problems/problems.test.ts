import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { resolveReferences } from "../api-docs/resolve-references.ts";
import { consoleProblems } from "./console-problems.ts";
import { exampleProblem, Problem, type ProblemCode, problemCodes, problemRow } from "./problems.ts";

const readText = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

/** Fails with the name of the file to edit when its list of codes differs. */
function assertSameCodes(path: string, actual: readonly string[], expected: readonly string[], hint = ""): void {
  const missing = expected.filter((code) => !actual.includes(code));
  const unknown = actual.filter((code) => !expected.includes(code));
  const faults = [...missing.map((code) => `add ${code}`), ...unknown.map((code) => `remove ${code}`)];
  assert.deepEqual(faults, [], `edit ${path} to match server/src/problems/problems.ts: ${faults.join(", ")}${hint}`);
}

test("every detail is complete: its placeholders have values, and it has at most three sentences", () => {
  for (const code of problemCodes) {
    const { detail } = exampleProblem(code);
    assert.doesNotMatch(detail, /[{}]|undefined/, code);
    assert.ok(detail.endsWith(".") && detail.split(/(?<=\.) (?=[A-Z`])/).length <= 3, `${code}: ${detail}`);
    assert.match(problemRow(code).title, /^[A-Z][^.]{1,40}$/, code);
  }
});

test("every problem of a search states that nothing was charged, and no other problem does", () => {
  const others: ProblemCode[] = [
    ...([
      "not_found",
      "method_not_allowed",
      "key_limit_reached",
      "key_not_active",
      "budget_in_use",
      "budget_limit_reached",
      "budget_requests_open",
    ] as const),
    ...(["payments_not_configured", "payment_processor_unavailable", "receipts_not_configured"] as const),
    ...(Object.keys(consoleProblems) as ProblemCode[]),
  ];
  for (const code of problemCodes) {
    const { detail, detailWithoutCharge } = exampleProblem(code);
    assert.equal(/ You were not charged(?:\.| for this request\.)/.test(detail), !others.includes(code), code);
    if (code !== "idempotency_in_progress") assert.doesNotMatch(detailWithoutCharge, /charged/, code);
  }
});

test("only a problem that resolves by itself is retryable, and only then with Retry-After", () => {
  for (const code of problemCodes) {
    const { retryable, retryAfterSeconds } = exampleProblem(code);
    if (!retryable) assert.equal(retryAfterSeconds, undefined, code);
    if (/not_configured|insufficient|invalid|required|spent/.test(code) && code !== "upstream_invalid_response") {
      assert.equal(retryable, false, code);
    }
  }
  const overridden = new Problem("rate_limited", { retryable: false, retryAfterSeconds: 5 });
  assert.equal(overridden.retryAfterSeconds, undefined);
});

test("the example of a spent budget resets in the future", () => {
  for (const now of [new Date("2026-12-31T23:59:59.999Z"), new Date()]) {
    for (const code of ["key_budget_spent", "run_budget_spent"] as const) {
      const { resets_at: resetsAt } = exampleProblem(code, now).members as { resets_at: string };
      const leftMs = Date.parse(resetsAt) - now.getTime();
      assert.ok(leftMs > 0 && leftMs <= 86_400_000, resetsAt);
    }
  }
});

test("the console describes exactly the outcomes that a search can have", () => {
  const path = "console/src/format/describe-outcome.ts";
  const codes = [...readText(path).matchAll(/^ {2}(\w+): \{/gm)].map(([, code = ""]) => code);
  const openapi = resolveReferences(JSON.parse(readText("openapi.json")));
  const responses = Object.values<{ content?: Record<string, { examples?: object }> }>(
    openapi.paths["/v1/search"].post.responses,
  );
  const problems = responses.flatMap(({ content }) =>
    Object.keys(content?.["application/problem+json"]?.examples ?? {}),
  );
  const hint = ". If a search cannot return it, edit otherProblems in server/src/search/search-routes.ts instead";
  // The playground of the console refuses viewers.
  assertSameCodes(path, codes, [...problems, "insufficient_role", "expired", "caller_left", "released"], hint);
});
