import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { mintSignInToken } from "../../src/email/email.ts";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";
import { consolePageRoutes, operatorPages } from "./pages.ts";
import { startStandInCells } from "./stand-in-cells.ts";

// Runs axe on every page: all rules in light colors on a desktop width, and those that depend on the color scheme and the width
// in dark colors on a mobile width. The rest would repeat the same checks.

describe("accessibility", { skip: noBrowser }, async () => {
  const cells = await startStandInCells();
  const fixture = await startBrowserFixture(cells.settings);
  const { demo } = fixture;
  after(async () => {
    await fixture.close();
    await cells.close();
  });

  const longAddress = `${"a".repeat(64)}@${"b".repeat(60)}.example.org`;
  const variants = [
    { colorScheme: "light", viewport: { width: 1280, height: 800 } },
    { colorScheme: "dark", viewport: { width: 390, height: 844 } },
  ] as const;

  for (const variant of variants) {
    const violations = variant.colorScheme === "light" ? findViolations : findVisibleViolations;
    const name = `${variant.colorScheme}, ${variant.viewport.width} px`;

    test(`the console has no accessibility violations: ${name}`, async () => {
      await fixture.visit(async (page) => {
        await page.goto(`${fixture.server.url}/console/sign-in`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        const found = [...(await violations(page, "sign-in"))];
        await page.goto(`${fixture.server.url}/console/sign-in#token=${mintSignInToken(longAddress)}`);
        await page.getByRole("heading", { name: "Confirm sign-in" }).waitFor();
        found.push(...(await violations(page, "confirm sign-in")), ...(await overflow(page, "confirm sign-in")));
        await fixture.signIn(page, demo.ownerEmail);
        for (const { name: label, path, ready } of consolePageRoutes) {
          await page.goto(`${fixture.server.url}/console/w/${demo.walletId}${path}`);
          await ready(page);
          found.push(...(await violations(page, label)), ...(await overflow(page, label)));
        }
        await page.keyboard.press("Control+k");
        await page.getByRole("option", { name: "Create key" }).waitFor();
        found.push(...(await violations(page, "command palette")));
        await page.goto(`${fixture.server.url}/console/w/${demo.walletId}/no-such-page`);
        await page.getByRole("heading", { name: "Not found" }).waitFor();
        found.push(...(await violations(page, "not found")), ...(await overflow(page, "not found")));
        assert.deepEqual(found, []);
      }, variant);
    });

    test(`the operator console has no accessibility violations: ${name}`, async () => {
      await fixture.visit(async (page) => {
        await fixture.signInOperator(page);
        const found: string[] = [];
        for (const { name: label, path, ready } of operatorPages) {
          await page.goto(`${fixture.server.opsUrl}/console/${path}`);
          await ready(page);
          found.push(...(await violations(page, label)), ...(await overflow(page, label)));
        }
        assert.deepEqual(found, []);
      }, variant);
    });
  }
});

function findViolations(page: Page, label: string): Promise<string[]> {
  return analyze(new AxeBuilder({ page }), label);
}

function findVisibleViolations(page: Page, label: string): Promise<string[]> {
  return analyze(
    new AxeBuilder({ page }).withRules([
      "color-contrast",
      "link-in-text-block",
      "scrollable-region-focusable",
      "target-size",
    ]),
    label,
  );
}

async function analyze(axe: AxeBuilder, label: string): Promise<string[]> {
  const { violations: found } = await axe.analyze();
  return found.map(({ id, nodes }) => `${label}: ${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** Reports a page that scrolls sideways. */
async function overflow(page: Page, label: string): Promise<string[]> {
  const wide = await page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  return wide > 1 ? [`${label}: ${wide} px wider than the window`] : [];
}
