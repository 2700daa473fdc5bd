import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { openTestAccount, someone } from "../support/console-fixture.ts";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

// The source policy of a key in the console, in a real browser against a real server without domain filters.

describe("source policy", { skip: noBrowser }, async () => {
  const fixture = await startBrowserFixture();
  const { db, server } = fixture;
  after(() => fixture.close());

  test("a person blocks domains for a new key, and the API enforces it", async () => {
    const email = someone("sources");
    const { walletId } = await openTestAccount(db, email);
    await fixture.visit(async (page) => {
      await fixture.signIn(page, email);
      await page.goto(`${server.url}/console/w/${walletId}/keys`);
      await page.evaluate(() => localStorage.setItem("pennyblack.mode", JSON.stringify("test")));
      await page.reload();
      await page.getByRole("button", { name: "Create key" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("support agent");
      await dialog.getByRole("button", { name: /^Advanced/ }).click();
      await dialog.getByLabel("Blocked domains").fill("https://example.com");
      await dialog.getByRole("button", { name: "Create key" }).click();
      await dialog.getByText("https://example.com is not one.").waitFor();
      await dialog.getByLabel("Blocked domains").fill("Example.com\nbücher.example");
      await dialog.getByRole("button", { name: "Create key" }).click();
      const key = (await page.getByText(/^pb_test_\w+$/).textContent()) ?? "";
      const { status, body, headers } = await server.search(key, { query: "cats", n: 20 });
      assert.equal(status, 200);
      assert.ok(Number(headers.get("search-filtered")) > 0);
      assert.ok(body.results.every(({ source }: { source: string }) => !/(?:^|\.)example\.com$/.test(source)));
      await page.getByRole("button", { name: "I've saved it" }).click();

      await page.getByRole("button", { name: "Actions for support agent" }).click();
      await page.getByRole("menuitem", { name: "Edit" }).click();
      assert.equal(await page.getByLabel("Blocked domains").inputValue(), "example.com\nxn--bcher-kva.example");
      await page.getByLabel("Blocked domains").fill("");
      await page.getByLabel("Allowed domains").fill("example.com");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      const { rows } = await db.owner.query("select sources from pb.keys where name = 'support agent'");
      assert.deepEqual(rows, [{ sources: { only: ["example.com"] } }]);
    });
  });
});
