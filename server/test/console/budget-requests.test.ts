import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Pennyblack } from "@pennyblack/sdk";
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import type { Page } from "playwright-core";
import { createWebSearch } from "../../../ai-sdk/src/web-search.ts";
import { makeStale, openTestAccount, someone } from "../support/console-fixture.ts";
import { seedKeyLimits, seedSharedBudget } from "../support/data/seed-wallet.ts";
import { shiftCalendar } from "../support/data/shift-calendar.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { createTestKey } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

// An agent asks for more of a spent budget, and a person decides in a real browser.

describe("requests for a higher budget", { skip: noBrowser }, async () => {
  const upstream = await startFixtureUpstream("brave", "ok");
  const fixture = await startBrowserFixture({ PENNYBLACK_BRAVE_KEY: "key", ...replaceUrl("brave", upstream.url) });
  const { db, server } = fixture;

  after(async () => {
    await fixture.close();
    await upstream.close();
  });

  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };

  /** An agent that searches once per call, always with the same tool. Returns what its model receives. */
  function createAgent(apiKey: string): () => Promise<string> {
    const client = new Pennyblack({ apiKey, baseUrl: server.url, maxRetries: 0 });
    const tools = { webSearch: createWebSearch({ client, increase: { amount: "0.02", hours: 2 } }) };
    const input = JSON.stringify({ query: "flood warning levels" });
    return async () => {
      const call = { type: "tool-call" as const, toolCallId: "1", toolName: "webSearch", input };
      const model = new MockLanguageModelV4({
        doGenerate: [
          { content: [call], finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] },
          {
            content: [{ type: "text", text: "Done." }],
            finishReason: { unified: "stop", raw: undefined },
            usage,
            warnings: [],
          },
        ],
      });
      await generateText({ model, tools, stopWhen: isStepCount(2), prompt: "Go." });
      return JSON.stringify(model.doGenerateCalls.at(-1)?.prompt.at(-1)?.content);
    };
  }

  const succeeded = /\d+ results\. Charged 0\.01 USD/;
  const asked = /key_budget_spent/;
  const waits = /The wallet's owner was asked and decides later\. Finish with what you have, or wait/;

  test("an agent asks, a person approves, the agent continues, and the raise ends", async () => {
    const email = someone("owner");
    const { walletId } = await openTestAccount(db, email);
    const budget = await seedSharedBudget(db.owner, walletId, { amount: 10_000n, name: "Research", period: "week" });
    const limitsId = await seedKeyLimits(db.owner, walletId, { shared: [budget] });
    const scopes = ["search", "budgets:request"] as const;
    const { key } = await createTestKey(db, { walletId, name: "research agent", limitsId, scopes });
    const search = createAgent(key);
    assert.match(await search(), succeeded);
    for (const received of [await search(), await search()]) {
      assert.match(received, asked);
      assert.match(received, waits);
    }

    await fixture.visit(async (page: Page) => {
      await fixture.signIn(page, email);
      await page.goto(`${server.url}/console/w/${walletId}/budgets`);
      const requests = page.getByRole("table", { name: "Requests" });
      await requests.getByText("$0.02 more for 2 hours").waitFor();
      assert.equal(await requests.getByRole("button", { name: /^Approve/ }).count(), 1, "one request for two refusals");
      await requests.getByRole("button", { name: /^Approve/ }).click();
      const dialog = page.getByRole("dialog", { name: "Raise Research" });
      await dialog.getByText("$0.03 per week").waitFor();
      await dialog.getByRole("button", { name: "Approve" }).click();
      await page.getByText("Research has $0.02 more").waitFor();
      const row = page.getByRole("table", { name: "Budgets" }).getByRole("row").filter({ hasText: "Research" });
      await row.getByText("$0.01 of $0.03 this week").waitFor();
      await row.getByText("Includes $0.02 more").waitFor();

      assert.match(await search(), succeeded);
      assert.match(await search(), succeeded);
      assert.match(await search(), waits, "asks again after a search that succeeded");
      await requests.getByRole("button", { name: /^Deny/ }).click();
      await page.getByRole("dialog", { name: "Deny the request" }).getByRole("button", { name: "Deny" }).click();
      await requests.waitFor({ state: "detached" });
      await search();
      const open = "select from pb.budget_requests where wallet_id = $1 and state = 'open'";
      assert.equal((await db.owner.query(open, [walletId])).rows.length, 0, "a denial is not followed by a request");
    });

    await db.owner.query("update pb.budgets set raise_ends_at = clock_timestamp() where id = $1", [budget]);
    await shiftCalendar(db.owner, [walletId], "next week");
    assert.match(await search(), succeeded);
    assert.match(await search(), waits, "the amount without the raise");
  });

  test("an approval asks for a new sign-in if the last one is not recent", async () => {
    const email = someone("away");
    const { walletId } = await openTestAccount(db, email);
    const budget = await seedSharedBudget(db.owner, walletId, { amount: 10_000n, name: "Research", period: "week" });
    const limitsId = await seedKeyLimits(db.owner, walletId, { shared: [budget] });
    const scopes = ["search", "budgets:request"] as const;
    const { key } = await createTestKey(db, { walletId, name: "agent", limitsId, scopes });
    const body = { budget, amount: "1.00", hours: 24 };
    assert.equal((await server.manage(key, "POST", "/v1/key/budget-requests", body)).status, 200);
    await fixture.visit(async (page: Page) => {
      await fixture.signIn(page, email);
      await makeStale(db, email);
      await page.goto(`${server.url}/console/w/${walletId}/budgets`);
      await page.getByRole("button", { name: /^Approve/ }).click();
      await page.getByRole("dialog", { name: "Raise Research" }).getByRole("button", { name: "Approve" }).click();
      await page.getByRole("dialog", { name: /sign in|confirm/i }).waitFor();
      const { rows } = await db.owner.query("select from pb.budgets where id = $1 and raise_micros is null", [budget]);
      assert.equal(rows.length, 1);
    });
  });
});
