import assert from "node:assert/strict";
import { test } from "node:test";
import { findCommands } from "./find-commands.ts";

const pages = [
  { to: "/keys", label: "Keys" },
  { to: "/top-up", label: "Top up" },
];
const keys = [
  { name: "News crawler", start: "pb_live_aB3d" },
  { name: "Agent", start: "pb_test_Zz91" },
];
const actions = [{ label: "Create key" }, { label: "Use dark theme", keywords: "color scheme" }];
const labels = (text: string): string[] =>
  findCommands(text, { actions, pages, keys }).map((command) => {
    if (command.kind === "action") return command.action.label;
    if (command.kind === "page") return command.page.label;
    return command.kind === "key" ? command.key.name : command.id;
  });

test("lists all actions and pages before any input", () => {
  assert.deepEqual(labels(""), ["Create key", "Use dark theme", "Keys", "Top up"]);
});

test("finds actions by their label and other words for them", () => {
  assert.deepEqual(labels("create"), ["Create key"]);
  assert.deepEqual(labels("color"), ["Use dark theme"]);
  assert.deepEqual(labels("key"), ["Create key", "Keys"]);
});

test("finds pages and keys by any of their words", () => {
  assert.deepEqual(labels("up TOP"), ["Top up"]);
  assert.deepEqual(labels("news crawl"), ["News crawler"]);
  assert.deepEqual(labels("pb_live_aB"), ["News crawler"]);
  assert.deepEqual(labels("pb_test_Zz91restOfTheSecret"), ["Agent"]);
  assert.deepEqual(labels("no match"), []);
});

test("finds a request id inside pasted text", () => {
  const id = "01a1dca0-9422-7d2b-aced-0d68680215be";
  assert.deepEqual(labels(`request_id: "${id.toUpperCase()}",`), [id]);
  assert.deepEqual(labels("01a1dca0-9422"), []);
});
