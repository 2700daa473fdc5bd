import { existsSync } from "node:fs";
import type { Page } from "playwright-core";
import { makeSignInLink } from "../../src/console/sessions.ts";
import { choosePort } from "../../src/dev/choose-port.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { startTestServer, type TestServer } from "../support/services/server.ts";

export interface BrowserFixture {
  db: TestDatabase;
  server: TestServer;
  /** Opens a sign-in link, as sent by e-mail. */
  signIn(page: Page, email: string): Promise<void>;
  /** Signs in to the operator console on the internal listener. */
  signInOperator(page: Page): Promise<void>;
  close(): Promise<void>;
}

const operatorToken = "operator-token-for-tests-0123456789-abcd";

/** A server with the built console. Its public URL matches its address, which cookies and CSRF checks require. */
export async function startBrowserFixture(settings: Record<string, string> = {}): Promise<BrowserFixture> {
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
  return {
    db,
    server,
    async signIn(page, email) {
      const link = await makeSignInLink(db.owner, { email, publicUrl, ttlMinutes: 5 });
      if (!link) throw new Error(`there is no person ${email}`);
      await page.goto(link);
      await page.waitForURL(/\/console\/(?:w\/|welcome)/);
    },
    async signInOperator(page) {
      await page.goto(`${server.opsUrl}/console/`);
      await page.getByLabel("Token").fill(operatorToken);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Upstreams" }).waitFor();
    },
    async close() {
      await server.close();
      await db.drop();
    },
  };
}
