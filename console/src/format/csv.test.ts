import assert from "node:assert/strict";
import { test } from "node:test";
import { toCsv } from "./csv.ts";

test("quotes a cell only when necessary", () => {
  assert.equal(
    toCsv([
      ["a", 'say "b", c'],
      ["1", "-0.01"],
    ]),
    'a,"say ""b"", c"\r\n1,-0.01\r\n',
  );
});

test("escapes cells that a spreadsheet would run as a formula", () => {
  assert.equal(toCsv([["=cmd()", "+1", "@x", "-a"]]), "'=cmd(),'+1,'@x,'-a\r\n");
});
