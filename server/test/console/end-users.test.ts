import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { openTestAccount, someone } from "../support/console-fixture.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { createTestKey } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

// End users in the console, in a real browser against a real server.

describe("end users", { skip: noBrowser }, async () => {
  const upstream = await startFixtureUpstream("brave", "ok");
  const fixture = await startBrowserFixture({ PENNYBLACK_BRAVE_KEY: "key", ...replaceUrl("brave", upstream.url) });
  const { db, server } = fixture;

  after(async () => {
    await fixture.close();
    await upstream.close();
  });

  function visit(email: string, flow: (page: Page) => Promise<void>): Promise<void> {
    return fixture.visit(async (page) => {
      await fixture.signIn(page, email);
      await flow(page);
    });
  }

  const at = (path: string, walletId: string): string => `${server.url}/console/w/${walletId}/${path}`;

  test("usage and its CSV are grouped and filtered by end user, and stop at a visible limit", async () => {
    const email = someone("end-users");
    const { walletId } = await openTestAccount(db, email);
    const { key } = await createTestKey(db, { walletId, name: "agent" });
    for (const user of ["user-a", "user-a", "user-b"])
      assert.equal((await server.search(key, { query: "cats" }, { "search-for": user })).status, 200);
    assert.equal((await server.search(key, { query: "cats" })).status, 200);
    await visit(email, async (page) => {
      const total = page.getByText("Searches", { exact: true }).locator("..");
      await page.goto(at("usage", walletId));
      await total.getByText("4", { exact: true }).waitFor();
      await page.getByText("End user", { exact: true }).click();
      await total.getByText("3", { exact: true }).waitFor();
      const shortened = page.getByRole("table", { name: "Usage" }).getByRole("columnheader", { name: /^~[\w-]{8}…$/ });
      assert.equal(await shortened.count(), 2);

      const filter = page.getByRole("textbox", { name: "End user" });
      await filter.fill("not an id");
      await filter.press("Enter");
      await page.getByText("Use 1 to 64 letters, digits or any of").waitFor();
      await filter.fill("user-a");
      await filter.press("Enter");
      await total.getByText("2", { exact: true }).waitFor();
      assert.equal(new URL(page.url()).searchParams.get("for"), "user-a");
      const list = page.getByRole("table", { name: "Searches" });
      await list
        .getByText(/^for ~/)
        .nth(1)
        .waitFor();
      assert.equal(await list.getByRole("row").count(), 3);
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download CSV" }).click();
      const csv = readFileSync(await (await downloading).path(), "utf8");
      assert.match(csv, /^day_utc,mode,end_user,searches,charged_usd\r\n\S+T00:00:00Z,live,~[\w-]{22},2,0\.02\r\n$/);

      await db.owner.query(
        `insert into pb.usage_end_users (wallet_id, day, mode, end_user, searches, charged_micros)
         select $1, (now() at time zone 'utc')::date - 1, 'live', 'id-' || n, 1, 10000 from generate_series(1, 50001) n`,
        [walletId],
      );
      await page.getByRole("button", { name: /^Remove filter End user/ }).click();
      await page.reload();
      await page.getByText("Only the first 50,000 figures are included").waitFor();
      await total.getByText("50,000", { exact: true }).waitFor();
    });
  });

  test("sets a limit per end user on a key, and the API enforces it", async () => {
    const email = someone("end-user-limit");
    const { walletId } = await openTestAccount(db, email);
    const { key } = await createTestKey(db, { walletId, name: "agent" });
    const searchFor = async (user: string): Promise<string> => {
      const { status, body } = await server.search(key, { query: "cats" }, { "search-for": user });
      return body.code ?? String(status);
    };
    await visit(email, async (page) => {
      await page.goto(at("keys", walletId));
      const edit = async (): Promise<void> => {
        await page.getByRole("button", { name: "Actions for agent" }).click();
        await page.getByRole("menuitem", { name: "Edit" }).click();
      };
      await edit();
      await page.getByRole("button", { name: /^Advanced/ }).click();
      await page.getByLabel("Each end user").fill("0.01");
      await page.getByLabel("Period").selectOption("month");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("row").getByText("$0.01 per end user and month").waitFor();
      const outcomes = [await searchFor("user-a"), await searchFor("user-a"), await searchFor("user-b")];
      assert.deepEqual(outcomes, ["200", "end_user_budget_spent", "200"]);
      assert.equal((await server.search(key, { query: "cats" })).status, 400, "the end user is required");

      await edit();
      assert.equal(await page.getByLabel("Each end user").inputValue(), "0.01");
      await page.getByLabel("Each end user").fill("");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("row").getByText("No limit").waitFor();
      assert.equal(await searchFor("user-a"), "200");
    });
  });
});
