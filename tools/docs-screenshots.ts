// npm run docs:screenshots -- http://localhost:8080
//
// Takes screenshots of the landing page, docs pages and the search of the docs from a running server, in light and dark mode
// and 390 pixels wide, with the system's Chromium, and saves them in .pennyblack/screenshots/. Fails if a page logs an error or
// a warning, such as a CSP violation, or is wider than the screen.

import { chromium, type Page } from "playwright-core";

const server = process.argv[2] ?? "http://localhost:8080";
const pages = {
  landing: "/",
  home: "/docs/",
  quickstart: "/docs/quickstart",
  reference: "/docs/reference/keys",
  problem: "/docs/problems/key_budget_spent",
};
const screens = { light: 1280, dark: 1280, phone: 390 } as const;

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"],
});
const errors: string[] = [];
try {
  for (const [screen, width] of Object.entries(screens)) {
    const colorScheme = screen === "dark" ? "dark" : "light";
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    collectErrors(page);
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(`${server}${path}`, { waitUntil: "networkidle" });
      await page.screenshot({ path: `.pennyblack/screenshots/docs-${name}-${screen}.png` });
      const overflow = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
      if (overflow > 0) errors.push(`${page.url()} is ${overflow} pixels wider than ${width}`);
    }
    await search(page, `.pennyblack/screenshots/docs-search-${screen}.png`);
    await page.close();
  }
} finally {
  await browser.close();
}
for (const fault of errors) console.error(fault);
console.log(
  `${(Object.keys(pages).length + 1) * Object.keys(screens).length} screenshots in .pennyblack/screenshots, ${errors.length} errors`,
);
process.exitCode = errors.length === 0 ? 0 : 1;

function collectErrors(page: Page): void {
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") errors.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => void errors.push(`${page.url()}: ${error.message}`));
}

async function search(page: Page, screenshot: string): Promise<void> {
  await page.goto(`${server}/docs/quickstart`, { waitUntil: "networkidle" });
  await page.getByRole("button", { name: "Search" }).first().click();
  await page.getByRole("searchbox").fill("budget");
  await page.locator("#localsearch-list a").first().waitFor();
  await page.screenshot({ path: screenshot });
}
