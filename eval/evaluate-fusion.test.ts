import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluateFusion, pairRecordings, splitRecording } from "./evaluate-fusion.ts";
import { buildLensesOrThrow, readLensFiles } from "./read-lenses.ts";

const lenses = buildLensesOrThrow(readLensFiles());
const page = (rank: number, url: string, rating: number) => ({ rank, url, rating });
const recorded = (results: ReturnType<typeof page>[], query = "harbour") => [
  { query, topic: "", category: null, results },
];

test("scores each upstream and the fusion against the pages of both", () => {
  const first = recorded([page(1, "https://a.example/", 1), page(2, "https://b.example/", 5)]);
  const second = recorded([page(1, "https://www.b.example", 5), page(2, "https://c.example/", 4)]);
  const { rows, overlap } = evaluateFusion(pairRecordings(first, second), lenses);
  const figures = rows.map(({ name, upstream, coverage }) => [name, upstream.toFixed(3), coverage]);
  // Gains: 15 for a rating of 5, and 7 for 4. The ideal order of the three pages scores 15 + 7 / log2(3).
  const ideal = 15 + 7 / Math.log2(3);
  assert.deepEqual(figures, [
    ["first", (15 / Math.log2(3) / ideal).toFixed(3), 0.5],
    ["second", "1.000", 1],
    // b is on both lists, then a and c.
    ["fusion", ((15 + 7 / 2) / ideal).toFixed(3), 1],
  ]);
  assert.equal(overlap, 0.5);
});

test("queries that only one upstream was recorded for are left out", () => {
  const one = [page(1, "https://a.example/", 1)];
  assert.deepEqual(pairRecordings(recorded(one), recorded(one, "other")), []);
});

test("a recording is split into overlapping parts in the recorded order, the same every time", () => {
  const results = Array.from({ length: 40 }, (_, index) => page(index + 1, `https://p${index}.example/`, 3));
  const pairs = splitRecording(recorded(results));
  assert.deepEqual(splitRecording(recorded(results)), pairs);
  for (const { first, second } of pairs) {
    for (const list of [first, second]) {
      assert.ok(list.length > 8 && list.length < 40);
      assert.deepEqual(
        list.map(({ rank }) => rank),
        list.map(({ rank }) => rank).toSorted((a, b) => a - b),
      );
    }
    assert.notDeepEqual(first, second);
  }
});
