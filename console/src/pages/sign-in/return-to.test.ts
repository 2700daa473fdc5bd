import assert from "node:assert/strict";
import { test } from "node:test";
import { readReturnTo } from "./return-to.ts";

test("after signing in a person goes on to the page that they wanted", () => {
  assert.equal(readReturnTo("/console/w/1/ledger?kind=search"), "/console/w/1/ledger?kind=search");
  assert.equal(readReturnTo("/console/confirmed"), "/console/confirmed");
  assert.equal(readReturnTo(undefined), "/console/");
});

test("no address leads out of the console", () => {
  const traps = [
    "https://evil.example/console/w/1",
    "//evil.example/console/w/1",
    "/\\evil.example",
    "/console/\\..\\..\\evil",
    "/console/../docs/",
    "/console/%2e%2e/v1/search",
    "/consolevil",
    "/console",
    "javascript:alert(1)",
    "\t/console/",
    "/docs/",
    "",
  ];
  for (const trap of traps) assert.equal(readReturnTo(trap), "/console/", trap);
});

test("what the server would not carry in a link is left out", () => {
  assert.equal(readReturnTo("/console/w/1#content"), "/console/w/1");
  assert.equal(readReturnTo(`/console/w/1?q=${"x".repeat(512)}`), "/console/");
});

test("it leads neither back to the door nor to the API", () => {
  assert.equal(readReturnTo("/console/sign-in?return_to=/console/sign-in"), "/console/");
  assert.equal(readReturnTo("/console/api/session"), "/console/");
});
