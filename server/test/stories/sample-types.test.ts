import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCodeSample } from "../../../console/src/format/format-code-sample.ts";
import { findTypeErrors, readTypeSamples } from "../support/docs/check-sample-types.ts";

// docs.test.ts, sdk.test.ts and examples.test.ts run the same samples; Node ignores their types.

test("every TypeScript sample compiles with tsc --strict in an empty project with the packed SDK", () => {
  const samples = readTypeSamples();
  const sources = new Set(samples.map(({ source }) => source));
  for (const source of [
    "docs/quickstart.md",
    "docs/errors.md",
    "sdk/README.md",
    "ai-sdk/README.md",
    "examples/ai-sdk-tool.ts",
  ]) {
    assert.ok(sources.has(source), `${source} has no sample`);
  }
  const url = "http://localhost:8080";
  const shownByConsole = [
    formatCodeSample("TypeScript", { url, query: "q" }),
    formatCodeSample("TypeScript", { url, query: `"quoted" \\`, n: 3, category: "gov", key: "pb_test_1" }),
  ].map((text) => ({ source: "console/src/format/format-code-sample.ts", line: 0, text }));
  assert.deepEqual(findTypeErrors([...samples, ...shownByConsole], ["ai"]), []);
});

test("a misspelled member, option or code is reported with its place", () => {
  const text = [
    `import { Pennyblack, PennyblackError } from "@pennyblack/sdk";`,
    `const client = new Pennyblack({ apiKey: process.env.ANY_NAME });`,
    `for await (const key of client.keys.list()) console.log(key.nmae);`,
    `await client.search("q", { categories: "gov" });`,
    `export const read = (error: PennyblackError) => error.is("no_such_code");`,
  ].join("\n");
  const errors = findTypeErrors([{ source: "page.md", line: 10, text }]);
  assert.deepEqual(
    errors.map((error) =>
      error
        .split(":")
        .slice(0, 2)
        .join(":")
        .replace(/ TS\d+$/, ""),
    ),
    ["page.md:13", "page.md:14", "page.md:15"],
    errors.join("\n"),
  );
});
