import assert from "node:assert/strict";
import { test } from "node:test";
import { find } from "./find.ts";

const pages = [
  { to: "/keys", label: "Keys" },
  { to: "/top-up", label: "Top up" },
];
const keys = [
  { name: "Crawler of news", start: "pb_live_aB3d" },
  { name: "Agent", start: "pb_test_Zz91" },
];
const told = (typed: string): string[] =>
  find(typed, pages, keys).map((found) => {
    if (found.kind === "page") return found.page.label;
    return found.kind === "key" ? found.key.name : found.id;
  });

test("before anything is typed there are the pages", () => {
  assert.deepEqual(told(""), ["Keys", "Top up"]);
});

test("pages and keys are found by any of their words", () => {
  assert.deepEqual(told("up TOP"), ["Top up"]);
  assert.deepEqual(told("news crawl"), ["Crawler of news"]);
  assert.deepEqual(told("pb_live_aB"), ["Crawler of news"]);
  assert.deepEqual(told("pb_test_Zz91restOfTheSecret"), ["Agent"]);
  assert.deepEqual(told("nothing like it"), []);
});

test("a request id is found in whatever was pasted around it", () => {
  const id = "01a1dca0-9422-7d2b-aced-0d68680215be";
  assert.deepEqual(told(`request_id: "${id.toUpperCase()}",`), [id]);
  assert.deepEqual(told("01a1dca0-9422"), []);
});
