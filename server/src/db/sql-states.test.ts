import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import test from "node:test";
import { sqlStates } from "./sql-states.ts";

const folder = join(import.meta.dirname, "../../sql");
const files = globSync(`${folder}/*.sql`)
  .filter((path) => basename(path) !== "schema.sql")
  .map((path) => ({ name: basename(path), text: readFileSync(path, "utf8") }));

// "PB001 timeline.sql", once for each code and file.
const raised = [
  ...new Set(files.flatMap(({ name, text }) => codesIn(text, /errcode = '(PB\w+)'/g).map((code) => `${code} ${name}`))),
].toSorted();

test("each of our SQLSTATEs is raised in one file", () => {
  assert.ok(raised.length > 0);
  const codes = raised.map((line) => line.slice(0, 5));
  assert.deepEqual(codes, [...new Set(codes)], raised.join(", "));
});

test("server/sql/README.md lists each SQLSTATE with its file", () => {
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  const rows = [...readme.matchAll(/^\| `(PB\w+)` \| `([\w.-]+)` \|/gm)].map((match) => `${match[1]} ${match[2]}`);
  assert.deepEqual(rows, raised);
});

test("sql-states.ts lists each SQLSTATE", () => {
  assert.deepEqual(
    Object.values(sqlStates).toSorted(),
    raised.map((line) => line.slice(0, 5)),
  );
});

test("SQL catches only SQLSTATEs that are raised", () => {
  const caught = files.flatMap(({ text }) => codesIn(text, /sqlstate '(PB\w+)'/g));
  assert.deepEqual(
    caught.filter((code) => !raised.some((line) => line.startsWith(code))),
    [],
  );
});

function codesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}
