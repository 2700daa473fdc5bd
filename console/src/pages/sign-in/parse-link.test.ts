import assert from "node:assert/strict";
import { test } from "node:test";
import { parseLink } from "./parse-link.ts";

test("parses the token and return path from the fragment", () => {
  assert.deepEqual(parseLink("#token=a-b_c&return_to=%2Fconsole%2Fconfirmed"), {
    token: "a-b_c",
    returnTo: "/console/confirmed",
  });
  assert.deepEqual(parseLink("token=abc"), { token: "abc", returnTo: undefined });
});

test("a fragment without a token is not a link", () => {
  for (const fragment of ["", "#", "#content", "#token=", "#return_to=/console/"]) {
    assert.equal(parseLink(fragment), undefined, fragment);
  }
});
