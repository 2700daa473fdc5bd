// npm run screenshots [-- FOLDER]
// npm run screenshots -- --docs      only those used in the docs, into docs/images
//
// Takes screenshots of every page of both consoles, on desktop and mobile, light and dark, with five weeks of demo data.
// Fails on console errors, exceptions and policy violations.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { mintSignInToken } from "../../src/email/email.ts";
import { webhookSettings } from "../support/payments/payment-fixture.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";
import { openPage } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";
import { consolePageRoutes, operatorPages } from "./pages.ts";
import { startStandInCells } from "./stand-in-cells.ts";

const isForDocs = process.argv[2] === "--docs";
const folder = isForDocs ? "docs/images" : (process.argv[2] ?? ".pennyblack/screenshots");
/** File names in docs/images. */
const docsNames: Record<string, string> = {
  "overview-desk-light": "console-overview-light",
  "playground-desk-light": "console-playground-light",
  "ledger-desk-light": "console-ledger-light",
  "operator-upstreams-desk-light": "console-operators-light",
};
mkdirSync(folder, { recursive: true });
const shapes = {
  desk: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
};

const upstream = await startFixtureUpstream("brave", "ok");
const second = await startFixtureUpstream("searxng", "ok");
const cells = await startStandInCells();
// No payments are made, so the address can be unreachable.
const fixture = await startBrowserFixture({
  ...webhookSettings("http://127.0.0.1:9"),
  ...cells.settings,
  PENNYBLACK_BRAVE_KEY: "BSAf7Qm2Zr9kXw4cT1hV8nLp,BSAp3Yd6Jt0sHb5eR9uC2gKa",
  PENNYBLACK_BRAVE_CAP: "20.00/month",
  ...replaceUrl("brave", upstream.url),
  PENNYBLACK_SEARXNG_URL: second.url,
});
const { browser } = fixture;
const errors: string[] = [];
let pictures = 0;
try {
  const { walletId, ownerEmail } = fixture.demo;
  for (const [shape, { viewport, ...device }] of Object.entries(shapes)) {
    for (const colorScheme of ["light", "dark"] as const) {
      const owner = await openPage(browser, { viewport, ...device, colorScheme, reducedMotion: "reduce" });
      const take = async (page: Page, name: string): Promise<void> => {
        const full = `${name}-${shape}-${colorScheme}`;
        const file = isForDocs ? docsNames[full] : full;
        if (file === undefined) return;
        await page.screenshot({ path: join(folder, `${file}.png`) });
        pictures += 1;
        console.error(`${name} ${shape} ${colorScheme}`);
      };
      await owner.page.goto(`${fixture.server.url}/console/sign-in`);
      await owner.page.getByRole("heading", { level: 1 }).waitFor();
      await take(owner.page, "sign-in");
      await owner.page.goto(`${fixture.server.url}/console/sign-in#token=${mintSignInToken(ownerEmail)}`);
      await owner.page.getByRole("heading", { name: "Confirm sign-in" }).waitFor();
      await take(owner.page, "confirm-sign-in");
      await fixture.signIn(owner.page, ownerEmail);
      for (const { name, path, ready } of consolePageRoutes) {
        await owner.page.goto(`${fixture.server.url}/console/w/${walletId}${path}`);
        await ready(owner.page);
        await take(owner.page, name);
      }
      const operator = await openPage(browser, { viewport, ...device, colorScheme, reducedMotion: "reduce" });
      await fixture.signInOperator(operator.page);
      for (const { name, path, ready } of operatorPages) {
        await operator.page.goto(`${fixture.server.opsUrl}/console/${path}`);
        await ready(operator.page);
        await take(operator.page, name);
      }
      errors.push(...owner.errors, ...operator.errors);
      await owner.context.close();
      await operator.context.close();
    }
  }
} finally {
  await fixture.close();
  await upstream.close();
  await second.close();
  await cells.close();
}
for (const error of new Set(errors)) console.error(error);
console.log(`${pictures} pictures in ${folder}, ${errors.length} errors`);
process.exitCode = errors.length === 0 ? 0 : 1;
