import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { PennyblackError, type Problem as SdkProblem } from "@pennyblack/sdk";
import { Type } from "typebox";
import { formatFailure } from "../../../ai-sdk/src/model-text.ts";
import { formatProblem } from "../../src/mcp/tool-output.ts";
import { instructions, listTools } from "../../src/mcp/tools.ts";
import { exampleProblem, type Problem, problemCodes } from "../../src/problems/problems.ts";
import { holdOutcomeToProblem } from "../../src/search/hold-problem.ts";
import { llmsText } from "../../src/sites/llms-text.ts";

// A model follows suggestions in error messages. No text that a model reads may suggest a higher limit or a way around it.

const suggestion =
  /\b(?:rais(?:e|es|ed|ing)|increas\w*|(?:higher|larger|bigger)(?! than)|(?:new|another|different) run|more budget)\b/i;
const prohibition = /\b(?:do not|never|cannot)\b/i;

function findSuggestions(text: string): string[] {
  return text.split(/[.;:\n]+\s/).filter((sentence) => suggestion.test(sentence) && !prohibition.test(sentence));
}

const limits = [
  "key_budget_spent",
  "run_budget_spent",
  "end_user_budget_spent",
  "insufficient_balance",
  "balance_reserved",
] as const;

/** Refusals by a shared budget, whose text names it, and the example of every code. */
function listProblems(): Problem[] {
  const refusal = { balance: 0n, owed: 1n, limit: 20_000n, spent: 20_000n, resetsAt: null };
  const budget = { id: "0199b3a4-6f10-7c2e-9d51-2f6a1c0e8b01", name: "Research team", period: "week" as const };
  const refused = limits.map((outcome) =>
    holdOutcomeToProblem({ outcome, ...refusal, budget }, "nightly", {
      topUpUrl: "https://search.test/top-up",
      publicUrl: "https://search.test",
      walletId: "0199b3a4-6f10-7c2e-9d51-2f6a1c0e8b02",
    }),
  );
  return [...refused, ...problemCodes.map((code) => exampleProblem(code))];
}

const conversation = { max: "0.50", asked: false };

function toSdkError({ code, status, detail, retryable, members }: Problem): PennyblackError {
  const problem = { code, status, detail, ...members } as unknown as SdkProblem;
  return new PennyblackError({ code, detail, charged: false, retryable, problem, status });
}

test("no text for models suggests a higher limit or another run", () => {
  const texts = listProblems().flatMap((problem) => [
    problem.detail,
    formatProblem(problem, "request", []),
    formatProblem(problem, "request", [], true),
    formatFailure(toSdkError(problem), conversation),
    formatFailure(toSdkError(problem), { ...conversation, asked: true }),
  ]);
  texts.push(instructions, JSON.stringify(listTools(Type.Object({ query: Type.String() }), true)));
  texts.push(llmsText({ publicUrl: "https://search.test", hasDocs: true }));
  const skills = globSync("skills/**/*.md");
  assert.ok(skills.length > 0);
  texts.push(...skills.map((path) => readFileSync(path, "utf8")));
  assert.deepEqual(texts.flatMap(findSuggestions), []);
});

test("the text for a spent budget is to finish with what the model has", () => {
  const spent = listProblems().filter(({ code }) => code.endsWith("_budget_spent"));
  assert.ok(spent.length > 3);
  for (const problem of spent) {
    assert.match(problem.detail, /You were not charged\. Finish with the results you have/);
    const texts = [formatProblem(problem, "request", []), formatFailure(toSdkError(problem), conversation)];
    for (const text of texts) assert.match(text, /Next step: do not search again.*\. Finish with what you have, and/);
  }
});

test("the search finds suggestions, but not prohibitions", () => {
  assert.equal(findSuggestions("You were not charged. Start a new run with a higher `max`.").length, 1);
  assert.equal(findSuggestions("Ask the owner to raise it.").length, 1);
  assert.equal(findSuggestions("Do not start another run to continue.").length, 0);
});
