import assert from "node:assert/strict";
import { test } from "node:test";
import { namesSite, readQueryWords, splitWords } from "./names-site.ts";

function named(query: string, name: string, labels: string[] = []): string | undefined {
  return namesSite(readQueryWords(splitWords(query)), { name, labels });
}

function namedFirst(query: string, name: string): string | undefined {
  return namesSite(readQueryWords(splitWords(query)), { name, labels: [], isFirst: true });
}

test("a query that consists of a site's name, in any spacing, is a whole match", () => {
  assert.equal(named("example bank", "examplebank"), "exact-name");
  assert.equal(named("Example-Bank", "example-bank"), "exact-name");
  assert.equal(named("examplebank login", "examplebank"), "exact-name");
  assert.equal(named("general post office", "gpo"), "exact-name");
  assert.equal(named("new sample times", "nstimes"), "exact-name");
  assert.equal(named("Bücher", "bücher"), "exact-name");
  assert.equal(named("inbox", "example", ["inbox"]), "exact-name");
});

test("one or two adjacent words of a longer query are a partial match", () => {
  assert.equal(named("example opening hours", "example"), "navigational");
  assert.equal(named("example bank opening hours", "examplebank"), "navigational");
});

test("short and generic words match no site", () => {
  assert.equal(named("my tv licence", "tv"), undefined);
  assert.equal(named("free download", "download"), undefined);
  assert.equal(named("inbox rules explained", "example", ["inbox"]), undefined);
  assert.equal(named("", ""), undefined);
});

test("two letters and one misspelled letter name only the upstream's first result", () => {
  assert.equal(namedFirst("xy printer drivers", "xy"), "navigational");
  assert.equal(namedFirst("example airlines", "ea"), "exact-name");
  assert.equal(named("xy printer drivers", "xy"), undefined);
  for (const query of ["exmaple", "exampel login", "examples", "exampe", "axample shop hours"]) {
    assert.equal(namedFirst(query, "example"), "navigational", query);
    assert.equal(named(query, "example"), undefined, query);
  }
  for (const query of ["exmapel", "examplary", "sample", "exam"]) assert.equal(namedFirst(query, "example"), undefined);
  assert.equal(namedFirst("beet soup", "beef"), undefined, "short words are more often other words");
});
