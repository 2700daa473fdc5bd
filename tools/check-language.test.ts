// One planted fault for each language rule, and texts that must pass.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { findLanguageViolations } from "./check-language.ts";

const find = (path: string, text: string): string[] => findLanguageViolations(new Map([[path, text]]));

const sentences: [fault: string, text: string][] = [
  ["nobody", "A key that nobody uses expires."],
  ["whoever", "Whoever asks gets an answer."],
  ["no one", "A key that no one uses expires."],
  ["it says", "The row is what it says."],
  ["told", "The owner is told of it."],
  ["tells", "The header tells how much is left."],
  ["stands", "The reason stands in the log."],
  ["What was held is", "What was held is given back."],
  [", also if", "The call counts, also if it fails."],
  ["for as long", "The wallet gets a lane for as long."],
  ["own ID of the", "Send your own ID of the user."],
  ["is one too many", "The comma before the bracket is one too many."],
  ["of its own", "The wallet gets a lane of its own until it cools down."],
  ["anew", "The server reads the file anew."],
];

for (const [fault, text] of sentences) {
  test(`rejects "${fault}" in prose, comments and SQL`, () => {
    for (const [path, line] of [
      ["docs/a.md", text],
      ["server/src/a.ts", `// ${text}`],
      ["server/sql/a.sql", `-- ${text}`],
    ] as const)
      assert.ok(
        find(path, line).some((message) => message.startsWith(`${path}:1: "`)),
        line,
      );
  });
}

test("rejects references to files that do not exist", () => {
  const files = new Map([
    ["server/src/search/search.ts", ""],
    ["README.md", "See `search/search.ts` and server/src/search/search.ts, not `search/story.ts`."],
  ]);
  assert.deepEqual(findLanguageViolations(files), ["README.md:1: there is no file search/story.ts"]);
  assert.deepEqual(find("server/src/a.ts", 'const name = "gone.ts";'), [], "code is not a comment");
});

test("accepts ordinary sentences, questions, data and listed exceptions", () => {
  assert.deepEqual(
    find(
      "docs/a.md",
      "What is a run? It stands for a budget. Standard terms, a stand-in, outstanding, part of its own hour.",
    ),
    [],
  );
  assert.deepEqual(find("server/src/mcp/a.ts", '"Tell the user that the budget is spent."'), []);
  assert.deepEqual(find("server/src/providers/fixtures/a.json", "nobody"), []);
});

test("STYLE.md calls functions that exist", () => {
  const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
  const blocks = [...read("STYLE.md").matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""]) => code);
  const calls = blocks.flatMap((code) => [...code.matchAll(/(?<![\w."])([a-z]\w+)\(/g)].map(([, name = ""]) => name));
  const source = execFileSync("git", ["grep", "-hE", "^ *(export )?(async )?function", "--", "server/src"], {
    cwd: new URL("..", import.meta.url),
    encoding: "utf8",
  });
  const missing = calls.filter((name) => !["assert", "test"].includes(name) && !source.includes(`function ${name}(`));
  assert.ok(calls.includes("parseSearch"));
  assert.deepEqual(missing, []);
});
