import type { Page } from "playwright-core";

// Every page of both consoles, for screenshots and accessibility tests.

export interface TestPage {
  name: string;
  path: string;
  /** Resolves when the page has finished loading. */
  ready: (page: Page) => Promise<void>;
}

const names = ["keys", "budgets", "usage", "ledger", "top-up", "alerts", "apps", "activity", "team"];

export const consolePageRoutes: TestPage[] = [
  { name: "overview", path: "", ready: settled },
  { name: "playground", path: "/playground", ready: searched },
  { name: "lens", path: "/lens", ready: inspected },
  ...names.map((name) => ({ name, path: `/${name}`, ready: settled })),
  { name: "search", path: "/usage?span=24h&group=key", ready: searchOpened },
];

/** The page "cells" needs `startStandInCells`. */
export const operatorPages: TestPage[] = [
  ...["upstreams", "cells", "margin", "accounts", "reconciliation", "audit", "system"].map((name) => ({
    name: `operator-${name}`,
    path: `#${name}`,
    ready: settled,
  })),
  { name: "operator-find", path: "#accounts?text=harbour&at=&outcome=ok", ready: requestOpened },
];

async function settled(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator('[aria-busy="true"], .mantine-Skeleton-root').first().waitFor({ state: "detached" });
  await page.waitForLoadState("networkidle").catch(() => undefined);
}

/** Opens a search that was found, and then its wallet. */
async function requestOpened(page: Page): Promise<void> {
  await settled(page);
  await page.getByRole("table", { name: "Requests" }).getByRole("button").first().click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
  await page.getByRole("button", { name: /^Open wallet/ }).click();
  await page.getByRole("table", { name: "Changes" }).waitFor();
  await settled(page);
}

/** Runs a search, which fails if no upstream is configured. */
async function searched(page: Page): Promise<void> {
  await settled(page);
  await page.getByPlaceholder("What do you want to find?").fill("postgresql advisory locks");
  const answered = page.waitForResponse(/playground\/search/);
  await page.getByRole("button", { name: /^Search/ }).click();
  await answered;
  await page.locator("[data-loading]").first().waitFor({ state: "detached" });
  await settled(page);
}

/** Inspects a page whose tier comes from a published list, which shows every part of the page. */
async function inspected(page: Page): Promise<void> {
  await settled(page);
  await page.getByLabel("URL or domain").fill("https://www.tva.com/energy");
  await page.getByRole("button", { name: "Inspect" }).click();
  await page.getByRole("heading", { name: "How to object" }).waitFor();
  await settled(page);
}

/** Selects an hour in the table and opens one of its requests. */
async function searchOpened(page: Page): Promise<void> {
  await settled(page);
  await page.getByRole("table", { name: "Usage" }).getByRole("link").first().click();
  await page
    .getByRole("button", { name: /^Remove filter/ })
    .first()
    .waitFor();
  // Two links per row, of which one is hidden on narrow screens.
  await page.getByRole("table", { name: "Requests" }).getByRole("link").first().click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
  await settled(page);
}
