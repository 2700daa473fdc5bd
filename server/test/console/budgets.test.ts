import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { addTestMember, openTestAccount, someone } from "../support/console-fixture.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { createTestKey } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

// Shared budgets in a real browser, against a real server.

describe("shared budgets", { skip: noBrowser }, async () => {
  const upstream = await startFixtureUpstream("brave", "ok");
  const fixture = await startBrowserFixture({ PENNYBLACK_BRAVE_KEY: "key", ...replaceUrl("brave", upstream.url) });
  const { db, server } = fixture;

  after(async () => {
    await fixture.close();
    await upstream.close();
  });

  async function openPage(email: string, walletId: string, path: string, flow: (page: Page) => Promise<void>) {
    await fixture.visit(async (page) => {
      await fixture.signIn(page, email);
      await page.goto(`${server.url}/console/w/${walletId}/${path}`);
      await flow(page);
    });
  }

  async function search(key: string): Promise<number> {
    return (await server.search(key, { query: "cats" })).status;
  }

  test("two keys spend from a budget that an owner creates and raises", async () => {
    const email = someone("owner");
    const { walletId } = await openTestAccount(db, email);
    const agent = await createTestKey(db, { walletId, name: "agent" });
    const crawler = await createTestKey(db, { walletId, name: "crawler" });
    await openPage(email, walletId, "budgets", async (page) => {
      await page.getByText("No shared budgets").waitFor();
      await page.getByRole("button", { name: "Create budget" }).first().click();
      const form = page.getByRole("dialog", { name: "Create budget" });
      await form.getByRole("button", { name: "Create budget" }).click();
      await form.getByText("Enter a name.").waitFor();
      await form.getByLabel("Name").fill("Research team");
      await form.getByLabel("Amount", { exact: true }).fill("0.02");
      await form.getByLabel("Period").selectOption("Per week");
      await form.getByRole("button", { name: "Create budget" }).click();
      const row = page.getByRole("row").filter({ hasText: "Research team" });
      await row.getByText("$0.00 of $0.02 this week").waitFor();
      await row.getByText("80%, 95%").waitFor();

      await page.getByRole("link", { name: "Keys", exact: true }).first().click();
      for (const name of ["agent", "crawler"]) {
        await page.getByRole("button", { name: `Actions for ${name}` }).click();
        await page.getByRole("menuitem", { name: "Edit" }).click();
        await page.getByRole("checkbox", { name: "Research team" }).check();
        await page.getByRole("button", { name: "Save" }).click();
        await page.getByRole("row").filter({ hasText: name }).getByText("$0.00 of $0.02 this week").waitFor();
      }
      assert.deepEqual([await search(agent.key), await search(crawler.key), await search(agent.key)], [200, 200, 403]);
      const keyRow = page.getByRole("row").filter({ hasText: "crawler" });
      await keyRow.getByText("Budget spent").waitFor();

      await page.getByRole("link", { name: "Budgets", exact: true }).first().click();
      await row.getByText("$0.02 of $0.02 this week").waitFor();
      // Keys created within a millisecond have no order.
      await row.getByText(/^(?:crawler, agent|agent, crawler)$/).waitFor();
      await page.getByRole("button", { name: "Actions for Research team" }).click();
      await page.getByRole("menuitem", { name: "Edit" }).click();
      const edit = page.getByRole("dialog", { name: "Edit Research team" });
      await edit.getByText("$0.02 is spent.").waitFor();
      await edit.getByLabel("Amount", { exact: true }).fill("0.03");
      await edit.getByRole("button", { name: "Save" }).click();
      await row.getByText("$0.02 of $0.03 this week").waitFor();
      assert.deepEqual([await search(agent.key), await search(crawler.key)], [200, 403]);
    });
  });

  test("a budget is archived once no key names it, and the dialog lists the keys that do", async () => {
    const email = someone("archiver");
    const { walletId } = await openTestAccount(db, email);
    const { id: keyId } = await createTestKey(db, { walletId, name: "agent" });
    const setBudgets = (page: Page, budgets: string[]): Promise<unknown> =>
      send(page, "PATCH", `wallets/${walletId}/keys/${keyId}`, { budgets });
    await openPage(email, walletId, "budgets", async (page) => {
      const body = { mode: "live", name: "Old project", amount: "5.00", period: "total" };
      const { id } = (await send(page, "POST", `wallets/${walletId}/budgets`, body)) as { id: string };
      await page.reload();
      await page.getByRole("button", { name: "Actions for Old project" }).click();
      await page.getByRole("menuitem", { name: "Archive" }).click();
      const dialog = page.getByRole("dialog", { name: "Archive Old project" });
      await dialog.getByText("No key names it.").waitFor();
      // The open page must not learn of this change before the server refuses.
      await page.route(/\/keys(?:\?|$)/, () => undefined);
      await setBudgets(page, [id]);
      await dialog.getByRole("button", { name: "Archive budget" }).click();
      await dialog.getByRole("alert").getByRole("listitem").getByText("agent", { exact: true }).waitFor();
      assert.ok(await dialog.getByRole("button", { name: "Archive budget" }).isDisabled());
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await setBudgets(page, []);
      await page.reload();
      await page.getByRole("button", { name: "Actions for Old project" }).click();
      await page.getByRole("menuitem", { name: "Archive" }).click();
      await dialog.getByRole("button", { name: "Archive budget" }).click();
      await page.getByText("No shared budgets").waitFor();
    });
  });

  test("an expired key counts for its budget until it is revoked in the list of inactive keys", async () => {
    const email = someone("expired");
    const { walletId } = await openTestAccount(db, email);
    const { id: keyId } = await createTestKey(db, { walletId, name: "old agent" });
    await openPage(email, walletId, "budgets", async (page) => {
      const body = { mode: "live", name: "Old project", amount: "5.00", period: "total" };
      const { id } = (await send(page, "POST", `wallets/${walletId}/budgets`, body)) as { id: string };
      await send(page, "PATCH", `wallets/${walletId}/keys/${keyId}`, { budgets: [id] });
      await db.owner.query("update pb.keys set expires_at = clock_timestamp() where id = $1", [keyId]);
      await page.reload();
      const archive = async (): Promise<void> => {
        await page.getByRole("button", { name: "Actions for Old project" }).click();
        await page.getByRole("menuitem", { name: "Archive" }).click();
      };
      await archive();
      const dialog = page.getByRole("dialog", { name: "Archive Old project" });
      await dialog.getByRole("alert").getByText("An expired key counts until it is revoked.").waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();

      await page.getByRole("link", { name: "Keys", exact: true }).first().click();
      await page.getByRole("button", { name: "Show 1 inactive key" }).click();
      await page.getByRole("button", { name: "Actions for old agent" }).click();
      await page.getByRole("menuitem", { name: "Revoke" }).waitFor();
      assert.deepEqual(await page.getByRole("menuitem").allTextContents(), ["Activity", "Revoke"]);
      await page.getByRole("menuitem", { name: "Revoke" }).click();
      await page.getByLabel("Type old agent to confirm").fill("old agent");
      await page.getByRole("button", { name: "Revoke key" }).click();
      await page.getByRole("row").filter({ hasText: "old agent" }).getByText("Revoked").waitFor();
      assert.equal(await page.getByRole("button", { name: "Actions for old agent" }).count(), 0);

      await page.getByRole("link", { name: "Budgets", exact: true }).first().click();
      await archive();
      await dialog.getByText("No key names it.").waitFor();
    });
  });

  test("a budget per end user has no total, and a viewer cannot change it", async () => {
    const [email, viewer] = [someone("owner"), someone("viewer")];
    const { accountId, walletId } = await openTestAccount(db, email);
    await addTestMember(db, accountId, viewer, "viewer");
    await openPage(email, walletId, "budgets?dialog=create", async (page) => {
      const form = page.getByRole("dialog", { name: "Create budget" });
      await form.getByLabel("Name").fill("Support chat");
      await form.getByLabel("Period").selectOption("Total, without a reset");
      await form.getByLabel("Each end user separately").check();
      assert.equal(await form.getByLabel("Period").inputValue(), "month");
      await form.getByLabel("Amount for each end user").fill("0.50");
      await form.getByRole("button", { name: "Create budget" }).click();
      await page.getByText("$0.50 per end user and month").waitFor();
    });
    await openPage(viewer, walletId, "budgets", async (page) => {
      await page.getByText("$0.50 per end user and month").waitFor();
      assert.equal(await page.getByRole("button", { name: /Create budget|Actions/ }).count(), 0);
    });
  });

  /** As the page itself does, with its session. */
  async function send(page: Page, method: string, path: string, data: object): Promise<unknown> {
    const headers = { "x-pennyblack-csrf": "1", origin: server.url };
    const answer = await page.request.fetch(`${server.url}/console/api/${path}`, { method, data, headers });
    assert.equal(answer.status(), 200, await answer.text());
    return answer.json();
  }
});
