import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import { encodeExplanation, type Reason } from "./explain-ranking.ts";

const reason = fc.record<Reason>({
  position: fc.integer({ min: 1, max: 99 }),
  upstreamRank: fc.integer({ min: 1, max: 99 }),
  tier: fc.constantFrom("A", "B", "C", "N", "D", "E"),
  why: fc.stringMatching(/^[a-z][a-z0-9-]{0,39}$/),
  score: fc.double({ min: 0, max: 1, noNaN: true }),
  isNavigational: fc.boolean(),
  move: fc.constantFrom(undefined, "copy", "third-of-site", "anchor"),
});

test("encodes an explanation in the documented format", () => {
  const text = encodeExplanation([
    {
      position: 1,
      upstreamRank: 4,
      tier: "A",
      why: "government",
      score: 0.91875,
      isNavigational: false,
      move: undefined,
    },
    { position: 2, upstreamRank: 1, tier: "N", why: "unlisted", score: 1, isNavigational: true, move: "anchor" },
  ]);
  assert.equal(
    text,
    "1;from=4;tier=A;why=government;score=0.919, 2;from=1;tier=N;why=unlisted;score=1.000;navigational;anchor",
  );
  assert.equal(encodeExplanation([]), "");
});

test("an explanation is a structured list within the size limit and counts omitted members", () => {
  const member =
    /^\d+;from=\d+;tier=[A-EN];why=[a-z][a-z0-9-]*;score=[01]\.\d{3}(?:;navigational)?(?:;(?:copy|third-of-site|anchor))?$/;
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
      if (more !== undefined) assert.ok(text.length > 4_096 - 140);
    }),
  );
});
