import type { PlantedFault } from "./planted-fault.ts";

const orderPages = "server/src/ranking/order-pages.ts";
const rankTests = ["server/src/ranking/rank.test"];
const explainTests = ["server/src/ranking/explain-ranking.test"];

export const rankingFaults: PlantedFault[] = [
  {
    id: "better-match-overtaken",
    description: "authority overtakes a page that matches the query better",
    file: orderPages,
    find: 'page.guards[0] === "exact-name" ? 1 : limits[level]',
    replace: "1",
    tests: rankTests,
    caughtBy: "a page does not overtake one that matches the query better",
  },
  {
    id: "complete-snippet-overtaken",
    description: "only titles count when matches are compared",
    file: orderPages,
    find: "if (level > 0) limits[0]",
    replace: "if (level > 1) limits[0]",
    tests: rankTests,
    caughtBy: "a page does not overtake one that matches the query better",
  },
  {
    id: "named-site-limited",
    description: "the site that the whole query names stays below a better match",
    file: orderPages,
    find: 'page.guards[0] === "exact-name" ? 1 : limits[level]',
    replace: "limits[level]",
    tests: rankTests,
    caughtBy: "a site that the whole query names overtakes pages that match better",
  },
  {
    id: "main-site-limited",
    description: "the site that holds most results is limited to two pages",
    file: orderPages,
    find: "sameSite >= maxPerSite && page.site !== mainSite",
    replace: "sameSite >= maxPerSite",
    tests: rankTests,
    caughtBy: "a site with more than half of the upstream's first ten results keeps its third page",
  },
  {
    id: "main-site-with-half",
    description: "half of the first ten results are enough for the main site",
    file: orderPages,
    find: "* 2 > first.length",
    replace: "* 2 >= first.length",
    tests: rankTests,
    caughtBy: "a site with more than half of the upstream's first ten results keeps its third page",
  },
  {
    id: "score-rises",
    description: "a result at the end keeps a higher score than those above it",
    file: "server/src/ranking/explain-ranking.ts",
    find: "lowest = Math.min(lowest, page.score);",
    replace: "lowest = page.score;",
    tests: explainTests,
    caughtBy: "a guard that moves a result changes its score as well",
  },
  {
    id: "anchor-keeps-score",
    description: "the anchored result lowers the scores of the results below it",
    file: orderPages,
    find: "Math.max(page.score, displaced.score)",
    replace: "page.score",
    tests: explainTests,
    caughtBy: "a guard that moves a result changes its score as well",
  },
  {
    id: "base-lambda",
    description: "authority weighs as much without a category as before relevance was measured",
    file: "server/lenses/base.lens",
    find: "! lambda: 0.25",
    replace: "! lambda: 0.33",
    tests: ["eval/relevance-goals.test"],
    caughtBy: "the base lens loses less than 0.02 of MRR and of success at 3, and still changes the order",
  },
];
