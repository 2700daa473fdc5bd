import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { choosePort } from "../../src/dev/choose-port.ts";
import { until } from "../support/assertions/until.ts";
import { redirectUrl, signInApp } from "../support/clients/mcp-oauth-client.ts";
import { startOpenidProvider } from "../support/services/openid-provider.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

// A person connects an app in a real browser: sign-in and consent at a real provider, and the official MCP client with its own
// OAuth flow.

describe("connected apps", { skip: noBrowser }, async () => {
  const port = await choosePort({ host: "127.0.0.1" });
  const publicUrl = `http://127.0.0.1:${port}`;
  const provider = await startOpenidProvider(publicUrl);
  const upstream = await startHostileUpstream();
  const fixture = await startBrowserFixture({
    PORT: String(port),
    PENNYBLACK_PUBLIC_URL: publicUrl,
    PENNYBLACK_SEARXNG_URL: upstream.url,
    ...provider.settings,
  });
  const { demo } = fixture;

  after(async () => {
    await fixture.close();
    await upstream.close();
    await provider.close();
  });

  /** The provider's pages load a font from another host. */
  async function withoutFonts(page: Page): Promise<void> {
    await page.context().route("https://fonts.googleapis.com/**", (route) => route.fulfill({ body: "" }));
  }

  async function signIn(page: Page): Promise<void> {
    await page.goto(`${publicUrl}/console/api/sign-in/oidc?fresh=1&return_to=/console/apps`);
    await page.getByPlaceholder("Enter any login").fill(demo.ownerEmail);
    await page.getByPlaceholder("and password").fill("x");
    await page.getByRole("button", { name: "Sign-in" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: "Apps", level: 1 }).waitFor();
  }

  /** Gives consent in another tab, where the person is signed in at the provider. */
  async function consent(page: Page, url: string): Promise<string> {
    const tab = await page.context().newPage();
    // Nothing listens there; the app needs only the URL.
    const redirected = tab.waitForRequest((request) => request.url().startsWith(redirectUrl));
    await tab.goto(url);
    await tab.getByRole("button", { name: "Continue" }).click();
    const answer = (await redirected).url();
    await tab.close();
    return answer;
  }

  test("a person turns apps on, connects one, limits it and disconnects it", async () => {
    await fixture.visit(async (page) => {
      await withoutFonts(page);
      await signIn(page);
      await page.getByText("Off. Your apps cannot spend").waitFor();
      await page.getByLabel("Daily budget of your apps").fill("0.02");
      await page.getByRole("button", { name: "Turn on for this wallet" }).click();
      await page.getByText("On. Each new app you connect can spend $0.02 per day").waitFor();

      const before = await fixture.readBalance();
      const app = await signInApp(publicUrl, (url) => consent(page, url));
      const client = await app.connect();
      const found = await client.call("web_search", { query: "penny black" });
      assert.equal(found.isError, false, found.text);
      assert.equal(found.structured.key_budgets[0].left, "0.01");
      assert.equal(await fixture.readBalance(), before - 10_000n);

      await page.reload();
      const row = page.getByRole("table", { name: "Apps", exact: true }).getByRole("row", { name: app.clientId });
      await row.getByText("$0.01 of $0.02 today").waitFor();
      await row.getByText("You", { exact: true }).waitFor();
      await page.getByRole("button", { name: `Edit ${app.clientId}` }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("Research");
      await page.getByRole("dialog").getByLabel("Daily budget").fill("0.05");
      await page.getByRole("button", { name: "Save" }).last().click();
      await page.getByText("$0.01 of $0.05 today").waitFor();

      await page.getByRole("button", { name: "Disconnect Research" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
      await page.getByRole("button", { name: "Show 2 disconnected apps" }).waitFor();
      // The server may have the key in its cache for a second, but no hold succeeds.
      await client.call("web_search", { query: "cats" }).catch(() => undefined);
      assert.equal(await fixture.readBalance(), before - 10_000n);
      const headers = { authorization: `Bearer ${app.token}` };
      const call = () => fixture.server.request("/mcp", { method: "POST", headers });
      await until("the server rejects the app", async () => (await call()).status === 401);
      const refused = await call();
      assert.match(
        refused.headers.get("www-authenticate") ?? "",
        /error="invalid_token", resource_metadata="http.*\/\.well-known\/oauth-protected-resource\/mcp"$/,
      );
      await client.close();
    });
  });
});
