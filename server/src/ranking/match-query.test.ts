import assert from "node:assert/strict";
import { test } from "node:test";
import { matchQuery, readTerms } from "./match-query.ts";
import { splitWords } from "./names-site.ts";

function levelOf(query: string, title: string, snippet = ""): number {
  return matchQuery({ title, snippet }, readTerms(splitWords(query)));
}

test("a title with every term matches best, then title and snippet together", () => {
  assert.equal(levelOf("advisory locks", "13.3. Advisory Locks"), 2);
  assert.equal(levelOf("advisory locks", "Locking", "Advisory locks are useful"), 1);
  assert.equal(levelOf("advisory locks", "Explicit locking", "lock modes"), 0);
  assert.equal(levelOf("advisory locks", "", ""), 0);
});

test("stop words and endings do not count", () => {
  assert.deepEqual(readTerms(["how", "to", "pin", "the", "packages"]), ["pin", "packag"]);
  assert.deepEqual(readTerms(["querying", "queries", "query", "logs", "string"]), ["query", "quer", "log", "string"]);
  assert.equal(levelOf("create a database", "Creating databases"), 2);
  assert.deepEqual(readTerms(["the", "who"]), ["the", "who"]);
});

test("a term matches at the start of a word, and a term of one or two letters only a whole word", () => {
  assert.equal(levelOf("lock", "Deadlocks and blocks"), 0);
  assert.equal(levelOf("lock", "Deadlocks, and locking"), 2);
  assert.equal(levelOf("go", "Google"), 0);
  assert.equal(levelOf("go", "The Go language"), 2);
  assert.equal(levelOf("go", "google or go"), 2);
});

test("languages without spaces match anywhere", () => {
  assert.equal(levelOf("天气预报", "今日天气预报"), 2);
  assert.equal(levelOf("über", "Gegenüber"), 0);
});

test("without terms, every page is on the same level", () => {
  assert.deepEqual([levelOf("", "A title"), levelOf("?!", "")], [2, 2]);
});
