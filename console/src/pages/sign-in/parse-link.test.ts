import assert from "node:assert/strict";
import { test } from "node:test";
import { parseLink } from "./parse-link.ts";

test("parses the token and return path from the fragment", () => {
  assert.deepEqual(parseLink("#token=a-b_c&return_to=%2Fconsole%2Fconfirmed"), {
    token: "a-b_c",
    email: undefined,
    returnTo: "/console/confirmed",
  });
  assert.deepEqual(parseLink("token=abc"), { token: "abc", email: undefined, returnTo: undefined });
});

test("a fragment without a token is not a link", () => {
  for (const fragment of ["", "#", "#content", "#token=", "#return_to=/console/"]) {
    assert.equal(parseLink(fragment), undefined, fragment);
  }
});

test("reads the address from the end of the token", () => {
  const random = "x".repeat(43);
  for (const email of ["ada@example.org", "o'neil+a?b>c~@example.co.uk"]) {
    const token = random + Buffer.from(email).toString("base64url");
    assert.equal(parseLink(`#token=${token}`)?.email, email);
  }
  for (const end of ["", "*", "A", "w7_Dv8O_"])
    assert.equal(parseLink(`#token=${random}${end}`)?.email, undefined, end);
});
