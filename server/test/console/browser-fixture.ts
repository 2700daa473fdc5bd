import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { makeSignInLink } from "../../src/console/sessions.ts";
import { choosePort } from "../../src/dev/choose-port.ts";
import { testAct } from "../support/data/test-act.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { startTestServer, type TestServer, testPepper } from "../support/services/server.ts";
import { openBrowser, openPage } from "./browser.ts";
import { type Demo, seedDemo } from "./seed-demo.ts";

export interface BrowserFixture {
  db: TestDatabase;
  server: TestServer;
  browser: Browser;
  demo: Demo;
  /** Runs a flow in a new page. Fails on console errors, exceptions and policy violations. */
  visit(flow: (page: Page) => Promise<void>, options?: BrowserContextOptions): Promise<void>;
  /** The balance of the demo wallet, in micro-USD. */
  readBalance(): Promise<bigint>;
  /** Opens a sign-in link, as sent by e-mail. */
  signIn(page: Page, email: string): Promise<void>;
  /** Signs in to the operator console on the internal listener. */
  signInOperator(page: Page): Promise<void>;
  close(): Promise<void>;
}

const operatorToken = "operator-token-for-tests-0123456789-abcd";

/** A browser, and a server with the built console and demo data. Its public URL matches its address, which cookies and CSRF checks require. */
export async function startBrowserFixture(
  settings: Record<string, string> = {},
  browserFlags: readonly string[] = [],
): Promise<BrowserFixture> {
  if (!existsSync(new URL("../../../console/dist/index.html", import.meta.url))) {
    throw new Error("the console is not built: npm run console:build");
  }
  const db = await createTestDatabase();
  const port = await choosePort({ host: "127.0.0.1" });
  const publicUrl = `http://127.0.0.1:${port}`;
  const server = await startTestServer(db, {
    PORT: String(port),
    PENNYBLACK_PUBLIC_URL: publicUrl,
    PENNYBLACK_OPERATORS: `olga:${operatorToken}`,
    PENNYBLACK_OPERATOR_DATABASE_URL: db.operatorUrl,
    ...settings,
  });
  const demo = await seedDemo(db.owner, testPepper);
  const browser = await openBrowser(browserFlags);
  return {
    db,
    server,
    browser,
    demo,
    async visit(flow, options) {
      const { page, context, errors } = await openPage(browser, options);
      try {
        await flow(page);
        assert.deepEqual(errors, []);
      } catch (error) {
        const shown = await page.locator("body").innerText({ timeout: 5_000 }).catch(String);
        throw new Error(`on ${page.url()}, which shows: ${shown}`, { cause: error });
      } finally {
        await context.close();
      }
    },
    async readBalance() {
      const { rows } = await db.owner.query<{ left: bigint }>(
        "select credited_micros - debited_micros as left from pb.wallets where id = $1",
        [demo.walletId],
      );
      return rows[0]?.left ?? 0n;
    },
    async signIn(page, email) {
      const link = await makeSignInLink(db.owner, { email, publicUrl, ttlMinutes: 5, act: testAct });
      if (!link) throw new Error(`there is no person ${email}`);
      await page.goto(link);
      await page.getByText(`This link signs you in as ${email}.`).waitFor();
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.waitForURL(/\/console\/(?:w\/|welcome)/);
    },
    async signInOperator(page) {
      await page.goto(`${server.opsUrl}/console/`);
      await page.getByLabel("Token").fill(operatorToken);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Upstreams" }).waitFor();
    },
    async close() {
      await browser.close();
      await server.close();
      await db.drop();
    },
  };
}
