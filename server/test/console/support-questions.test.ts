import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { signUp } from "../../src/accounts/accounts.ts";
import { until } from "../support/assertions/until.ts";
import { seedKeyLimits } from "../support/data/seed-wallet.ts";
import { testAct } from "../support/data/test-act.ts";
import { createTestKey, testPepper } from "../support/services/server.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

// The questions of docs/runbooks/support-questions.md, answered as the page describes, from the page Accounts. The test counts
// the clicks, and prints the seconds until the answer is on the screen.

const documented = readFileSync(new URL("../../../docs/runbooks/support-questions.md", import.meta.url), "utf8");

/** The actions of an operator. Typing into a field is not a click; choosing from a list is. */
interface Hands {
  page: Page;
  click: (target: Locator) => Promise<void>;
  find: (request: { text: string; isRecent?: boolean; outcome?: string }) => Promise<void>;
}

describe("support", { skip: noBrowser }, async () => {
  const upstream = await startHostileUpstream();
  const fixture = await startBrowserFixture({ PENNYBLACK_SEARXNG_URL: upstream.url });
  const { db, server } = fixture;
  after(async () => {
    await fixture.close();
    await upstream.close();
  });
  const email = "quinn@quay.test";
  const request = {
    accountName: "Quay Research",
    email,
    personName: "Quinn",
    openingCredit: 50_000_000n,
    act: testAct,
  };
  const { walletId, liveKey, managementKey } = await signUp(db.owner, request, { pepper: testPepper });
  const search = async (key: string, headers: Record<string, string> = {}): Promise<string> =>
    (await server.search(key, { query: "cats" }, headers)).headers.get("request-id") ?? "";

  await upstream.behave("slow_headers", { everyMs: 1_200 });
  const slow = await search(liveKey);
  await upstream.behave("status_500");
  const failed = await search(liveKey);
  await upstream.behave("ok");
  const first = await search(liveKey, { "idempotency-key": "order-7" });
  const second = await search(liveKey, { "idempotency-key": "order-7" });
  const limitsId = await seedKeyLimits(db.owner, walletId, { day: 10_000n });
  const agent = await createTestKey(db, { walletId, name: "agent", limitsId });
  await search(agent.key);
  const stopped = await search(agent.key);
  await server.manage(managementKey, "PATCH", `/v1/keys/${agent.id}`, { budget: { day: "0.02" } });
  await until("the refusal and the replay are stored", async () => {
    const { rows } = await db.owner.query("select from pb.unheld_requests where id = any ($1)", [[second, stopped]]);
    return rows.length === 2;
  });

  async function answer(question: string, act: (hands: Hands) => Promise<Locator>): Promise<void> {
    await fixture.visit(async (page) => {
      await fixture.signInOperator(page);
      await page.getByRole("link", { name: "Accounts" }).first().click();
      await page.getByRole("table").waitFor();
      let clicks = 0;
      const click = async (target: Locator): Promise<void> => {
        clicks += 1;
        await target.click();
      };
      const startedMs = performance.now();
      const found = await act({
        page,
        click,
        async find({ text, isRecent = false, outcome }) {
          await page.getByLabel("Request ID, wallet, key, email or name").fill(text);
          if (isRecent) await page.getByLabel("Time, ±10 minutes").fill(localMinute());
          if (outcome !== undefined) {
            clicks += 1;
            await page.getByLabel("Outcome").selectOption(outcome);
          }
          await click(page.getByRole("button", { name: "Find" }));
        },
      });
      await found.waitFor();
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      console.log(`${question}: ${clicks} clicks, ${seconds} s`);
      const row = documented.split("\n").find((line) => line.startsWith(`| "${question}" |`));
      assert.equal(Number(row?.split("|").at(-3)), clicks, `docs/runbooks/support-questions.md: ${question}`);
    });
  }

  function localMinute(): string {
    return new Date().toLocaleString("sv").slice(0, 16).replace(" ", "T");
  }

  const rowOf = (page: Page, id: string): Locator => page.getByRole("row").filter({ hasText: id });
  const openAccount = (page: Page): Locator => page.getByRole("link", { name: "Account pages" });

  test("a slow search is found by address and time, with the step that was slow", () =>
    answer("My search at 14:03 was slow", async ({ page, click, find }) => {
      await find({ text: email, isRecent: true });
      await rowOf(page, slow)
        .getByText(/^\d+\.\d+ s$/)
        .waitFor();
      await click(rowOf(page, slow).getByRole("button"));
      await page.getByText("searxng", { exact: true }).waitFor();
      return page.getByRole("listitem").filter({ hasText: /^Upstream\s*\d+\.\d+ s$/ });
    }));

  test("a retry with the same Idempotency-Key is listed as a replay that was not charged", () =>
    answer("Was I charged twice?", async ({ page, find }) => {
      await find({ text: email, isRecent: true });
      await rowOf(page, first).getByText("$0.01").waitFor();
      await rowOf(page, second).getByText("replayed").waitFor();
      return rowOf(page, second).getByText("$0.00");
    }));

  test("a failed search was not charged", () =>
    answer("Was I charged for a search that failed?", async ({ page, find }) => {
      await find({ text: failed });
      await page.getByRole("heading", { name: "Failed (upstream error)" }).waitFor();
      await page.getByText("released, live").waitFor();
      await page.getByText("searxng:status_500").waitFor();
      return page.getByText("Not charged.");
    }));

  test("an unknown id gets a separate answer", () =>
    answer("What happened to this request?", async ({ page, find }) => {
      await find({ text: randomUUIDv7() });
      await page.getByText("Unknown ID").waitFor();
      return page.getByText(/It was not charged here\./);
    }));

  test("the refusals of a key say why an agent stopped, and the key is not part of the URL", () =>
    answer("Why did my agent stop?", async ({ page, find }) => {
      await find({ text: agent.key, outcome: "failed" });
      await rowOf(page, stopped).getByText("key_budget_spent").waitFor();
      assert.equal(page.url().includes(agent.key.slice(0, 14)), false);
      return rowOf(page, stopped);
    }));

  test("the list of changes names who changed a limit, with both values", () =>
    answer("Who changed this limit?", async ({ page, click, find }) => {
      await find({ text: agent.key });
      await click(page.getByRole("button", { name: "Open wallet of Quay Research" }));
      const change = page.getByRole("table", { name: "Changes" }).getByRole("row").filter({ hasText: "key: change" });
      await change.getByText("management", { exact: true }).waitFor();
      return change.getByText(/0\.01.*→.*0\.02/);
    }));

  test("the ledger shows whether a payment arrived", () =>
    answer("I paid, but my balance did not change", async ({ page, click, find }) => {
      await find({ text: email });
      await click(openAccount(page));
      await click(page.getByRole("link", { name: "Ledger" }).first());
      return page.getByRole("row").filter({ hasText: "$50.00" }).first();
    }));

  test("usage by key shows which key made the searches", () =>
    answer("Which key made these searches?", async ({ page, click, find }) => {
      await find({ text: "harbour" });
      await click(openAccount(page));
      await click(page.getByRole("link", { name: "Usage" }).first());
      await click(page.getByText("Key", { exact: true }).first());
      return page.getByText("production agent").first();
    }));

  test("the team shows who has access", () =>
    answer("Who has access to my account?", async ({ page, click, find }) => {
      await find({ text: email });
      await click(openAccount(page));
      await click(page.getByRole("link", { name: "Team" }).first());
      return page.getByRole("table", { name: "Members" }).getByText(email);
    }));

  test("the keys show how much of each budget is left", () =>
    answer("How much may my agent still spend?", async ({ page, click, find }) => {
      await find({ text: agent.key });
      await click(openAccount(page));
      await click(page.getByRole("link", { name: "Keys" }).first());
      return page.getByRole("row", { name: /^agent/ }).getByText(/\$0\.01.*\$0\.02/);
    }));
});
