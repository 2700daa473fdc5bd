import assert from "node:assert/strict";
import { test } from "node:test";
import { readSchemaFiles } from "./schema-files.ts";

const maxLines = 70;

/** Without comments and blank lines. */
function countLines(sql: string): number {
  return sql.split("\n").filter((line) => !/^\s*(--.*)?$/.test(line)).length;
}

test(`a SQL function has at most ${maxLines} lines`, () => {
  const functions = readSchemaFiles()
    .objects.flatMap(({ text }) => text.split(/^(?=create or replace function )/m))
    .filter((part) => part.startsWith("create or replace function "))
    .map((part) => part.split(/^(?:\$\$;|end;)$/m)[0] ?? "");
  assert.ok(functions.length > 150, `${functions.length} functions`);
  assert.deepEqual(
    functions.filter((text) => countLines(text) > maxLines).map((text) => text.slice(0, text.indexOf("("))),
    [],
  );
});
