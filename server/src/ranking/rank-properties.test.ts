// Properties that hold for every query, lens and list of candidates.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import { lensOf } from "../../test/support/data/lens-of.ts";
import { canonicalUrl } from "./canonical-url.ts";
import { explainRanking, type Reason } from "./explain-ranking.ts";
import type { Lens } from "./lens.ts";
import { matchQuery, readTerms } from "./match-query.ts";
import { splitWords } from "./names-site.ts";
import { rank } from "./rank.ts";
import { type Tier, tierValues } from "./tier.ts";

const tiers = Object.keys(tierValues) as Tier[];
const tier = fc.constantFrom(...tiers);
const lambda = fc.constantFrom(0, 0.35, 0.5, 0.6, 1);
const sites = ["post.example", "bank.example", "news.co.uk", "someone.github.io", "city.gov", "forum.net"];
const shown = [
  "",
  "the harbour was closed on monday after a crane fell into the basin said the port authority on monday evening",
  "the harbour was closed on monday after a crane fell into the basin said the port authority on monday morning",
  "how to sharpen a kitchen knife with a whetstone in seven steps that everybody can learn in a few minutes at home",
];

const candidate = fc
  .record({
    site: fc.constantFrom(...sites),
    host: fc.constantFrom("", "www.", "a.", "forum."),
    path: fc.constantFrom("/", "/a", "/a/?utm_source=x", "/b", "/forum/1", "/c?d=1", "/~someone"),
    title: fc.constantFrom("", "News", "Post to the bank", "How to reach the UK"),
    snippet: fc.constantFrom(...shown),
  })
  .map(({ site, host, path, title, snippet }) => ({ url: `https://${host}${site}${path}`, title, snippet }));

const rule = fc.oneof(
  fc.tuple(fc.constantFrom("tier", "cap", "lift"), tier, fc.constantFrom(...sites)).map(([verb, to, site]) => ({
    key: `site=${site}`,
    text: `$${verb}=${to},site=${site},why=x`,
  })),
  tier.map((to) => ({ key: "gov", text: `$tier=${to},suffix=gov,why=y` })),
  tier.map((to) => ({ key: "forum", text: `/forum/$tier=${to},override,why=z` })),
  tier.map((to) => ({ key: "private", text: `$cap=${to},psl-private,why=p` })),
);

const lens = fc
  .tuple(fc.uniqueArray(rule, { selector: ({ key }) => key, maxLength: 8 }), lambda)
  .map(([rules, share]) => lensOf(rules.map(({ text }) => text).join("\n"), share));

const query = fc.constantFrom("", "post", "news uk login", "how to reach the bank", "someone");
const input = fc.record({
  results: fc.array(candidate, { maxLength: 24 }),
  query,
  lens,
  n: fc.integer({ min: 1, max: 24 }),
});

test("the output is a permutation of the merged input, truncated to n", () => {
  fc.assert(
    fc.property(input, ({ n, ...rest }) => {
      const whole = rank({ ...rest, n: rest.results.length + 1 });
      const merged = rank({ results: rest.results, n: rest.results.length + 1 });
      assert.deepEqual(new Set(whole), new Set(merged));
      assert.equal(whole.length, merged.length);
      assert.equal(new Set(whole.map(({ url }) => canonicalUrl(url))).size, whole.length);
      assert.deepEqual(rank({ ...rest, n }), whole.slice(0, n), "a shorter list is a prefix of a longer one");
    }),
  );
});

test("the same input gives the same output, even with a lens that has classified other hosts before", () => {
  const text = "$tier=A,suffix=gov,why=x\n$cap=D,psl-private,why=y\n$tier=B,site=news.co.uk,why=z";
  const used = lensOf(text);
  fc.assert(
    fc.property(input, ({ results, query: words, n }) => {
      const fresh = rank({ results, query: words, n, lens: lensOf(text) });
      assert.equal(JSON.stringify(rank({ results, query: words, n, lens: used })), JSON.stringify(fresh));
    }),
  );
});

const different = fc
  .uniqueArray(fc.integer({ min: 0, max: 999 }), { maxLength: 24 })
  .map((numbers) => numbers.map((number) => ({ url: `https://site-${number}.example/`, title: `number ${number}` })));

test("an empty lens keeps the upstream's order of different sites for any lambda", () => {
  fc.assert(
    fc.property(
      different,
      lambda.filter((share) => share < 1),
      (results, share) => {
        assert.deepEqual(rank({ results, n: 24, query: "harbour", lens: lensOf("", share) }), results);
      },
    ),
  );
});

test("raising the tier of a result never lowers its position", () => {
  fc.assert(
    fc.property(input, fc.nat(), tier, tier, ({ results, lens: tried, query: words }, pick, one, other) => {
      const merged = rank({ results, n: 24 });
      const chosen = merged[pick % Math.max(1, merged.length)];
      if (chosen === undefined) return;
      const [low, high] = tierValues[one] <= tierValues[other] ? [one, other] : [other, one];
      const positionAt = (to: Tier): number =>
        rank({ results, n: 24, query: words, lens: withTier(tried, chosen.url, to) }).indexOf(chosen);
      assert.ok(positionAt(high) <= positionAt(low));
    }),
    { numRuns: 500 },
  );
});

/** The same lens with a different tier for one page. */
function withTier(tried: Lens, url: string, to: Tier): Lens {
  const key = canonicalUrl(url);
  const classify: Lens["classify"] = (page) =>
    key.startsWith(`https://${page.host}${page.path}`) && canonicalPathEnds(key, page)
      ? { tier: to, why: "w" }
      : tried.classify(page);
  return { ...tried, classify };
}

function canonicalPathEnds(key: string, { host, path }: { host: string; path: string }): boolean {
  return ["", "?"].includes(key.charAt(`https://${host}${path}`.length));
}

test("the upstream's first result is in the top three, unless it is in tier E or a copy", () => {
  fc.assert(
    fc.property(input, ({ results, query: words, lens: tried }) => {
      const [first] = results;
      const reasons = explainRanking({ results, query: words, lens: tried, n: 24 });
      const reason = reasons.find(({ upstreamRank }) => upstreamRank === 1);
      if (first === undefined || reason?.tier === "E" || reason?.guards.includes("copy") === true) return;
      assert.ok(rank({ results, query: words, lens: tried, n: 3 }).includes(first));
    }),
  );
});

test("a site named by the whole query and ranked first by the upstream stays first", () => {
  const rest = fc.array(candidate, { maxLength: 20 });
  fc.assert(
    fc.property(rest, lens, (others, tried) => {
      const official = { url: "https://www.harbour.example/", title: "", snippet: "" };
      const ranked = rank({ results: [official, ...others], query: "Harbour login", lens: tried, n: 5 });
      assert.equal(ranked[0], official);
    }),
  );
});

test("a page never overtakes one that matches the query better, except the site that the query names exactly", () => {
  fc.assert(
    fc.property(input, ({ results, query: words, lens: tried }) => {
      const terms = readTerms(splitWords(words));
      const shownPages = explainRanking({ results, query: words, lens: tried, n: 24 }).map((reason) => ({
        ...reason,
        level: matchQuery(results[reason.upstreamRank - 1] ?? {}, terms),
      }));
      const isMoved = ({ guards }: Reason): boolean => guards.some((guard) => movingGuards.has(guard));
      for (const [index, page] of shownPages.entries()) {
        if (page.guards.includes("exact-name")) continue;
        const overtaken = shownPages.slice(index + 1).filter(({ upstreamRank }) => upstreamRank < page.upstreamRank);
        assert.ok(overtaken.every((other) => other.level <= page.level || isMoved(other)));
      }
    }),
    { numRuns: 500 },
  );
});

const movingGuards: ReadonlySet<string> = new Set(["copy", "third-of-site"]);

test("the score is from 0 to 1 and never rises in the order shown", () => {
  fc.assert(
    fc.property(input, (search) => {
      const scores = explainRanking(search).map(({ score }) => score);
      assert.ok(scores.every((score) => score >= 0 && score <= 1));
      assert.deepEqual(
        scores,
        scores.toSorted((a, b) => b - a),
      );
      const all = explainRanking({ ...search, n: 24 }).map(({ score }) => score);
      assert.deepEqual(scores, all.slice(0, scores.length), "the scores of a shorter list are those of a longer one");
    }),
    { numRuns: 500 },
  );
});

test("an explanation matches the ranking and does not change it", () => {
  fc.assert(
    fc.property(input, (search) => {
      const before = rank(search);
      const reasons = explainRanking(search);
      assert.deepEqual(rank(search), before);
      assert.deepEqual(
        reasons.map(({ upstreamRank }) => search.results[upstreamRank - 1]),
        before,
      );
      assert.deepEqual(
        reasons.map(({ position }) => position),
        before.map((_, index) => index + 1),
      );
    }),
  );
});
