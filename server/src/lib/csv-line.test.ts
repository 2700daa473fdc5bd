import assert from "node:assert/strict";
import { test } from "node:test";
import { csvLine } from "./csv-line.ts";

test("quotes cells as RFC 4180 requires", () => {
  assert.equal(csvLine(["plain", "a,b", 'say "hi"', "two\nlines", ""]), 'plain,"a,b","say ""hi""","two\nlines",\r\n');
});

test("escapes formulas and leaves numbers unchanged", () => {
  assert.equal(
    csvLine(["=1+1", "+1", "@cmd", "-cmd", "|x", "\tx", '=A1,"x"', "-1e5"]),
    `'=1+1,'+1,'@cmd,'-cmd,'|x,'\tx,"'=A1,""x""",'-1e5\r\n`,
  );
  assert.equal(csvLine(["-0.01", "0.01", "-12"]), "-0.01,0.01,-12\r\n");
});
