import assert from "node:assert/strict";
import { test } from "node:test";
import { namesSite, readQueryWords } from "./names-site.ts";

function named(query: string, name: string, labels: string[] = []): string | undefined {
  return namesSite(readQueryWords(query), { name, labels });
}

test("a query that consists of a site's name, in any spacing, is a whole match", () => {
  assert.equal(named("example bank", "examplebank"), "whole");
  assert.equal(named("Example-Bank", "example-bank"), "whole");
  assert.equal(named("examplebank login", "examplebank"), "whole");
  assert.equal(named("general post office", "gpo"), "whole");
  assert.equal(named("Bücher", "bücher"), "whole");
  assert.equal(named("inbox", "example", ["inbox"]), "whole");
});

test("one or two adjacent words of a longer query are a partial match", () => {
  assert.equal(named("example opening hours", "example"), "part");
  assert.equal(named("example bank opening hours", "examplebank"), "part");
});

test("short and generic words match no site", () => {
  assert.equal(named("my tv licence", "tv"), undefined);
  assert.equal(named("free download", "download"), undefined);
  assert.equal(named("inbox rules explained", "example", ["inbox"]), undefined);
  assert.equal(named("", ""), undefined);
});
