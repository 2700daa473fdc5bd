import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { createPool } from "../../src/db/pool.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { createTestWallet } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

// The operator console in a real browser, on the internal listener.

describe("operators", { skip: noBrowser }, async () => {
  const first = await startFixtureUpstream("brave", "ok");
  const second = await startFixtureUpstream("searxng", "ok");
  const fixture = await startBrowserFixture({
    PENNYBLACK_UPSTREAMS: "brave,searxng",
    PENNYBLACK_BRAVE_KEY: "BSAfirst-key-of-brave-0001,BSAsecond-key-of-brave-0002",
    PENNYBLACK_BRAVE_CAP: "100000.00/month",
    ...replaceUrl("brave", first.url),
    PENNYBLACK_SEARXNG_URL: second.url,
  });
  const { db, server } = fixture;
  after(async () => {
    await fixture.close();
    await first.close();
    await second.close();
  });

  test("a failing upstream is reported with its runbook while searches use the other one", async () => {
    await fixture.visit(async (page) => {
      await fixture.signInOperator(page);
      const line = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "brave" }) });
      await line.getByText("active").first().waitFor();
      assert.equal(await page.getByRole("link", { name: "Cells" }).count(), 0, "PENNYBLACK_FLEET is not set");

      first.serve("brave", "down");
      const wallet = await createTestWallet(db, "50.00");
      const statuses = new Set<number>();
      const load = { isOver: false };
      const caller = (async () => {
        while (!load.isOver) statuses.add((await server.search(wallet.live, { query: "cats" })).status);
      })();
      const attention = page.getByRole("list", { name: "Needs attention" }).or(page.getByRole("alert"));
      try {
        await line
          .getByText(/circuit open|probing/)
          .first()
          .waitFor({ timeout: 30_000 });
        await attention.getByText(/brave/).first().waitFor({ timeout: 30_000 });
        const runbook = attention.getByRole("listitem").filter({ hasText: "brave" }).getByRole("link");
        assert.match((await runbook.first().getAttribute("href")) ?? "", /\/docs\/runbooks\//);
      } finally {
        load.isOver = true;
        await caller;
      }
      assert.deepEqual([...statuses], [200]);
    });
  });

  test("each key is shown by its first and last characters, and spending is a meter against the cost cap", async () => {
    await fixture.visit(async (page) => {
      await fixture.signInOperator(page);
      const keys = page.getByRole("list", { name: "Keys of brave" }).getByRole("listitem");
      await keys.filter({ hasText: "BSAf...0001" }).waitFor();
      assert.match(
        (await keys.allInnerTexts()).join("\n"),
        /^BSAf\.\.\.0001 .*\nBSAs\.\.\.0002 active, \d+ calls?, \d+ failures?/,
      );
      const meter = page.getByRole("meter", { name: "Cost cap of brave" });
      assert.match((await meter.getAttribute("aria-valuetext")) ?? "", /^\$\d+\.\d+ of \$100,000\.00$/);
      assert.doesNotMatch(await page.content(), /key-of-brave/);
    });
  });

  test("cost and margin are shown by upstream and by wallet, and a click on a wallet shows only its days", async () => {
    await fixture.visit(async (page) => {
      await fixture.signInOperator(page);
      await page.getByRole("link", { name: "Margin" }).first().click();
      await page.getByRole("img", { name: /^Cost: .* in 30 days$/ }).waitFor();
      const unpaid = page.getByRole("table", { name: "Unpaid calls by upstream" });
      assert.match(await unpaid.getByRole("row", { name: /^brave/ }).innerText(), /\$\d+\.\d\d$/);
      await page.getByText("7 days", { exact: true }).click();
      await page.getByRole("img", { name: /^Margin: .* in 7 days$/ }).waitFor();
      await page.getByText("Wallet", { exact: true }).first().click();
      const wallets = page.getByRole("table", { name: "Margin by wallet" });
      const row = wallets.getByRole("row", { name: /Fjord Analytics/ });
      const cost = (await row.getByRole("cell").nth(2).innerText()).trim();
      await row.getByRole("button").click();
      await page.getByRole("heading", { name: "By day, Fjord Analytics" }).waitFor();
      await page.getByRole("img", { name: `Cost: ${cost} in 7 days` }).waitFor();
    });
  });

  test("the system page lists the server with its load and explains how to show the last backup", async () => {
    await fixture.visit(async (page) => {
      await fixture.signInOperator(page);
      await page.getByRole("link", { name: "System" }).first().click();
      const servers = page.getByRole("table", { name: "Servers" });
      await servers.getByText(`process ${process.pid}`).waitFor();
      await page.getByText("grant execute on function pg_ls_waldir to pennyblack_operator").waitFor();
      // As a superuser would, in the database of this test.
      const superuser = createPool({ url: db.superuserUrl, name: "test", connections: 1, onIdleError: () => {} });
      await superuser.query("grant execute on function pg_ls_waldir to pennyblack_operator");
      await superuser.end();
      await page.reload();
      await page.getByText("Set up backups").first().waitFor();
      assert.equal(await page.getByText("pg_ls_waldir").count(), 0);
    });
  });

  test("credit is added once per reference and recorded in the audit log", async () => {
    await fixture.visit(async (page) => {
      await fixture.signInOperator(page);
      await page.getByRole("link", { name: "Accounts" }).first().click();
      await page.getByRole("button", { name: "Open wallet of Harbour Labs" }).click();
      const before = await fixture.readBalance();
      for (const outcome of ["credited", "repeated"]) {
        await page.getByLabel("Credit (USD)").fill("2.50");
        await page.getByLabel("Reference").fill("goodwill-7");
        await page.getByLabel(/^Reason( \*)?$/).fill("Slow yesterday");
        await page.getByRole("button", { name: "Add credit" }).click();
        await page.getByText(new RegExp(`^${outcome}`)).waitFor();
      }
      assert.equal(await fixture.readBalance(), before + 2_500_000n);
      await page.getByRole("link", { name: "Audit" }).first().click();
      await page.getByText("Slow yesterday").first().waitFor();
    });
  });

  test("credit above the limit is requested, with the command for the second operator", async () => {
    await fixture.visit(async (page) => {
      await fixture.signInOperator(page);
      await page.getByRole("link", { name: "Accounts" }).first().click();
      await page.getByRole("button", { name: "Open wallet of Harbour Labs" }).click();
      const before = await fixture.readBalance();
      await page.getByLabel("Credit (USD)").fill("250.00");
      await page.getByLabel("Reference").fill("goodwill-8");
      await page.getByLabel(/^Reason( \*)?$/).fill("Outage");
      await page.getByRole("button", { name: "Add credit" }).click();
      await page.getByText(/^requested\. .*npm run admin -- adjust approve --adjustment [0-9a-f-]{36}/).waitFor();
      assert.equal(await fixture.readBalance(), before);
    });
  });

  test("the pages of a customer are read-only, state who is looking, and link back", async () => {
    await fixture.visit(async (page) => {
      await page.goto(`${server.opsUrl}/console/w/${fixture.demo.walletId}`);
      await page.getByLabel("Token").waitFor();
      await fixture.signInOperator(page);
      await page.goto(`${server.opsUrl}/console/w/${fixture.demo.walletId}/keys`);
      await page.getByRole("row", { name: /^production agent/ }).waitFor();
      await page.getByText("Operator olga: a customer's account, read-only.").waitFor();
      assert.equal(await page.getByRole("button", { name: /create|edit|revoke|rotate/i }).count(), 0);
      for (const name of ["Usage", "Ledger", "Top up", "Alerts", "Team", "Overview"]) {
        await page.getByRole("link", { name, exact: true }).first().click();
        await page.getByRole("heading", { level: 1, name }).waitFor();
        await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
        assert.equal(await page.getByRole("alert").count(), 0, name);
      }
      // They search, or belong to a person.
      for (const name of ["Playground", "Apps", "Lens inspector"])
        assert.equal(await page.getByRole("link", { name, exact: true }).count(), 0, name);
      await page.getByRole("complementary", { name: "Operator" }).getByRole("link").click();
      await page.getByRole("heading", { level: 1, name: "Accounts" }).waitFor();
    });
  });

  test("requires a token, and is not served on the public listener", async () => {
    await fixture.visit(async (page) => {
      await page.goto(`${server.opsUrl}/console/`);
      await page.getByLabel("Token").fill("not-a-valid-token-0123456789abcdef");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").filter({ hasText: "token" }).waitFor();
      const open = await page.request.get(`${server.url}/operator/session`);
      assert.equal(open.status(), 404);
      await page.goto(`${server.url}/console/`);
      await page.waitForURL(/sign-in/);
      assert.equal(await page.getByLabel("Token").count(), 0);
    });
  });
});
