import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import { lensOf } from "../../test/support/data/lens-of.ts";
import { encodeExplanation, explainRanking, type Reason } from "./explain-ranking.ts";

const reason = fc.record<Reason>({
  position: fc.integer({ min: 1, max: 99 }),
  upstreamRank: fc.integer({ min: 1, max: 99 }),
  tier: fc.constantFrom("A", "B", "C", "N", "D", "E"),
  why: fc.stringMatching(/^[a-z][a-z0-9-]{0,39}$/),
  score: fc.double({ min: 0, max: 1, noNaN: true }),
  guards: fc.subarray(["exact-name", "navigational", "home-page", "coverage", "main-site", "copy", "anchor"] as const),
});

test("encodes an explanation in the documented format", () => {
  const text = encodeExplanation([
    { position: 1, upstreamRank: 4, tier: "A", why: "government", score: 0.91875, guards: [] },
    { position: 2, upstreamRank: 1, tier: "N", why: "unlisted", score: 0.9, guards: ["coverage", "anchor"] },
  ]);
  assert.equal(
    text,
    "1;from=4;tier=A;why=government;score=0.919, 2;from=1;tier=N;why=unlisted;score=0.900;coverage;anchor",
  );
  assert.equal(encodeExplanation([]), "");
});

test("an explanation is a structured list within the size limit and counts omitted members", () => {
  const member = /^\d+;from=\d+;tier=[A-EN];why=[a-z][a-z0-9-]*;score=[01]\.\d{3}(?:;[a-z][a-z-]*)*$/;
  fc.assert(
    fc.property(fc.array(reason, { maxLength: 120, size: "max" }), (reasons) => {
      const text = encodeExplanation(reasons);
      assert.ok(text.length <= 4_096);
      const members = text === "" ? [] : text.split(", ");
      const more = /^more;count=(\d+)$/.exec(members.at(-1) ?? "")?.[1];
      const shown = more === undefined ? members : members.slice(0, -1);
      assert.ok(shown.every((each) => member.test(each)));
      assert.equal(shown.length + Number(more ?? 0), reasons.length);
      // One more member would not have fit.
      if (more !== undefined) assert.ok(text.length > 4_096 - 180);
    }),
  );
});

const lens = lensOf(
  "$tier=A,site=a.example,why=x\n$tier=A,site=b.example,why=x\n$tier=A,site=c.example,why=x\n$tier=D,site=d.example,why=x",
);

function explain(
  query: string,
  ...pages: { url: string; title?: string }[]
): [from: number, score: string, ...string[]][] {
  const reasons = explainRanking({ results: pages, query, lens, n: 10 });
  return reasons.map(({ upstreamRank, score, guards }) => [upstreamRank, score.toFixed(3), ...guards]);
}

test("a guard that moves a result changes its score as well", () => {
  const anchored = ["d", "a", "b", "c"].map((name) => ({ url: `https://${name}.example/page` }));
  assert.deepEqual(explain("", ...anchored), [
    [2, "0.977"],
    [3, "0.957"],
    [1, "0.938", "anchor"],
    [4, "0.938"],
  ]);
  const third = ["a.example/1", "a.example/2", "a.example/3", "x.org", "y.org", "z.org"];
  assert.deepEqual(explain("", ...third.map((page) => ({ url: `https://${page}` }))).at(-1), [
    3,
    "0.604",
    "third-of-site",
  ]);
});

test("each guard is named, with the authority or the limit that it documents", () => {
  const page = { url: "https://x.org/page" };
  assert.deepEqual(explain("post login", { url: "https://post.org/" }, page)[0], [1, "1.000", "exact-name"]);
  assert.deepEqual(explain("post of today", { url: "https://post.org/today" }, page)[0], [1, "0.950", "navigational"]);
  assert.deepEqual(explain("today", { url: "https://post.org/" }, page)[0], [1, "0.900", "home-page"]);
  const limited = [{ ...page, title: "Crane" }, { url: "https://a.example/page" }];
  assert.deepEqual(explain("crane", ...limited), [
    [1, "0.700"],
    [2, "0.700", "coverage"],
  ]);
  const main = ["1", "2", "3"].map((path) => ({ url: `https://x.org/${path}` }));
  assert.deepEqual(
    explain("", ...main).map(([, , guard]) => guard),
    [undefined, undefined, "main-site"],
  );
});
