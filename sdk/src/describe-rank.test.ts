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

test("explains why a lower score can be above a higher one", () => {
  const ranking = parseExplanation(
    "1;from=2;tier=B;why=x;score=0.900, 2;from=3;tier=B;why=x;score=0.890, 3;from=1;tier=D;why=x;score=0.600;anchor, " +
      "4;from=9;tier=N;why=unlisted;score=0.610, 5;from=4;tier=B;why=x;score=0.850;third-of-site, " +
      "6;from=5;tier=B;why=x;score=0.840;copy",
  );
  const sources = [
    "postgresql.org",
    "wiki.postgresql.org",
    "a.example",
    "b.example",
    "docs.postgresql.org",
    "c.example",
  ];
  const adjustments = ranking.map((rank) => describeRank(rank, { ranking, sources }).adjustments);
  assert.deepEqual(adjustments, [
    [],
    [],
    ["The upstream's first result never falls below rank 3, so it is above results with a higher score."],
    [],
    ["Third page from postgresql.org, moved below other sites, even those with a lower score."],
    [
      "Its text is nearly the same as that of a result with a better score, so it was moved to the end, below results with a lower score.",
    ],
  ]);
});

test("each guard has a sentence, also without the other results", () => {
  const [rank] = parseExplanation(
    "3;from=3;tier=N;why=unlisted;score=0.790;navigational;anchor;copy;third-of-site;new-guard",
  );
  assert.ok(rank);
  const { adjustments } = describeRank(rank);
  assert.equal(adjustments.length, 5);
  assert.equal(adjustments[3], "Third or later page of its site, moved below other sites.");
  assert.equal(adjustments[4], 'The guard "new-guard" applied.');
  const sources = ["a.co.uk", "b.co.uk", "c.co.uk"];
  assert.match(describeRank(rank, { sources }).adjustments[3] ?? "", /^Third or later page from c\.co\.uk, /);
});
