import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { encodeExplanation, type Reason } from "./explain-ranking.ts";

const reason = fc.record<Reason>({
  place: fc.integer({ min: 1, max: 99 }),
  upstreamRank: fc.integer({ min: 1, max: 99 }),
  tier: fc.constantFrom("A", "B", "C", "N", "D", "E"),
  why: fc.stringMatching(/^[a-z][a-z0-9-]{0,39}$/),
  score: fc.double({ min: 0, max: 1, noNaN: true }),
  isNavigational: fc.boolean(),
  move: fc.constantFrom(undefined, "copy", "third-of-site", "anchor"),
});

test("an explanation reads as it is documented", () => {
  const text = encodeExplanation([
    { place: 1, upstreamRank: 4, tier: "A", why: "government", score: 0.91875, isNavigational: false, move: undefined },
    { place: 2, upstreamRank: 1, tier: "N", why: "unlisted", score: 1, isNavigational: true, move: "anchor" },
  ]);
  assert.equal(
    text,
    "1;from=4;tier=A;why=government;score=0.919, 2;from=1;tier=N;why=unlisted;score=1.000;navigational;anchor",
  );
  assert.equal(encodeExplanation([]), "");
});

test("an explanation fits into a header, is a structured list, and counts what it leaves out", () => {
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
      // It leaves out no more than it must: one more would not have fitted.
      if (more !== undefined) assert.ok(text.length > 4_096 - 140);
    }),
  );
});
