import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { lensOf } from "../../test/support/data/lens-of.ts";
import { explainRanking } from "./explain-ranking.ts";
import { fuseResults } from "./fuse-results.ts";
import { rank } from "./rank.ts";

const page = (name: string) => ({ url: `https://${name}.example/`, title: name, snippet: "" });
const pages = (names: string) => [...names].map(page);

const fuse = (first: string, second: string): string =>
  fuseResults(pages(first), pages(second))
    .map(({ result }) => result.title)
    .join("");

test("orders pages by the sum of their reciprocal ranks", () => {
  // b: 1/62 + 1/61, above a: 1/61 + 1/63. The others are on one list.
  assert.equal(fuse("abcd", "bea"), "baecd");
  // Ranks 4 and 5 on both lists outweigh rank 1 on one.
  assert.equal(fuse("abcde", "fghde"), "deafbgch");
});

test("pages on one list alternate, beginning with the first upstream", () => {
  assert.equal(fuse("abc", "xyz"), "axbycz");
  assert.equal(fuse("", "xyz"), "xyz");
  assert.equal(fuse("abc", ""), "abc");
});

test("merges equivalent URLs, shows the first upstream's text and keeps both ranks", () => {
  const first = [page("a"), { url: "https://www.b.example/?utm_source=x", title: "from the first", snippet: "" }];
  const second = [{ url: "http://b.example", title: "from the second", snippet: "" }, page("b"), page("c")];
  const fused = fuseResults(first, second).map((each) => [each.result.title, each.upstreamRank, each.fused]);
  assert.deepEqual(fused, [
    ["from the first", 1, { first: 2, second: 1 }],
    ["a", 2, { first: 1, second: undefined }],
    ["c", 3, { first: undefined, second: 3 }],
  ]);
});

test("contains each page of both lists once, and fusing a list with itself keeps its order", () => {
  const names = fc
    .uniqueArray(fc.constantFrom(..."abcdefghij".split("")), { maxLength: 10 })
    .map((list) => list.join(""));
  fc.assert(
    fc.property(names, names, (first, second) => {
      assert.deepEqual([...fuse(first, second)].toSorted(), [...new Set(first + second)].toSorted());
      assert.equal(fuse(first, first), first);
      assert.deepEqual(
        fuseResults(pages(first), pages(second)).map(({ upstreamRank }) => upstreamRank),
        Array.from(new Set(first + second), (_, index) => index + 1),
      );
    }),
  );
});

test("the lens ranks the merged pages, and the explanation has both ranks", () => {
  const input = {
    results: pages("abc"),
    fusedWith: pages("cd"),
    n: 3,
    query: "",
    lens: lensOf("$tier=A,site=d.example,why=x", 0.5),
  };
  assert.deepEqual(
    rank(input).map(({ title }) => title),
    ["d", "c", "a"],
  );
  assert.deepEqual(
    explainRanking(input).map(({ upstreamRank, fused, tier }) => [upstreamRank, fused?.first, fused?.second, tier]),
    [
      [4, undefined, 2, "A"],
      [1, 3, 1, "N"],
      [2, 1, undefined, "N"],
    ],
  );
});
