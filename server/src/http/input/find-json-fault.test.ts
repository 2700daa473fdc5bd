import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../test/support/data/fast-check.ts";
import { findJsonFault } from "./find-json-fault.ts";

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test("reports the line, the column and the fault", () => {
  for (const [text, position, detail] of [
    ["", "1:1", /the body is empty/],
    [" \n\t", "2:2", /the body is empty/],
    ["{", "1:2", /ends before the `{` at line 1, column 1 is closed/],
    ['{"a":[1,\n2', "2:2", /ends before the `\[` at line 1, column 6/],
    ['{"a"', "1:5", /ends before the `{`/],
    ['{"a', "1:4", /ends inside the string that starts at line 1, column 2/],
    ["{'a':1}", "1:2", /double quotes/],
    ["{\"a\":'b'}", "1:6", /double quotes/],
    ["{`a`:1}", "1:2", /double quotes/],
    ["{“a”:1}", "1:2", /typographic/],
    ["{a:1}", "1:2", /field name in double quotes/],
    ['{"a":1,}', "1:8", /the comma before `}`/],
    ["[1,]", "1:4", /the comma before `]`/],
    ["[1,,2]", "1:4", /missing value before `,`/],
    ['{"a":}', "1:6", /missing value before `}`/],
    ['{"a" 1}', "1:6", /missing colon/],
    ['{"a"=1}', "1:5", /missing colon/],
    ['{"a":1 "b":2}', "1:8", /missing comma before this string/],
    ['{"a":1 b}', "1:8", /expected a comma or `}`/],
    ["[1 2]", "1:4", /expected a comma or `]`/],
    ['{"a":[1}', "1:8", /expected a comma or `]`/],
    ['{"a":True}', "1:6", /`True` is not JSON; write `true`/],
    ['{"a":None}', "1:6", /write `null`/],
    ['{"a":undefined}', "1:6", /write `null`/],
    ['{"a":cats}', "1:6", /strings need double quotes/],
    ["cats", "1:1", /expected a JSON object/],
    ['{"a":01}', "1:7", /must not start with 0/],
    ['{"a":+1}', "1:6", /the number is not valid/],
    ['{"a":.5}', "1:6", /the number is not valid/],
    ['{"a":-}', "1:6", /the number is not valid/],
    ['{"a":1} x', "1:9", /text after the end/],
    ['{"a":1}{}', "1:8", /text after the end/],
    ['// a\n{"a":1}', "1:1", /comments/],
    ['{"a":1, // b\n}', "1:9", /comments/],
    ['{"a":1 /* b */}', "1:8", /comments/],
    ['{"a":"b\nc"}', "1:8", /line break/],
    ['{"a":"b\tc"}', "1:8", /control character/],
    ['{"a":"\\x"}', "1:7", /valid escape/],
    ['{"a":"\\u12"}', "1:7", /valid escape/],
    ['{"🙂🙂":1,\r\n "é": tru}', "2:7", /expected a value/],
  ] as const) {
    const fault = findJsonFault(text);
    assert.ok(fault, text);
    assert.equal(`${fault.line}:${fault.column}`, position, text);
    assert.match(fault.detail, detail, text);
  }
});

// Texts that are nearly JSON, with some characters inserted, removed or replaced.
const json = fc.json({ maxDepth: 3 });
const snippet = fc.constantFrom(
  '"',
  "'",
  ",",
  ":",
  "{",
  "}",
  "[",
  "]",
  "\\",
  "0",
  "1",
  "-",
  ".",
  "e",
  "t",
  "true",
  "null",
  " ",
  "\n",
  "\u0001",
  "é",
);
const almostJson = fc
  .tuple(json, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 2 }), snippet), { maxLength: 3 }))
  .map(([text, edits]) =>
    edits.reduce((edited, [position, length, inserted]) => {
      const at = edited.length === 0 ? 0 : position % edited.length;
      return edited.slice(0, at) + inserted + edited.slice(at + length);
    }, text),
  );

test("finds a fault exactly where JSON.parse does", () => {
  fc.assert(
    fc.property(fc.oneof(almostJson, json, fc.string()), (text) => {
      assert.equal(findJsonFault(text) === undefined, isJson(text), text);
    }),
    { numRuns: 5_000 },
  );
});

test("scans the largest body without recursion and in linear time", () => {
  for (const text of [
    "[".repeat(16_384),
    `${'{"a":'.repeat(3_000)}1`,
    `{"a":"${"\\\\".repeat(8_000)}`,
    `[${"1,".repeat(8_000)}`,
    `{"a":"${"x".repeat(16_000)}`,
    "\n".repeat(16_384),
  ]) {
    const before = process.threadCpuUsage();
    assert.ok(findJsonFault(text));
    // Quadratic work on 16 KiB would take tens of seconds with the many small tokens above.
    assert.ok(process.threadCpuUsage(before).user < 5_000_000, text.slice(0, 20));
  }
});
