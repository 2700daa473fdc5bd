import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { categories } from "../search/parse-search.ts";

const root = join(import.meta.dirname, "../../..");

// Published packages and examples cannot import the server's list.
for (const file of ["cli/src/search-command.ts", "ai-sdk/src/web-search.ts"]) {
  test(`${file} lists the categories of the server`, () => {
    const text = readFileSync(join(root, file), "utf8");
    const lists = [...text.matchAll(/"programming"[",| a-z]+/g)].map(([list]) => [...list.matchAll(/"([a-z]+)"/g)]);
    const found = lists.map((names) => names.map(([, name]) => name));
    assert.deepEqual(found, [[...categories]], `differs from server/src/search/parse-search.ts: edit ${file}`);
  });
}
