import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeExplanation } from "../../server/src/ranking/explain-ranking.ts";
import { parseExplanation } from "./parse-explanation.ts";

const reason = { upstreamRank: 4, tier: "A", why: "government", score: 0.9187, guards: ["navigational"] } as const;

test("reads what the server writes", () => {
  const header = encodeExplanation([
    { ...reason, position: 1, guards: [] },
    { ...reason, position: 2, guards: ["navigational", "third-of-site"] },
  ]);
  const parsed = { upstreamRank: 4, tier: "A", reason: "government", score: 0.919 };
  assert.deepEqual(parseExplanation(header), [
    { ...parsed, position: 1, guards: [] },
    { ...parsed, position: 2, guards: ["navigational", "third-of-site"] },
  ]);
});

test("reads the list that a tier comes from", () => {
  const registry = {
    name: "cred-1",
    title: "CRED-1",
    source: "https://lists.example/a?b=c",
    licence: "CC BY 4.0",
    attribution: "Someone",
    retrieved: "2026-11-16",
  };
  const [parsed] = parseExplanation(encodeExplanation([{ ...reason, registry, position: 1 }]));
  assert.deepEqual(parsed?.list, { name: "cred-1", url: "https://lists.example/a?b=c" });
  assert.deepEqual([parsed?.score, parsed?.guards], [0.919, ["navigational"]]);
});

test("omits results that did not fit in the header, and ignores parameters of later releases", () => {
  const reasons = Array.from({ length: 200 }, (_, index) => ({ ...reason, position: index + 1 }));
  const header = encodeExplanation(reasons);
  assert.match(header, /more;count=\d+$/);
  const positions = parseExplanation(header).map(({ position }) => position);
  assert.ok(positions.length < 200);
  assert.deepEqual(
    positions,
    [...positions.keys()].map((index) => index + 1),
  );
  assert.equal(parseExplanation("1;from=4;tier=B;why=x;score=1.000;boost=2")[0]?.tier, "B");
  assert.deepEqual(parseExplanation(""), []);
});
