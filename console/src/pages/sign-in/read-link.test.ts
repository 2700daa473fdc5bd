import assert from "node:assert/strict";
import { test } from "node:test";
import { readLink } from "./read-link.ts";

test("a link's token and the way back are read from behind the #", () => {
  assert.deepEqual(readLink("#token=a-b_c&return_to=%2Fconsole%2Fconfirmed"), {
    token: "a-b_c",
    returnTo: "/console/confirmed",
  });
  assert.deepEqual(readLink("token=abc"), { token: "abc", returnTo: undefined });
});

test("a fragment without a token is no link", () => {
  for (const fragment of ["", "#", "#content", "#token=", "#return_to=/console/"]) {
    assert.equal(readLink(fragment), undefined, fragment);
  }
});
