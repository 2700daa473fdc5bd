import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { startEmulatedStripe } from "../support/payments/emulated-stripe.ts";
import { webhookSecret, webhookSettings } from "../support/payments/payment-fixture.ts";
import { createTestKey, createTestWallet } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

// The owner console in a real browser, against a real server. Every test also fails on console errors, exceptions and
// policy violations.

describe("owners", { skip: noBrowser }, async () => {
  const stripe = await startEmulatedStripe();
  const upstream = await startFixtureUpstream("brave", "ok");
  const fixture = await startBrowserFixture({
    ...webhookSettings(stripe.url),
    PENNYBLACK_SIGN_UP: "open",
    PENNYBLACK_BRAVE_KEY: "key",
    PENNYBLACK_BRAVE_URL: upstream.url,
  });
  await stripe.sendEventsTo(`${fixture.server.url}/v1/payments/stripe/webhook`, webhookSecret);
  const { db, server, demo } = fixture;

  after(async () => {
    await fixture.close();
    await upstream.close();
    await stripe.close();
  });

  function visit(email: string, flow: (page: Page) => Promise<void>): Promise<void> {
    return fixture.visit(async (page) => {
      await fixture.signIn(page, email);
      await flow(page);
    });
  }

  const at = (path: string, walletId = demo.walletId): string => `${server.url}/console/w/${walletId}/${path}`;

  test("a new person creates an account and a key, and sees the first search arrive", async () => {
    await db.owner.query("insert into pb.people (email, name) values ('new@harbour.example', '')");
    await visit("new@harbour.example", async (page) => {
      await page.getByLabel("Account name").fill("Lighthouse");
      await page.getByLabel("Your name").fill("Nora Lind");
      await page.getByRole("button", { name: "Create account" }).click();
      await page.getByRole("button", { name: "Create test key" }).click();
      const code = page.getByLabel("curl example", { exact: true });
      await code.filter({ hasText: "pb_test_" }).waitFor();
      const key = /pb_test_\w+/.exec(await code.innerText())?.[0] ?? "";
      await page.getByText("Waiting for your first search.").waitFor();

      const { status, headers } = await server.search(key, { query: "postgresql advisory locks", n: 3 });
      assert.equal(status, 200);
      await page.getByText("Your first search was received").waitFor();
      await page.getByText(headers.get("request-id") ?? "no id").waitFor();
      await page.getByRole("button", { name: "Go to overview" }).click();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
    });
  });

  test("a top-up is paid on the processor's page and added to the balance", async () => {
    await visit(demo.ownerEmail, async (page) => {
      await page.goto(at("top-up"));
      await page.getByLabel("Custom amount").fill("25");
      await page.getByRole("button", { name: "Pay $25.00" }).click();
      await page.waitForURL(/checkout/);
      const checkoutUrl = page.url();
      const before = await fixture.readBalance();
      await stripe.pay(checkoutUrl);
      await page.goto(at("top-up"));
      await page.getByText("$25.00 received").waitFor();
      assert.equal(await fixture.readBalance(), before + 25_000_000n);
    });
  });

  test("rotates a key with a grace period and revokes it, and the API agrees", async () => {
    const old = await createTestKey(db, { walletId: demo.walletId, mode: "test", name: "to rotate" });
    await visit(demo.ownerEmail, async (page) => {
      await page.goto(at("keys"));
      await page.getByRole("button", { name: "Actions for to rotate" }).click();
      await page.getByRole("menuitem", { name: "Rotate" }).click();
      await page.getByLabel("1 hour").check();
      await page.getByRole("button", { name: "Rotate key" }).click();
      const made = (await page.getByText(/^pb_test_\w{20,}$/).innerText()).trim();
      await page.getByText(/Expires in (?:59|60) min/).waitFor();
      await page.getByRole("button", { name: "I've saved it" }).click();
      assert.deepEqual(await statuses(old.key, made), [200, 200]);
      await page.getByText(made).waitFor({ state: "detached" });

      await page.getByRole("button", { name: "Actions for to rotate" }).first().click();
      await page.getByRole("menuitem", { name: "Revoke" }).click();
      const revoke = page.getByRole("button", { name: "Revoke key" });
      assert.ok(await revoke.isDisabled(), "the name must be typed first");
      await page.getByLabel("Type to rotate to confirm").fill("to rotate");
      await revoke.click();
      await revoke.waitFor({ state: "detached" });
      const after = await statuses(old.key, made);
      assert.deepEqual(new Set(after), new Set([200, 401]));
    });
  });

  test("shows when a key's budget is spent", async () => {
    await visit(demo.ownerEmail, async (page) => {
      await page.goto(at("keys"));
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByLabel("Name").fill("two cents");
      await page.getByLabel("Total", { exact: true }).fill("0.02");
      await page.getByRole("button", { name: "Create key" }).last().click();
      const key = (await page.getByText(/^pb_live_\w{20,}$/).innerText()).trim();
      await page.getByRole("button", { name: "I've saved it" }).click();
      assert.deepEqual(await statuses(key, key, key), [200, 200, 403]);
      await page.reload();
      const row = page.getByRole("row").filter({ hasText: "two cents" });
      await row.getByText("$0.02 of $0.02").waitFor();
      await row.getByText("Rejects searches until you raise it").waitFor();
      await row.getByText("Budget spent").waitFor();
    });
  });

  test("another tenant's wallet looks like one that does not exist", async () => {
    const stranger = await createTestWallet(db, "1.00");
    await visit(demo.ownerEmail, async (page) => {
      for (const walletId of [stranger.walletId, "01a1ddde-19c8-7665-8c90-c25bc586c7ec"]) {
        await page.goto(at("keys", walletId));
        await page.getByRole("heading", { name: "Not found" }).waitFor();
        const answer = await page.request.get(`${server.url}/console/api/wallets/${walletId}/keys`);
        assert.equal(answer.status(), 404);
        assert.doesNotMatch(await answer.text(), /management/);
      }
    });
  });

  async function statuses(...keys: string[]): Promise<number[]> {
    const found: number[] = [];
    for (const key of keys) found.push((await server.search(key, { query: "cats" })).status);
    return found;
  }
});
