import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { AxeBuilder } from "@axe-core/playwright";
import type { BrowserContextOptions, Page } from "playwright-core";
import { mintSignInToken } from "../../src/email/email.ts";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";
import { consolePageRoutes, operatorPages } from "./pages.ts";
import { startStandInCells } from "./stand-in-cells.ts";

export interface AccessibilityVariant extends Pick<BrowserContextOptions, "colorScheme" | "viewport"> {
  /** Rules of axe. Default: all. */
  rules?: string[];
}

/** One of each kind. */
const publicPages = [
  "/",
  "/status",
  "/docs/",
  "/docs/quickstart",
  "/docs/reference/keys",
  "/docs/problems/key_budget_spent",
];

/** The search button and the groups of the sidebar of VitePress's theme. */
const ofTheme =
  /: (?:label-content-name-mismatch: <button [^>]*class="DocSearch|nested-interactive: <div class="item")/;

/** Runs axe on every page of both consoles, and reports pages that scroll sideways. */
export function testAccessibility(name: string, { rules, ...variant }: AccessibilityVariant): void {
  describe(`accessibility: ${name}`, { skip: noBrowser }, async () => {
    const cells = await startStandInCells();
    const fixture = await startBrowserFixture(cells.settings);
    const { demo } = fixture;
    after(async () => {
      await fixture.close();
      await cells.close();
    });

    const longAddress = `${"a".repeat(64)}@${"b".repeat(60)}.example.org`;
    const violations = (page: Page, label: string): Promise<string[]> => findViolations(page, label, rules);

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

    test(`the landing page, the status page and the docs have no accessibility violations: ${name}`, async () => {
      await fixture.visit(async (page) => {
        const found: string[] = [];
        for (const path of publicPages) {
          await page.goto(`${fixture.server.url}${path}`);
          await page.getByRole("heading", { level: 1 }).waitFor();
          const own = (await violations(page, path)).filter((violation) => !ofTheme.test(violation));
          found.push(...own, ...(await overflow(page, path)));
        }
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
  });
}

async function findViolations(page: Page, label: string, rules: string[] | undefined): Promise<string[]> {
  // Without frames, axe need not open a second page to combine their results.
  const axe = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ["violations"] });
  const { violations: found } = await (rules ? axe.withRules(rules) : axe).analyze();
  return found.map(({ id, nodes }) => `${label}: ${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** Reports a page that scrolls sideways. */
async function overflow(page: Page, label: string): Promise<string[]> {
  const wide = await page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  return wide > 1 ? [`${label}: ${wide} px wider than the window`] : [];
}
