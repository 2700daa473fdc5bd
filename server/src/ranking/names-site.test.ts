import assert from "node:assert/strict";
import { test } from "node:test";
import { namesSite, readQueryWords } from "./names-site.ts";

function named(query: string, name: string, labels: string[] = []): string | undefined {
  return namesSite(readQueryWords(query), { name, labels });
}

function namedFirst(query: string, name: string): string | undefined {
  return namesSite(readQueryWords(query), { name, labels: [], isFirst: true });
}

test("a query that consists of a site's name, in any spacing, is a whole match", () => {
  assert.equal(named("example bank", "examplebank"), "whole");
  assert.equal(named("Example-Bank", "example-bank"), "whole");
  assert.equal(named("examplebank login", "examplebank"), "whole");
  assert.equal(named("general post office", "gpo"), "whole");
  assert.equal(named("new sample times", "nstimes"), "whole");
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

test("two letters and one misspelled letter name only the upstream's first result", () => {
  assert.equal(namedFirst("xy printer drivers", "xy"), "part");
  assert.equal(namedFirst("example airlines", "ea"), "whole");
  assert.equal(named("xy printer drivers", "xy"), undefined);
  for (const query of ["exmaple", "exampel login", "examples", "exampe", "axample shop hours"]) {
    assert.equal(namedFirst(query, "example"), "part", query);
    assert.equal(named(query, "example"), undefined, query);
  }
  for (const query of ["exmapel", "examplary", "sample", "exam"]) assert.equal(namedFirst(query, "example"), undefined);
  assert.equal(namedFirst("beet soup", "beef"), undefined, "short words are more often other words");
});
