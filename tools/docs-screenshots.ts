// npm run docs:screenshots -- http://localhost:8080
//
// Takes screenshots of three docs pages in light and dark mode from a running server, with the system's Chromium, and
// saves them in .pennyblack/screenshots/. Fails if a page logs an error or warning, such as a CSP violation.

import { chromium, type Page } from "playwright-core";

const server = process.argv[2] ?? "http://localhost:8080";
const pages = { home: "", reference: "reference", "guide-errors": "errors" };
const schemes = ["light", "dark"] as const;

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"],
});
const errors: string[] = [];
try {
  for (const colorScheme of schemes) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme });
    collectErrors(page);
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(`${server}/docs/${path}`, { waitUntil: "networkidle" });
      await page.screenshot({ path: `.pennyblack/screenshots/docs-${name}-${colorScheme}.png` });
    }
    await checkSearch(page);
    await page.close();
  }
} finally {
  await browser.close();
}
for (const fault of errors) console.error(fault);
console.log(
  `${Object.keys(pages).length * schemes.length} screenshots in .pennyblack/screenshots, ${errors.length} errors`,
);
process.exitCode = errors.length === 0 ? 0 : 1;

function collectErrors(page: Page): void {
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") errors.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => void errors.push(`${page.url()}: ${error.message}`));
}

/** Checks that the search index loads when the search is opened. */
async function checkSearch(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("searchbox").fill("idempotency");
  const hit = page.locator("#localsearch-list a").first();
  await hit.waitFor({ timeout: 10_000 }).catch(() => void errors.push("the docs search returned no results"));
}
