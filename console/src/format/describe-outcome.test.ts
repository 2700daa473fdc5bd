import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { resolveReferences } from "../../../server/src/api-docs/resolve-references.ts";
import { describeOutcome, formatOutcome } from "./describe-outcome.ts";

test("every problem code of a search has its own text", () => {
  const text = readFileSync(join(import.meta.dirname, "../../../openapi.json"), "utf8");
  const { paths } = resolveReferences(JSON.parse(text) as { paths: Record<string, { post?: { responses: object } }> });
  const codes = [...JSON.stringify(paths["/v1/search"]?.post?.responses).matchAll(/"code":"(\w+)","request_id"/g)].map(
    (match) => match[1] ?? "",
  );
  assert.ok(codes.length > 25, `found only ${codes.length} codes`);
  for (const code of [...codes, "expired", "caller_left", "released"]) {
    const { summary, action } = describeOutcome(code);
    assert.doesNotMatch(summary, /^it failed with /, code);
    assert.match(summary, /^[a-z].*[^.]$/, `${code}: summary`);
    assert.match(action, /^[A-Z].*\.$/, `${code}: action`);
  }
});

test("shows an unknown code instead of hiding it", () => {
  assert.equal(describeOutcome("brand_new").summary, "it failed with brand new");
  assert.equal(describeOutcome("constructor").summary, "it failed with constructor");
});

test("a search that succeeded or is in progress is not described as a failure", () => {
  assert.deepEqual(["ok", "pending", "replayed", "expired"].map(formatOutcome), [
    "Completed",
    "In progress",
    "Replayed",
    "The search expired before it finished",
  ]);
});
