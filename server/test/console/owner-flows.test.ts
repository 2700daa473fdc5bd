import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { addTestMember, openTestAccount, someone } from "../support/console-fixture.ts";
import { startEmulatedStripe } from "../support/payments/emulated-stripe.ts";
import { webhookSecret, webhookSettings } from "../support/payments/payment-fixture.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { createTestKey, createTestWallet } from "../support/services/server.ts";
import { startFixtureUpstream } from "../support/upstreams/fixture-upstream.ts";
import { noBrowser } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

/** In the page, because the browser's driver looks only twice a second. */
function untilShown(page: { textContent: string | null }, text: string): Promise<void> {
  return new Promise((resolve) => {
    const look = (): unknown => (page.textContent?.includes(text) ? resolve() : setTimeout(look, 10));
    look();
  });
}

/** Pages load their data again every minute. Without that, only live updates can show a change. */
const withoutReloads = `
  const start = window.setInterval;
  window.setInterval = (run, ms, ...rest) => (ms >= 60_000 ? 0 : start(run, ms, ...rest));`;

// The owner console in a real browser, against a real server. Every test also fails on console errors, exceptions and
// policy violations.

describe("owners", { skip: noBrowser }, async () => {
  const stripe = await startEmulatedStripe();
  const upstream = await startFixtureUpstream("brave", "ok");
  const fixture = await startBrowserFixture({
    ...webhookSettings(stripe.url),
    PENNYBLACK_SIGN_UP: "open",
    PENNYBLACK_BRAVE_KEY: "key",
    ...replaceUrl("brave", upstream.url),
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

      await page.getByRole("button", { name: "Create a key for an assistant" }).click();
      const setup = page.getByLabel("settings for Claude Code", { exact: true });
      await setup.filter({ hasText: `${server.url}/mcp` }).waitFor();
      await page.getByRole("heading", { name: /^Set a budget.*done$/ }).waitFor();
      const assistantKey = /pb_live_\w+/.exec(await setup.innerText())?.[0] ?? "";
      assert.equal((await server.search(assistantKey, { query: "locks" })).status, 402, "an empty wallet");
      await page.getByRole("heading", { name: /^Connect an assistant.*done$/ }).waitFor();

      await page.getByRole("button", { name: "Go to overview" }).click();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      const latest = page.getByRole("region", { name: "Latest searches" });
      await latest.getByRole("link", { name: headers.get("request-id") ?? "no id" }).waitFor();
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

  test("inspects the ranking of a page: its rule or list, and how to object", async () => {
    await visit(demo.ownerEmail, async (page) => {
      await page.goto(at("lens"));
      const inspect = async (text: string): Promise<void> => {
        await page.getByLabel("URL or domain").fill(text);
        await page.getByRole("button", { name: "Inspect" }).click();
      };
      await inspect("https://www.tva.com/energy");
      const list = page.getByRole("region", { name: "tva.com" });
      await list.getByText("Established source: federal government").waitFor();
      assert.match((await list.getByRole("link").first().getAttribute("href")) ?? "", /^https:\/\/github\.com\//);
      await page.getByText("Ask its authors to correct it").waitFor();
      await page.getByLabel("Lens", { exact: true }).selectOption("programming");
      await inspect("docs.python.org");
      await page.getByText("$tier=A,host=docs.python.org").waitFor();
      assert.match(page.url(), /lens=programming/);
      await inspect("unknown-site.example");
      await page.getByText("No rule or list names this site").waitFor();
      await page.goto(at("lens?url=no%20url"));
      await page.getByText("Enter a URL or a domain, such as example.org").waitFor();
    });
  });

  test("the playground links each result to the lens inspector", async () => {
    await visit(demo.ownerEmail, async (page) => {
      await page.goto(at("playground"));
      await page.getByPlaceholder("What do you want to find?").fill("postgresql advisory locks");
      await page.getByRole("button", { name: /^Search/ }).click();
      await page.getByRole("tab", { name: "Ranking" }).click();
      const link = page.getByRole("link", { name: /^Inspect / }).first();
      const [url, path] = [await link.getAttribute("aria-label"), await link.getAttribute("href")];
      const opened = page.context().waitForEvent("page");
      await link.click();
      const inspector = await opened;
      await inspector.getByRole("heading", { name: "How to object" }).waitFor();
      assert.equal(new URL(path ?? "", server.url).searchParams.get("lens"), "base");
      assert.equal(`Inspect ${await inspector.getByLabel("URL or domain").inputValue()}`, url);
    });
  });

  test("rotates a key with a grace period and revokes it, and the API agrees", async () => {
    const old = await createTestKey(db, { walletId: demo.walletId, mode: "test", name: "to rotate" });
    await visit(demo.ownerEmail, async (page) => {
      await page.goto(at("keys"));
      const toTestMode = page.getByRole("button", { name: "Switch to test mode" });
      await toTestMode.waitFor();
      assert.equal(await page.getByText("to rotate").count(), 0, "live mode lists no test keys");
      await toTestMode.click();
      assert.equal(await page.getByText("production agent").count(), 0, "test mode lists no live keys");
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
      await page.getByRole("button", { name: "Suggested: $5.00 per day" }).click();
      assert.equal(await page.getByLabel("Per day", { exact: true }).inputValue(), "5");
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

  test("an owner copies an invitation link, and the invited person signs in and joins", async () => {
    const guest = "guest@harbour.example";
    let link = "";
    await visit(demo.ownerEmail, async (page) => {
      await page.goto(at("team"));
      await page.getByRole("button", { name: "Invite member" }).click();
      await page.getByLabel("Email").fill(guest);
      await page.getByRole("button", { name: "Create invitation" }).click();
      link = await page.getByLabel("invitation link", { exact: true }).innerText();
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByRole("button", { name: `Copy invitation link for ${guest}` }).waitFor();
      await page.goto(link);
      await page.getByText(`You're signed in as ${demo.ownerEmail}.`).waitFor();
      await page.getByRole("heading", { name: "Invitation not valid" }).waitFor();
    });
    await fixture.visit(async (page) => {
      await page.goto(link);
      await page.getByText("sign in with the address that was invited").waitFor();
      await fixture.signIn(page, guest);
      await page.goto(link);
      await page.getByLabel("Your name").fill("Gus Guest");
      await page.getByRole("button", { name: "Join account" }).click();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
    });
  });

  test("the command palette runs actions with the keyboard", async () => {
    await visit(demo.ownerEmail, async (page) => {
      const choose = async (text: string, option: string): Promise<void> => {
        await page.keyboard.press("Control+k");
        const input = page.getByRole("combobox");
        await input.fill(text);
        const selected = page.getByRole("option", { name: option, selected: true });
        await selected.waitFor();
        assert.equal(await input.getAttribute("aria-activedescendant"), await selected.getAttribute("id"));
        await page.keyboard.press("Enter");
      };
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await choose("new key", "Create key");
      await page.getByRole("dialog", { name: "Create key" }).getByRole("button", { name: "Cancel" }).click();
      await choose("test mode", "Switch to test mode");
      await page.getByRole("complementary", { name: "Test mode" }).waitFor();
      await choose("find", "Find a request by ID");
      const id = "01a1ddde-19c8-7665-8c90-c25bc586c7ec";
      await page.getByRole("combobox", { name: "Request ID" }).fill(`"${id}"`);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Search not found" }).waitFor();
    });
  });

  test("another tenant's wallet looks like one that does not exist", async () => {
    const stranger = await createTestWallet(db, "1.00");
    await visit(demo.ownerEmail, async (page) => {
      for (const walletId of [stranger.walletId, "01a1ddde-19c8-7665-8c90-c25bc586c7ec"]) {
        await page.goto(at("keys", walletId));
        await page.getByRole("heading", { name: "Not found" }).waitFor();
        assert.ok(await page.getByRole("link", { name: "Usage" }).isVisible(), "the navigation stays");
        const answer = await page.request.get(`${server.url}/console/api/wallets/${walletId}/keys`);
        assert.equal(answer.status(), 404);
        assert.doesNotMatch(await answer.text(), /management/);
      }
      await page.goto(at("no-such-page"));
      await page.getByRole("link", { name: "Go to overview" }).click();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
    });
  });

  test("figures equal the ledger immediately, and open pages show the next search without a reload", async () => {
    const email = someone("live");
    const { walletId } = await openTestAccount(db, email);
    const { key } = await createTestKey(db, { walletId });
    await statuses(...Array.from({ length: 18 }, () => key));
    await visit(email, async (page) => {
      await page.context().addInitScript({ content: withoutReloads });
      const usage = await page.context().newPage();
      const ledger = await page.context().newPage();
      const assertShown = async (): Promise<void> => {
        const { searches, spent, balance } = await readLedger(walletId);
        await page.getByText(`$${spent} spent in 24 hours`).waitFor();
        await page.getByRole("banner").getByText(`$${balance}`).waitFor();
        await page.locator("figcaption").getByText(`$${spent}`).waitFor();
        await usage.getByText("Charged", { exact: true }).locator("..").getByText(`$${spent}`).waitFor();
        await usage.getByText("Searches", { exact: true }).locator("..").getByText(searches, { exact: true }).waitFor();
        await ledger
          .getByRole("table")
          .getByText("Search", { exact: true })
          .nth(Number(searches) - 1)
          .waitFor();
      };
      await Promise.all([page.goto(at("", walletId)), usage.goto(at("usage", walletId))]);
      await ledger.goto(at("ledger", walletId));
      assert.equal((await readLedger(walletId)).searches, "18");
      await assertShown();

      assert.deepEqual(await statuses(key), [200]);
      await assertShown();
    });
  });

  test("a search refused by a spent run budget appears on the open overview, with its key, run, code and request", async (t) => {
    const email = someone("agent");
    const { walletId } = await openTestAccount(db, email);
    const { key } = await createTestKey(db, { walletId, name: "Report agent" });
    const run = { "search-run": "nightly-report; max=0.01" };
    assert.equal((await server.search(key, { query: "cats" }, run)).status, 200);
    await visit(email, async (page) => {
      await page.context().addInitScript({ content: withoutReloads });
      await page.goto(at("", walletId));
      const failures = page.locator("section").filter({ has: page.getByRole("heading", { name: "Recent failures" }) });
      await failures.getByText("No failures").waitFor();

      const { status, headers } = await server.search(key, { query: "cats" }, run);
      assert.equal(status, 403);
      const requestId = headers.get("request-id") ?? assert.fail();
      const refusedAt = performance.now();
      await page.locator("html").evaluate(untilShown, requestId);
      t.diagnostic(`shown after ${Math.round(performance.now() - refusedAt)} ms`);
      const row = failures.getByRole("listitem").filter({ hasText: requestId });
      assert.match(
        await row.innerText(),
        /run_budget_spent\s+Refused, not charged, key Report agent, run nightly-report, request/,
      );
      await page.getByText("1 refused").first().waitFor();
      await row.getByRole("link", { name: requestId }).click();
      await page.getByRole("heading", { name: "Refused request" }).waitFor();
    });
  });

  test("a bar leads to its searches and to a receipt, whose link works for members of the account only", async () => {
    const email = someone("drill");
    const { accountId, walletId } = await openTestAccount(db, email);
    const colleague = someone("colleague");
    await addTestMember(db, accountId, colleague, "viewer");
    const { id: keyId, key } = await createTestKey(db, { walletId, name: "agent" });
    await statuses((await createTestKey(db, { walletId, name: "other" })).key);
    const answer = await server.search(key, { query: "cats", category: "gov" });
    const requestId = answer.headers.get("request-id") ?? "no id";
    const receipt = at(`searches/${requestId}`, walletId);
    await visit(email, async (page) => {
      await page.goto(at("", walletId));
      await page.getByText("agent", { exact: true }).waitFor();
      // The last bar of the chart is today, with one part for each key.
      await page.locator(".recharts-bar-rectangle rect").last().click();
      await page.waitForURL(/bucket=/);
      const list = page.getByRole("table", { name: "Searches" });
      await list.getByRole("link").first().waitFor();
      const selected = new URL(page.url()).searchParams.get("key");
      assert.equal(await list.getByText(selected === keyId ? "agent" : "other", { exact: true }).count(), 1);
      assert.equal(await list.getByRole("row").count(), 2);

      // The same with the keyboard: the table has a link for each bar and each of its parts.
      await page.goto(at("usage?group=category", walletId));
      await page
        .getByRole("row")
        .filter({ hasText: "so far" })
        .getByRole("link", { name: "1", exact: true })
        .first()
        .focus();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: /^Remove filter (?:Category: gov|No category)/ }).waitFor();
      await page.goto(at("usage?category=gov", walletId));
      await list.getByRole("link", { name: requestId }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Timeline" }).waitFor();
      assert.equal(page.url(), receipt);
      await page.goto(at(`ledger?request_id=${requestId}`, walletId));
      await page.waitForURL(receipt);
    });
    await visit(colleague, async (page) => {
      await page.goto(receipt);
      await page.getByText("Balance after").locator("..").getByText("$0.98").waitFor();
      await page.getByText("Charged $0.01", { exact: true }).waitFor();
      await page.getByRole("table", { name: "Entries of this search" }).getByText(requestId).waitFor();
    });
    await visit(demo.ownerEmail, async (page) => {
      await page.goto(receipt);
      await page.getByRole("heading", { name: "Not found" }).waitFor();
      await page.goto(at(`searches/${requestId}`));
      await page.getByRole("heading", { name: "Search not found" }).waitFor();
    });
  });

  test("times follow the choice between the browser's zone and UTC", async () => {
    const kolkata = { timezoneId: "Asia/Kolkata" };
    await fixture.visit(async (page) => {
      await fixture.signIn(page, demo.ownerEmail);
      await page.goto(at("ledger"));
      const time = page.getByRole("table").locator("time").first();
      await time.filter({ hasText: "GMT+5:30" }).waitFor();
      await page.getByRole("button", { name: /switch wallet/ }).click();
      await page.getByRole("menuitem", { name: "Times: local (GMT+5:30)" }).click();
      await time.filter({ hasText: "UTC" }).waitFor();
      await page.goto(at("usage?span=24h"));
      await page.getByRole("columnheader", { name: "Hour (UTC)" }).waitFor();
    }, kolkata);
  });

  async function readLedger(walletId: string): Promise<{ searches: string; spent: string; balance: string }> {
    const { rows } = await db.owner.query<{ searches: string; spent: string; balance: string }>(
      `select count(*)::text as searches, to_char(sum(t.amount_micros) / 1000000.0, 'FM0.00') as spent,
         to_char(min(w.credited_micros - w.debited_micros) / 1000000.0, 'FM0.00') as balance
       from pb.transfers t join pb.wallets w on w.id = t.wallet_id where w.id = $1 and t.kind = 'capture'`,
      [walletId],
    );
    return rows[0] ?? assert.fail("no wallet");
  }

  async function statuses(...keys: string[]): Promise<number[]> {
    const found: number[] = [];
    for (const key of keys) found.push((await server.search(key, { query: "cats" })).status);
    return found;
  }
});
