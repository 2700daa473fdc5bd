import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { findBreakingChanges, type OpenapiDocument } from "./breaking-changes.ts";

const text = readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8");
const parse = (json: string): OpenapiDocument => JSON.parse(json) as OpenapiDocument;
const git = (...args: string[]): string =>
  execFileSync("git", ["-c", "safe.directory=*", ...args], { cwd: import.meta.dirname, encoding: "utf8" });

test("openapi.json does not break clients of the last release", () => {
  const [tag] = git("tag", "--list", "v*", "--sort=-version:refname", "--merged").trim().split("\n");
  if (!tag) return;
  const released = parse(git("show", `${tag}:openapi.json`));
  assert.deepEqual(findBreakingChanges(released, parse(text)), [], `compared with ${tag}; see docs/stability.md`);
});

test("a document does not break clients of the same document", () => {
  assert.deepEqual(findBreakingChanges(parse(text), parse(text)), []);
});

type Json = Record<string, unknown>;

/** The document with another value at this path, or without it if the value is undefined. */
function withValue(path: readonly string[], value: unknown): OpenapiDocument {
  const document = parse(text);
  const parent = path.slice(0, -1).reduce((json, name) => json[name] as Json, document as unknown as Json);
  const name = path.at(-1) ?? "";
  assert.notDeepEqual(parent[name], value);
  if (value === undefined) delete parent[name];
  else parent[name] = value;
  return document;
}

const search = ["paths", "/v1/search", "post"];
const schemas = ["components", "schemas"];
const body = [...schemas, "SearchRequest"];
const answer = [...schemas, "SearchResponse"];
const header = (required: boolean) => ({ name: "Search-Team", in: "header", required, schema: { type: "string" } });

const breaking: [expected: RegExp, document: OpenapiDocument][] = [
  [/^POST \/v1\/search was removed$/, withValue(["paths", "/v1/search"], undefined)],
  [/requires another scope/, withValue([...search, "x-required-scope"], "wallet:read")],
  [/parameter Search-Run was removed/, withValue([...search, "parameters"], [])],
  [/parameter Search-Team became required/, withValue([...search, "parameters"], [header(true)])],
  [/request n was removed/, withValue([...body, "properties", "n"], undefined)],
  [/request n became required/, withValue([...body, "required"], ["query", "n"])],
  [/request n has a narrower range/, withValue([...body, "properties", "n", "maximum"], 10)],
  [/request n has another type/, withValue([...body, "properties", "n", "type"], "string")],
  [/request category lost a value/, withValue([...schemas, "Category", "enum"], ["gov"])],
  [/200 n was removed/, withValue([...answer, "properties", "n"], undefined)],
  [/200 n became optional/, withValue([...answer, "required"], ["query", "results"])],
  [/200 n has another type/, withValue([...answer, "properties", "n", "type"], ["integer", "null"])],
  [/200 header Wallet-Charge was removed/, withValue([...search, "responses", "200", "headers"], {})],
];

const compatible: [name: string, document: OpenapiDocument][] = [
  ["a new operation", withValue(["paths", "/v1/new"], { get: { responses: {} } })],
  ["a new optional field", withValue([...body, "properties", "safe"], { type: "boolean" })],
  ["a wider range", withValue([...body, "properties", "n", "maximum"], 50)],
  ["a new field in a response", withValue([...answer, "properties", "took"], { type: "integer" })],
  [
    "a new value in a request",
    withValue([...schemas, "Category", "enum"], ["programming", "research", "gov", "business", "news"]),
  ],
  ["another error", withValue([...search, "responses", "503"], undefined)],
];

for (const [expected, changed] of breaking)
  test(`found: ${expected.source}`, () => {
    assert.match(findBreakingChanges(parse(text), changed).join("\n"), new RegExp(expected, "m"));
  });

for (const [name, changed] of compatible)
  test(`compatible: ${name}`, () => {
    assert.deepEqual(findBreakingChanges(parse(text), changed), []);
  });
