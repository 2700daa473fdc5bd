import type { Page } from "playwright-core";

// Every page of the consoles, for pictures and for those who look at all of them.

export interface PlacedPage {
  name: string;
  path: string;
  /** What is there was read: nothing says that it is loading any more. */
  ready: (page: Page) => Promise<void>;
}

const names = ["keys", "usage", "ledger", "top-up", "alerts", "team"];

export const consolePages: PlacedPage[] = [
  { name: "overview", path: "", ready: settled },
  { name: "playground", path: "/playground", ready: searched },
  ...names.map((name) => ({ name, path: `/${name}`, ready: settled })),
];

export const operatorPages: PlacedPage[] = ["upstreams", "margin", "accounts", "books", "audit", "system"].map(
  (name) => ({ name: `operator-${name}`, path: `#${name}`, ready: settled }),
);

async function settled(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator('[aria-busy="true"], .mantine-Skeleton-root').first().waitFor({ state: "detached" });
  await page.waitForLoadState("networkidle").catch(() => undefined);
}

/** With an answer in it, or the refusal of one where no upstream is connected. */
async function searched(page: Page): Promise<void> {
  await settled(page);
  await page.getByPlaceholder("What do you want to find?").fill("postgresql advisory locks");
  const answered = page.waitForResponse(/playground\/search/);
  await page.getByRole("button", { name: /^Search/ }).click();
  await answered;
  await page.locator("[data-loading]").first().waitFor({ state: "detached" });
  await settled(page);
}
