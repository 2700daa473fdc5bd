import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

// docs/security.md cites a test for each claim. The cited tests must exist.

const rows = readFileSync("docs/security.md", "utf8")
  .split("\n")
  .filter((line) => /^\| API\d+ /.test(line));

/** Each `file` "name" in a row. */
function citedTests(row: string): { file: string; name: string }[] {
  return [...row.matchAll(/`([\w/.-]+\.test\.ts)` "([^"]+)"/g)].map(([, file = "", name = ""]) => ({ file, name }));
}

test("all ten risks are listed in order, each with a test", () => {
  assert.deepEqual(
    rows.map((row) => Number(/^\| API(\d+)/.exec(row)?.[1])),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
  for (const row of rows) assert.ok(citedTests(row).length > 0, row);
});

test("every cited test exists", () => {
  for (const { file, name } of rows.flatMap(citedTests)) {
    const text = readFileSync(file, "utf8");
    assert.ok(text.includes(`test("${name}"`), `${file} has no test "${name}"`);
  }
});
