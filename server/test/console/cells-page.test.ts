import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";
import { startStandInCells } from "./stand-in-cells.ts";

// The page with all cells in the operator console.

describe("cells", { skip: noBrowser }, async () => {
  const cells = await startStandInCells();
  const fixture = await startBrowserFixture(cells.settings);
  after(async () => {
    await fixture.close();
    await cells.close();
  });

  async function openCells(page: Page): Promise<(name: string) => Promise<string>> {
    await fixture.signInOperator(page);
    await page.getByRole("link", { name: "Cells" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Cells" }).waitFor();
    return async (name) => {
      const text = await page.getByRole("row", { name: new RegExp(`^${name}`) }).innerText();
      return text.replaceAll(/\s+/g, " ");
    };
  }

  test("each cell is shown with its state and figures, and the cells that were reached are added up", async () => {
    await fixture.visit(async (page) => {
      const row = await openCells(page);
      await page.getByText("not reachable").waitFor();
      assert.equal(await row("eu1"), "eu1 healthy 1.4.0 2 810.4 187 $9,120.44 $184,230.55");
      assert.equal(await row("us2"), "us2 2 open problems 1.4.1 1+ 205.6 44 $4,000.01 $96,000.05");
      assert.equal(await row("ap1"), "ap1 not reachable – – – – – –");
      assert.equal(await row("Total"), "Total of the cells shown 3 1,016.0 231 $13,120.45 $280,230.60");
      await page.getByText(/Only the server that answered is counted in us2:/).waitFor();
      const problems = page.getByRole("list", { name: "Open problems of all cells" }).getByRole("listitem");
      assert.equal(await problems.count(), 2);
      assert.match(await problems.first().innerText(), /^us2: No worker is running/);
      const runbook = problems.first().getByRole("link", { name: "Runbook" });
      assert.equal(await runbook.getAttribute("href"), "/docs/runbooks/worker-not-seen");
    });
  });

  test("a cell that does not respond is reported after the time limit, and the others are shown before", async () => {
    cells.suspend("eu1");
    await fixture.visit(async (page) => {
      const row = await openCells(page);
      await page.getByRole("row", { name: /^us2 2 open problems/ }).waitFor();
      assert.equal(await row("eu1"), "eu1 loading – – – – – –");
      await page.getByText("no response").waitFor();
      cells.resume("eu1");
      await page.getByRole("row", { name: /^eu1 healthy/ }).waitFor();
    });
  });

  test("a look-up queries every cell, links to the console of the one that has it, and names those that cannot be reached", async () => {
    await fixture.visit(async (page) => {
      await fixture.signInOperator(page);
      await page.getByRole("link", { name: "Accounts" }).first().click();
      await page.getByLabel("Request ID, wallet, key, email or name").fill("quay");
      await page.getByRole("button", { name: "Find" }).click();
      await page.getByText("Cell eu1").waitFor();
      const row = page.getByRole("row", { name: /^Quay Research/ });
      const link = row.getByRole("link", { name: "Account pages" });
      assert.match(
        (await link.getAttribute("href")) ?? "",
        /^http:.*\/console\/w\/01930000-0000-7000-8000-000000000001$/,
      );
      // A wallet of another cell is credited and suspended there.
      assert.equal(await row.getByRole("button").count(), 0);
      assert.match(
        await page.getByRole("alert").last().innerText(),
        /^These cells did not answer, .*: ap1 \(not reachable\)\.$/,
      );
      assert.equal(await page.getByText("Nothing found").count(), 0);
    });
  });

  test("a link to the page opens it", async () => {
    await fixture.visit(async (page) => {
      await fixture.signInOperator(page);
      await page.goto(`${fixture.server.opsUrl}/console/#cells`);
      await page.reload();
      await page.getByRole("row", { name: /^ap1 not reachable/ }).waitFor();
    });
  });
});
