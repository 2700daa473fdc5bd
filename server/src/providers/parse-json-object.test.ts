import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJsonObject } from "./parse-json-object.ts";

test("a long text with more than 15,000 values is not parsed", () => {
  const fields = (count: number): string => {
    const names = Array.from({ length: count }, (_, index) => [`name-${index}`, index]);
    return JSON.stringify(Object.fromEntries(names));
  };
  assert.equal(Object.keys(parseJsonObject(fields(15_000)) ?? {}).length, 15_000);
  assert.equal(parseJsonObject(fields(15_001)), undefined);
  assert.equal(parseJsonObject(`{"a":${"[".repeat(60_000)}${"]".repeat(60_000)}}`), undefined);
  assert.equal(parseJsonObject(`{"a":[${"0,".repeat(60_000)}0]}`), undefined);
});

test("a megabyte of prose is parsed", () => {
  const prose = "It is a long text, as pages have them, with a [link] or two (and {braces}) in every other sentence. ";
  const body = { results: [{ content: prose.repeat(500) }, { content: "x".repeat(1_000_000) }] };
  assert.deepEqual(parseJsonObject(JSON.stringify(body)), body);
});
