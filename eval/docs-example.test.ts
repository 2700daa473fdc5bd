import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { explainRanking } from "../server/src/ranking/explain-ranking.ts";
import { tierValues } from "../server/src/ranking/tier.ts";
import { buildLensesOrThrow, readLensFiles } from "./read-lenses.ts";

const page = readFileSync(new URL("../docs/ranking.md", import.meta.url), "utf8");
const lenses = buildLensesOrThrow(readLensFiles());

test("the example in docs/ranking.md matches the service's ranking and scores", () => {
  const rows = [
    ...page.matchAll(/^\| (\d) \| (\d) \| `(https:[^`]+)` \| (\w) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$/gm),
  ];
  const shown = rows.map((row) => row.slice(1).join(" "));
  assert.equal(shown.length, 4);
  const results = rows.toSorted((a, b) => Number(a[2]) - Number(b[2])).map((row) => ({ url: row[3] ?? "" }));
  const lens = lenses.get("base");
  assert.ok(lens !== undefined);
  const reasons = explainRanking({ results, query: "river flood warning", lens, n: 10 });
  const computed = reasons.map(({ position, upstreamRank, tier, score }) => {
    const relevance = (21 / (20 + upstreamRank)).toFixed(3);
    const url = results[upstreamRank - 1]?.url;
    return [position, upstreamRank, url, tier, relevance, tierValues[tier].toFixed(2), score.toFixed(3)].join(" ");
  });
  assert.deepEqual(computed, shown);
});

test("the tier and lambda tables in docs/ranking.md match the code and the lenses", () => {
  const tiers = [...page.matchAll(/^\| ([A-EN]) \| (\d\.\d\d) \| /gm)].map((row) => [row[1], Number(row[2])]);
  assert.deepEqual(Object.fromEntries(tiers), tierValues);
  const [, names = "", shares = ""] = /^\| Lens \| (.*) \|\n.*\n\| lambda \| (.*) \|$/m.exec(page) ?? [];
  const documented = names.split(" | ").map((name, index) => [name, Number(shares.split(" | ")[index])]);
  assert.deepEqual(
    Object.fromEntries(documented),
    Object.fromEntries([...lenses].map(([name, { lambda }]) => [name, lambda])),
  );
});
