import { existsSync } from "node:fs";
import { createServer } from "node:net";
import type { Page } from "playwright-core";
import { makeSignInLink } from "../../src/console/sessions.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { startTestServer, type TestServer } from "../support/services/server.ts";

export interface BrowserFixture {
  db: TestDatabase;
  server: TestServer;
  /** Opens the link that a letter would bring. */
  signIn(page: Page, email: string): Promise<void>;
  /** In the operators' console, on the internal listener. */
  signInOperator(page: Page): Promise<void>;
  close(): Promise<void>;
}

const operatorToken = "operator-token-of-the-stories-0123456789";

/** A server with the built console, at an address that it knows as its own: browsers and cookies are strict about that. */
export async function startBrowserFixture(settings: Record<string, string> = {}): Promise<BrowserFixture> {
  if (!existsSync(new URL("../../../console/dist/index.html", import.meta.url))) {
    throw new Error("the console is not built: npm run console:build");
  }
  const db = await createTestDatabase();
  const port = await freePort();
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
      if (!link) throw new Error(`nobody is known as ${email}`);
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

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
