import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { describeOutcome } from "./describe-outcome.ts";

test("every problem that a search can have is told in words of its own", () => {
  const text = readFileSync(join(import.meta.dirname, "../../../openapi.json"), "utf8");
  const { paths } = JSON.parse(text) as { paths: Record<string, { post?: { responses: object } }> };
  const codes = [...JSON.stringify(paths["/v1/search"]?.post?.responses).matchAll(/"code":"(\w+)","request_id"/g)].map(
    (match) => match[1] ?? "",
  );
  assert.ok(codes.length > 25, `only ${codes.length} codes were found`);
  for (const code of [...codes, "expired", "caller_left", "released"]) {
    const { happened, todo } = describeOutcome(code);
    assert.doesNotMatch(happened, /^it ended with /, code);
    assert.match(happened, /^[a-z].*[^.]$/, `${code}: stands inside a sentence`);
    assert.match(todo, /^[A-Z].*\.$/, `${code}: is a sentence`);
  }
});

test("a code that this page does not know yet is shown rather than hidden", () => {
  assert.equal(describeOutcome("brand_new").happened, "it ended with brand new");
  assert.equal(describeOutcome("constructor").happened, "it ended with constructor");
});
