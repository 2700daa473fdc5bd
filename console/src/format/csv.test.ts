import assert from "node:assert/strict";
import { test } from "node:test";
import { toCsv } from "./csv.ts";

test("a cell is quoted when it has to be", () => {
  assert.equal(
    toCsv([
      ["a", 'say "b", c'],
      ["1", "-0.01"],
    ]),
    'a,"say ""b"", c"\r\n1,-0.01\r\n',
  );
});

test("a name cannot become a formula in a spreadsheet", () => {
  assert.equal(toCsv([["=cmd()", "+1", "@x", "-a"]]), "'=cmd(),'+1,'@x,'-a\r\n");
});
