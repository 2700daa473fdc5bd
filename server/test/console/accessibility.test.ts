import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { testPepper } from "../server.ts";
import { noBrowser, openBrowser, openPage } from "./browser.ts";
import { startBrowserWorld } from "./browser-world.ts";
import { consolePages, operatorPages } from "./pages.ts";
import { seedDemo } from "./seed-demo.ts";

// Pages that nobody is kept out of: axe looks at each, light and dark, at the width of a desk and of a phone.

describe("everyone", { skip: noBrowser }, async () => {
  const world = await startBrowserWorld();
  const demo = await seedDemo(world.db.owner, testPepper);
  const browser = await openBrowser();
  after(async () => {
    await browser.close();
    await world.close();
  });

  const looks = [
    { colorScheme: "light", viewport: { width: 1280, height: 800 } },
    { colorScheme: "dark", viewport: { width: 390, height: 844 } },
    { colorScheme: "dark", viewport: { width: 1280, height: 800 } },
    { colorScheme: "light", viewport: { width: 390, height: 844 } },
  ] as const;

  for (const look of looks) {
    const name = `${look.colorScheme}, ${look.viewport.width} px`;

    test(`no page of the console keeps anybody out: ${name}`, async () => {
      const { page, context, faults } = await openPage(browser, look);
      await page.goto(`${world.server.url}/console/sign-in`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      const found = [...(await violations(page, "sign-in"))];
      await world.signIn(page, demo.ownerEmail);
      for (const { name: place, path, ready } of consolePages) {
        await page.goto(`${world.server.url}/console/w/${demo.walletId}${path}`);
        await ready(page);
        found.push(...(await violations(page, place)), ...(await overflow(page, place)));
      }
      assert.deepEqual([...found, ...faults], []);
      await context.close();
    });

    test(`no page of the operators' console does: ${name}`, async () => {
      const { page, context, faults } = await openPage(browser, look);
      await world.signInOperator(page);
      const found: string[] = [];
      for (const { name: place, path, ready } of operatorPages) {
        await page.goto(`${world.server.opsUrl}/console/${path}`);
        await ready(page);
        found.push(...(await violations(page, place)), ...(await overflow(page, place)));
      }
      assert.deepEqual([...found, ...faults], []);
      await context.close();
    });
  }
});

async function violations(page: Page, place: string): Promise<string[]> {
  const { violations: found } = await new AxeBuilder({ page }).analyze();
  return found.map(({ id, nodes }) => `${place}: ${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** A page that must be pushed sideways to be read. */
async function overflow(page: Page, place: string): Promise<string[]> {
  const wide = await page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  return wide > 1 ? [`${place}: is ${wide} px wider than the window`] : [];
}
