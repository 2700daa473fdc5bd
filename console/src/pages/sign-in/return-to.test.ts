import assert from "node:assert/strict";
import { test } from "node:test";
import { safeReturnTo } from "./return-to.ts";

test("returns to the requested page after sign-in", () => {
  assert.equal(safeReturnTo("/console/w/1/ledger?kind=search"), "/console/w/1/ledger?kind=search");
  assert.equal(safeReturnTo("/console/confirmed"), "/console/confirmed");
  assert.equal(safeReturnTo(undefined), "/console/");
});

test("rejects URLs outside the console", () => {
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
  for (const trap of traps) assert.equal(safeReturnTo(trap), "/console/", trap);
});

test("drops the fragment and paths that are too long for the server", () => {
  assert.equal(safeReturnTo("/console/w/1#content"), "/console/w/1");
  assert.equal(safeReturnTo(`/console/w/1?q=${"x".repeat(512)}`), "/console/");
});

test("rejects the sign-in page and the API", () => {
  assert.equal(safeReturnTo("/console/sign-in?return_to=/console/sign-in"), "/console/");
  assert.equal(safeReturnTo("/console/api/session"), "/console/");
});
