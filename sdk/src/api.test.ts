import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { CreatedKey, Key, Problem, SearchRequest } from "./api.ts";

const text = readFileSync(new URL("api.ts", import.meta.url), "utf8");

test("the generated file has a named type for each resource", () => {
  const names = [...text.matchAll(/^export type (\w+) = /gm)].map(([, name]) => name);
  const resources =
    "SearchRequest SearchResponse SearchResult Search Run Lens Wallet WalletSummary Entry AlertSettings UsageReport " +
    "UsagePeriod Key KeyBudget CreatedKey CreateKeyRequest UpdateKeyRequest TopUp AutoTopUp Webhook CreatedWebhook " +
    "Delivery Receipt WalletProof Problem ProblemCode";
  assert.deepEqual(
    resources.split(" ").filter((name) => !names.includes(name)),
    [],
  );
});

test("the code of a problem determines its members, and a misspelled field does not compile", () => {
  const readReset = (problem: Problem): string | null | undefined =>
    problem.code === "key_budget_spent" ? problem.resets_at : undefined;
  const readMinimum = (problem: Problem): string | undefined =>
    problem.code === "insufficient_balance" ? problem.top_up.minimum : undefined;
  // @ts-expect-error: only some codes have it.
  const readAny = (problem: Problem): unknown => problem.resets_at;
  // @ts-expect-error: misspelled.
  const readName = (key: Key): string => key.nmae;
  const request: SearchRequest = { query: "cats" };
  const toKey = (key: CreatedKey): Key => key;
  assert.ok([readReset, readMinimum, readAny, readName, request, toKey].every(Boolean));
});
