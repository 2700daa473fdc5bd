import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { formatCodeSample } from "./format-code-sample.ts";

const search = {
  url: "http://localhost:8080",
  query: `it's "quoted" $HOME \`id\` \\ é`,
  n: 3,
  category: "gov",
  key: "pb_test_1",
};

test("the curl sample sends special characters unchanged", () => {
  const script = `curl() { printf '%s\\n' "$@"; }\n${formatCodeSample("curl", search)}`;
  const argv = execFileSync("sh", ["-c", script], { encoding: "utf8" }).trimEnd().split("\n");
  assert.deepEqual(JSON.parse(argv.at(-1) ?? ""), { query: search.query, n: 3, category: "gov" });
  assert.ok(argv.includes("http://localhost:8080/v1/search"));
  assert.ok(argv.includes("Authorization: Bearer pb_test_1"));
});

test("the curl sample reads an unknown key from the environment", () => {
  const script = `curl() { printf '%s\\n' "$@"; }\n${formatCodeSample("curl", { ...search, key: undefined })}`;
  const argv = execFileSync("sh", ["-c", script], { encoding: "utf8", env: { PENNYBLACK_API_KEY: "pb_live_2" } });
  assert.match(argv, /^Authorization: Bearer pb_live_2$/m);
});

test("each language sends the same search and omits options that are not set", () => {
  assert.match(formatCodeSample("TypeScript", search), /search\("it's .*", \{ n: 3, category: "gov" \}\);/);
  assert.match(formatCodeSample("TypeScript", { url: "u", query: "q" }), /search\("q"\);/);
  assert.match(formatCodeSample("Python", search), /json\.dumps\(\{"query": "it's .*", "n": 3, "category": "gov"\}\)/);
  assert.match(formatCodeSample("Python", { url: "u", query: "q" }), /json\.dumps\(\{"query": "q"\}\)/);
  assert.equal(JSON.parse(formatCodeSample("MCP", search)).mcpServers.pennyblack.env.PENNYBLACK_API_KEY, "pb_test_1");
});
