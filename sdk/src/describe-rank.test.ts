import assert from "node:assert/strict";
import { test } from "node:test";
import { describeRank } from "./describe-rank.ts";
import { parseExplanation } from "./parse-explanation.ts";

test("describes the move, the tier and the rule", () => {
  const [rank] = parseExplanation("1;from=4;tier=A;why=public-health-service;score=0.919");
  assert.ok(rank);
  assert.deepEqual(describeRank(rank), {
    move: "Rank 1, up from 4 at the upstream.",
    tier: 'The page is a primary source (tier A) because of the rule "public health service".',
    adjustments: [],
  });
});

test("names the site of a page that was moved below other sites", () => {
  const ranking = parseExplanation(
    "3;from=3;tier=B;why=x;score=0.900, 4;from=2;tier=B;why=x;score=0.890;third-of-site, " +
      "5;from=4;tier=B;why=x;score=0.850;third-of-site",
  );
  const sources = ["postgresql.org", "wiki.postgresql.org", "a.example", "docs.postgresql.org", "x.postgresql.org"];
  const adjustments = ranking.map((rank) => describeRank(rank, { sources }).adjustments);
  assert.deepEqual(adjustments, [
    [],
    ["Third page from postgresql.org, moved below other sites."],
    ["Fourth page from postgresql.org, moved below other sites."],
  ]);
});

test("each guard has a sentence with the right number, even without the other results", () => {
  const guards = [
    "exact-name",
    "navigational",
    "home-page",
    "coverage",
    "main-site",
    "copy",
    "third-of-site",
    "anchor",
  ];
  const [rank] = parseExplanation(`3;from=3;tier=N;why=unlisted;score=0.790;${guards.join(";")};new-guard`);
  assert.ok(rank);
  const { adjustments } = describeRank(rank);
  assert.equal(adjustments.length, 9);
  assert.match(adjustments[0] ?? "", /The whole query is the name of this site, so its authority is 1\.00\./);
  assert.match(adjustments[1] ?? "", /contains the name of this site, so its authority is at least 0\.90\./);
  assert.match(adjustments[2] ?? "", /home page first, so its authority is at least 0\.80\./);
  assert.match(adjustments[3] ?? "", /matches the query better, so the score is limited/);
  assert.equal(adjustments[6], "Third or later page of its site, moved below other sites.");
  assert.equal(adjustments[8], 'The guard "new-guard" applied.');
  const sources = ["a.co.uk", "b.co.uk", "c.co.uk"];
  assert.match(describeRank(rank, { sources }).adjustments[6] ?? "", /^Third or later page from c\.co\.uk, /);
});
