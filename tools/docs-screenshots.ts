// npm run docs:screenshots -- http://localhost:8080
//
// Three pages of the docs, light and dark, from a running server into docs/images/, seen by the machine's own Chromium. It
// fails if a page breaks the server's policy or shows a fault, so that a picture is never of a broken page.

import { chromium, type Page } from "playwright-core";

const server = process.argv[2] ?? "http://localhost:8080";
const pages = { home: "", reference: "reference", "guide-errors": "errors" };
const schemes = ["light", "dark"] as const;

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"],
});
const faults: string[] = [];
try {
  for (const colorScheme of schemes) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme });
    watch(page);
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(`${server}/docs/${path}`, { waitUntil: "networkidle" });
      await page.screenshot({ path: `docs/images/docs-${name}-${colorScheme}.png` });
    }
    await search(page);
    await page.close();
  }
} finally {
  await browser.close();
}
for (const fault of faults) console.error(fault);
console.log(`${Object.keys(pages).length * schemes.length} pictures in docs/images, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;

function watch(page: Page): void {
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => void faults.push(`${page.url()}: ${error.message}`));
}

/** The search has an index of its own, loaded when it is opened. */
async function search(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("searchbox").fill("idempotency");
  const hit = page.locator("#localsearch-list a").first();
  await hit.waitFor({ timeout: 10_000 }).catch(() => void faults.push("the search found nothing"));
}
