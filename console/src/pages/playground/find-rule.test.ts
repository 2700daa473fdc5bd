import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { findRule, linkToRule } from "./find-rule.ts";

const read = (name: string) => ({
  name,
  text: readFileSync(new URL(`../../../../server/lenses/${name}.lens`, import.meta.url), "utf8"),
});
const lenses = [read("gov"), read("base")];
const find = (url: string, reason: string): string | undefined => findRule(lenses, { url, reason })?.text;

test("finds the line of a lens by reason and host", () => {
  assert.equal(find("https://www.weather.gov/flood", "government"), "$tier=A,suffix=gov,why=government");
  assert.equal(find("https://www.gov.uk/tax", "government"), "$tier=A,suffix=gov.*,why=government");
  assert.equal(find("https://www.ato.gov.au/", "government"), "$tier=A,suffix=gov.*,why=government");
  assert.equal(find("https://ec.europa.eu/info", "government"), "$tier=A,site=europa.eu,why=government");
  assert.equal(find("https://weather.gov/", "unlisted"), undefined);
  assert.equal(find("no url", "government"), undefined);
});

test("gives the number of the line, and links to its text", () => {
  const rule = findRule(lenses, { url: "https://a.edu/", reason: "university" });
  assert.ok(rule);
  assert.equal(rule.lens, "base");
  assert.equal(read("base").text.split("\n")[rule.line - 1], rule.text);
  assert.equal(linkToRule({ ...rule, text: "$a=b-c" }), "/v1/lenses/base#:~:text=%24a%3Db%2Dc");
});
