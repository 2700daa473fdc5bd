import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { limitNames } from "../problems/exceeded-limit.ts";

test("docs/rate-limits.md has every limit that an error can name", () => {
  const page = readFileSync(new URL("../../../docs/rate-limits.md", import.meta.url), "utf8");
  assert.deepEqual(
    limitNames.filter((name) => !page.includes(`\`${name}\``)),
    [],
    "add a row to server/src/api-docs/render-limits.ts",
  );
});
