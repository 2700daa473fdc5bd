import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

// docs/security.md names the test behind each claim. A test that was renamed or deleted must not go on being named.

const rows = readFileSync("docs/security.md", "utf8")
  .split("\n")
  .filter((line) => /^\| API\d+ /.test(line));

/** Each `file` "name" in a row. */
function proofsIn(row: string): { file: string; name: string }[] {
  return [...row.matchAll(/`([\w/.-]+\.test\.ts)` "([^"]+)"/g)].map(([, file = "", name = ""]) => ({ file, name }));
}

test("all ten risks are there, in their order, each with a proof", () => {
  assert.deepEqual(
    rows.map((row) => Number(/^\| API(\d+)/.exec(row)?.[1])),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
  for (const row of rows) assert.ok(proofsIn(row).length > 0, row);
});

test("every test that is named exists under that name", () => {
  for (const { file, name } of rows.flatMap(proofsIn)) {
    const text = readFileSync(file, "utf8");
    assert.ok(text.includes(`test("${name}"`), `${file} has no test "${name}"`);
  }
});
