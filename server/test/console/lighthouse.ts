// npm run lighthouse
//
// Measures the overview and the playground of the built console with five weeks of data. Prints the scores of three runs
// and fails if a median is below 95. Results are only meaningful on an idle machine, so it prints the load.

import { createRequire } from "node:module";
import { loadavg } from "node:os";
import { join } from "node:path";
import { installOnDemand } from "../../../tools/on-demand/install-on-demand.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

/** The parts of Lighthouse's API used here. */
type Lighthouse = (
  url: string,
  flags: Record<string, unknown>,
) => Promise<{ lhr: { categories: Record<string, { score: number | null } | undefined> } } | undefined>;

const { resolve } = createRequire(join(installOnDemand("lighthouse"), "package.json"));
const { default: lighthouse } = (await import(resolve("lighthouse"))) as { default: Lighthouse };
const port = 9_333;
const minScore = 95;
const fixture = await startBrowserFixture({}, [`--remote-debugging-port=${port}`]);
let isGood = true;
try {
  const { walletId, ownerEmail } = fixture.demo;
  const page = await fixture.browser.newPage();
  await fixture.signIn(page, ownerEmail);
  const [cookie] = await page.context().cookies();
  console.log(`load ${(loadavg()[0] ?? 0).toFixed(1)}`);
  for (const path of ["", "/playground"]) {
    const runs: { performance: number; accessibility: number }[] = [];
    for (let run = 0; run < 3; run += 1) {
      const result = await lighthouse(`${fixture.server.url}/console/w/${walletId}${path}`, {
        port,
        onlyCategories: ["performance", "accessibility"],
        extraHeaders: { cookie: `${cookie?.name}=${cookie?.value}` },
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
      runs.push({ performance: score("performance"), accessibility: score("accessibility") });
    }
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
