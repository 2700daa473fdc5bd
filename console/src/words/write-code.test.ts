import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { writeCode } from "./write-code.ts";

const search = {
  url: "http://localhost:8080",
  query: `it's "quoted" $HOME \`id\` \\ é`,
  n: 3,
  category: "gov",
  key: "pb_test_1",
};

test("what a person pastes into a shell sends the query as they typed it", () => {
  const script = `curl() { printf '%s\\n' "$@"; }\n${writeCode("curl", search)}`;
  const words = execFileSync("sh", ["-c", script], { encoding: "utf8" }).trimEnd().split("\n");
  assert.deepEqual(JSON.parse(words.at(-1) ?? ""), { query: search.query, n: 3, category: "gov" });
  assert.ok(words.includes("http://localhost:8080/v1/search"));
  assert.ok(words.includes("Authorization: Bearer pb_test_1"));
});

test("without the key at hand the shell takes it from the environment", () => {
  const script = `curl() { printf '%s\\n' "$@"; }\n${writeCode("curl", { ...search, key: undefined })}`;
  const words = execFileSync("sh", ["-c", script], { encoding: "utf8", env: { PENNYBLACK_API_KEY: "pb_live_2" } });
  assert.match(words, /^Authorization: Bearer pb_live_2$/m);
});

test("each language carries the same search, and leaves out what was not chosen", () => {
  assert.match(writeCode("TypeScript", search), /search\("it's .*", \{ n: 3, category: "gov" \}\);/);
  assert.match(writeCode("TypeScript", { url: "u", query: "q" }), /search\("q"\);/);
  assert.match(writeCode("Python", search), /json\.dumps\(\{"query": "it's .*", "n": 3, "category": "gov"\}\)/);
  assert.match(writeCode("Python", { url: "u", query: "q" }), /json\.dumps\(\{"query": "q"\}\)/);
  assert.equal(JSON.parse(writeCode("MCP", search)).mcpServers.pennyblack.env.PENNYBLACK_API_KEY, "pb_test_1");
});
