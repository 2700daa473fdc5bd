import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { timeFactor } from "../support/assertions/until.ts";

/** Installed with `apt-get install chromium`, as .ci/run does. */
const chromiumPath = "/usr/bin/chromium";

const chromiumFlags = [
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

/** Reason to skip browser tests, or false. CI never skips them. */
export const noBrowser =
  existsSync(chromiumPath) || process.env["CI"] === "true" ? false : "install Chromium: apt-get install chromium";

export function openBrowser(flags: readonly string[]): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath, args: [...chromiumFlags, ...flags] });
}

/** Opens a page and collects its console errors, exceptions and policy violations. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(timeFactor * 15_000);
  const page: Page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => void errors.push(`${page.url()}: ${error.message}`));
  page.on("console", (message) => {
    // The browser logs every 4xx and 5xx response, including those the page handles, and requests that it has to repeat
    // because another process has added a network interface.
    const isExpected = /status of [45]\d\d|ERR_NETWORK_CHANGED/.test(message.text());
    if (message.type() === "error" && !isExpected) errors.push(message.text());
  });
  return { page, context, errors };
}
