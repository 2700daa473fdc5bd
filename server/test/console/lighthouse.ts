// npm run lighthouse
//
// Measures the overview and the playground of the built console with five weeks of data, and fails if the median of three runs
// is below 95. Performance is only meaningful on an idle machine, so it prints the load. Also measures the accessibility of the
// landing page and of the built docs, which must be 100.

import { createRequire } from "node:module";
import { loadavg } from "node:os";
import { join } from "node:path";
import { installOnDemand } from "../../../tools/on-demand/install-on-demand.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

/** The parts of Lighthouse's API used here. */
type Lighthouse = (url: string, flags: Record<string, unknown>) => Promise<{ lhr: Report } | undefined>;

interface Report {
  categories: Record<string, { score: number | null; auditRefs: { id: string; weight: number }[] } | undefined>;
  audits: Record<
    string,
    { score: number | null; title: string; details?: { items?: { node?: { snippet: string } }[] } }
  >;
}

const { resolve } = createRequire(join(installOnDemand("lighthouse"), "package.json"));
const { default: lighthouse } = (await import(resolve("lighthouse"))) as { default: Lighthouse };
const port = 9_333;
const minScore = 95;
const fixture = await startBrowserFixture({}, [`--remote-debugging-port=${port}`]);
let isGood = true;
try {
  for (const path of ["/", "/docs/", "/docs/quickstart", "/docs/reference/keys", "/docs/problems/key_budget_spent"]) {
    const { accessibility, faults } = await measure(path, { categories: ["accessibility"] });
    isGood &&= accessibility === 100;
    console.log([`${path} accessibility: ${accessibility}`, ...faults].join("\n  "));
  }
  const { walletId, ownerEmail } = fixture.demo;
  const page = await fixture.browser.newPage();
  await fixture.signIn(page, ownerEmail);
  const [cookie] = await page.context().cookies();
  const signedIn = { cookie: `${cookie?.name}=${cookie?.value}` };
  console.log(`load ${(loadavg()[0] ?? 0).toFixed(1)}`);
  for (const path of ["", "/playground"]) {
    const runs = [];
    for (let run = 0; run < 3; run += 1)
      runs.push(await measure(`/console/w/${walletId}${path}`, { extraHeaders: signedIn }));
    for (const name of ["performance", "accessibility"] as const) {
      const scores = runs.map((run) => run[name]);
      const median = scores.toSorted((a, b) => a - b)[1] ?? 0;
      isGood &&= median >= minScore;
      console.log(`${path === "" ? "/overview" : path} ${name}: median ${median} of ${scores.join(", ")}`);
    }
  }
} finally {
  await fixture.close();
}
process.exitCode = isGood ? 0 : 1;

async function measure(
  path: string,
  {
    categories = ["performance", "accessibility"],
    extraHeaders = {},
  }: { categories?: string[]; extraHeaders?: Record<string, string> },
): Promise<{ performance: number; accessibility: number; faults: string[] }> {
  const result = await lighthouse(`${fixture.server.url}${path}`, {
    port,
    onlyCategories: categories,
    extraHeaders,
    // Desktop scores: the console is rarely used on throttled phones.
    formFactor: "desktop",
    screenEmulation: { mobile: false, width: 1280, height: 800, deviceScaleFactor: 1, disabled: false },
    throttling: {
      rttMs: 40,
      throughputKbps: 10_240,
      cpuSlowdownMultiplier: 1,
      requestLatencyMs: 0,
      downloadThroughputKbps: 0,
      uploadThroughputKbps: 0,
    },
    logLevel: "error",
  });
  const score = (name: string): number => Math.round((result?.lhr.categories[name]?.score ?? 0) * 100);
  const faults = (result?.lhr.categories["accessibility"]?.auditRefs ?? []).flatMap(({ id, weight }) => {
    const audit = result?.lhr.audits[id];
    if (weight === 0 || audit?.score !== 0) return [];
    return [audit.title, ...(audit.details?.items ?? []).map(({ node }) => `  ${node?.snippet}`)];
  });
  return { performance: score("performance"), accessibility: score("accessibility"), faults };
}
