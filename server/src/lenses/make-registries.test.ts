import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { buildLenses } from "../ranking/ranking.ts";
import { readLenses } from "./lenses.ts";
import { diffRegistries, listSources, makeRegistry, parseLists } from "./make-registries.ts";

const texts = new Map([
  [
    "cred-1.csv",
    `domain,score,category,lists
Fabricated.example,0.05,fake,1
www.satire.example,0.27,satire,1
one-mixed.example,0.18,mixed,1
two-mixed.example,0.17,mixed,2
network.example,0.105,unreliable,1
trusted.example,0.78,reliable,1
folder.example/states/al,0.09,unreliable,1`,
  ],
  ["fakenews.csv", "domain\nnetwork.example\nhoax.example"],
  ["copycats.csv", "domain,kind\ncopy.example,stackoverflow_copycats\nempty.example,seo_spam"],
  ["us-government-outside-gov.csv", "domain,level\nagency.example,federal\ntown.example,local\nodd.example,unknown"],
]);
const lists = parseLists(texts);
const registries = listSources.map((source) => ({
  file: `${source.name}.registry`,
  text: makeRegistry(source, lists, "2026-11-16"),
}));

test("a list becomes a registry with its source, terms, date and count", () => {
  const [first] = registries;
  assert.match(first?.text ?? "", /^! name: cred-1\n! title: .+\n! source: https:.+\n! licence: CC BY 4\.0/);
  assert.match(first?.text ?? "", /^! retrieved: 2026-11-16\n! count: 4$/m);
  const text = "! name: base\n! version: 2026-11-15.1\n! lambda: 0.5\n";
  const built = buildLenses([{ file: "base.lens", text }, ...registries]);
  assert.ok(built.ok, JSON.stringify(built));
  const tierOf = (host: string) => built.lenses.get("base")?.classify({ host, path: "/" }).tier;
  assert.deepEqual(
    ["fabricated", "satire", "one-mixed", "two-mixed", "network", "trusted", "folder"].map((name) =>
      tierOf(`${name}.example`),
    ),
    ["D", "D", "N", "D", "N", "N", "N"],
  );
  assert.deepEqual(
    ["hoax", "copy", "empty", "agency", "town", "odd"].map((name) => tierOf(`${name}.example`)),
    ["D", "D", "D", "B", "C", "N"],
  );
});

test("the difference lists domains that were added, removed or moved to another group", () => {
  const before = "! count: 3\n$cap=D,why=one\na.example\nb.example\nc.example";
  const after = "! count: 3\n$cap=D,why=one\na.example\nd.example\n$cap=D,why=two\nb.example";
  assert.deepEqual(diffRegistries(before, after), [
    "~ b.example $cap=D,why=one -> $cap=D,why=two",
    "- c.example $cap=D,why=one",
    "+ d.example $cap=D,why=one",
  ]);
});

const folder = new URL("../../lenses", import.meta.url).pathname;

test("federal sites outside .gov are in tier A or B of the gov lens, and no official site is below neutral", () => {
  const read = readLenses(folder);
  assert.ok(read.ok);
  const gov = read.lenses.get("gov");
  const text = readFileSync(join(folder, "us-government.registry"), "utf8");
  const federal = /^\$lift=B,why=federal-government\n([^$]+)/m.exec(text)?.[1]?.trim().split("\n") ?? [];
  assert.ok(federal.length > 300);
  const tiers = federal.map((host) => gov?.classify({ host, path: "/" }).tier ?? "");
  assert.ok(tiers.filter((tier) => "AB".includes(tier)).length >= federal.length * 0.95);
  assert.equal(tiers.filter((tier) => "DE".includes(tier)).length, 0);
});
