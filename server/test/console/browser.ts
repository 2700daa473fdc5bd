import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** The machine's own Chromium: `apt-get install chromium`, as .ci/run does. */
export const chromiumPath = "/usr/bin/chromium";

export const chromiumFlags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];

/** Why there is no browser here, or nothing. In CI there is one, or the tests fail. */
export const noBrowser =
  existsSync(chromiumPath) || process.env["CI"] === "true" ? false : "there is no Chromium: apt-get install chromium";

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath, args: chromiumFlags });
}

/** A page whose faults are kept: what it wrote as an error, what it threw, what its policy blocked. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page: Page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => void faults.push(`${page.url()}: ${error.message}`));
  page.on("console", (message) => {
    // A refusal that the page shows as one is also written by the browser itself.
    if (message.type() === "error" && !/status of [45]\d\d/.test(message.text())) faults.push(message.text());
  });
  return { page, context, faults };
}
