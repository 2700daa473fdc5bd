import assert from "node:assert/strict";
import { test } from "node:test";
import { buildLenses, type Lens } from "./lens.ts";
import { createRanking } from "./ranking.ts";

function lensesOf(version: string, tier: string): ReadonlyMap<string, Lens> {
  const built = buildLenses([
    { file: "base.lens", text: `! name: base\n! version: ${version}\n! lambda: 0.35` },
    {
      file: "gov.lens",
      text: `! name: gov\n! version: ${version}\n! extends: base\n! lambda: 0.6\n$tier=${tier},site=city.example,why=city`,
    },
  ]);
  assert.ok(built.ok);
  return built.lenses;
}

const search = { query: "", n: 10, results: [{ url: "https://a.example/" }, { url: "https://city.example/" }] };

test("a category uses its own lens, and everything else the base lens", () => {
  const ranking = createRanking(() => lensesOf("2026-11-15.1", "A"));
  const urls = (category?: string) => ranking.rank({ ...search, category }).results.map(({ url }) => url);
  assert.deepEqual(urls("gov"), ["https://city.example/", "https://a.example/"]);
  assert.deepEqual(urls(), ["https://a.example/", "https://city.example/"]);
  assert.equal(ranking.rank({ ...search, category: "gov" }).lens, "gov@2026-11-15.1");
  assert.equal(ranking.rank({ ...search, category: "unheard-of" }).lens, "base@2026-11-15.1");
});

test("a search is explained with the lens that ranked it, even after a reload", () => {
  let lenses = lensesOf("2026-11-15.1", "A");
  const ranking = createRanking(() => lenses);
  const ranked = ranking.rank({ ...search, category: "gov" });
  lenses = lensesOf("2026-11-16.1", "E");
  assert.equal(ranked.explain(), "1;from=2;tier=A;why=city;score=0.982, 2;from=1;tier=N;why=unlisted;score=0.640");
  assert.equal(ranking.rank({ ...search, category: "gov" }).lens, "gov@2026-11-16.1");
});
