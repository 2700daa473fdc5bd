import assert from "node:assert/strict";
import { test } from "node:test";
import { readErrorTexts } from "./read-error-texts.ts";

function read(body: unknown): string[] {
  return readErrorTexts(JSON.stringify(body));
}

test("finds a code at the top level, inside the error and in a list of errors", () => {
  for (const body of [
    { code: "EMPTY" },
    { error: "EMPTY" },
    { error: { code: "EMPTY" } },
    { detail: { error: "EMPTY" } },
    { errors: [{ tag: "EMPTY" }] },
  ]) {
    assert.deepEqual(read(body), ["EMPTY"]);
  }
});

test("ignores fields that can contain the caller's text", () => {
  assert.deepEqual(read({ query: "EMPTY", error: { input: "EMPTY", meta: { code: "EMPTY" } } }), []);
  assert.deepEqual(read([{ code: "EMPTY" }]), []);
  assert.deepEqual(readErrorTexts("<h1>EMPTY</h1>"), []);
});
