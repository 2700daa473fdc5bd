import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { makeSignInLink } from "../../src/console/sessions.ts";
import { testAct } from "../support/data/test-act.ts";
import { noBrowser, openPage } from "./browser.ts";
import { startBrowserFixture } from "./browser-fixture.ts";

// Defenses against injected HTML and a stolen session cookie.

describe("browser security", { skip: noBrowser }, async () => {
  const fixture = await startBrowserFixture();
  const { demo, browser } = fixture;
  after(() => fixture.close());

  test("the content security policy blocks injected scripts", async () => {
    const { page, context } = await openPage(browser);
    await fixture.signIn(page, demo.ownerEmail);
    const blocked: string[] = [];
    page.on(
      "console",
      (message) => void (/Content Security Policy/.test(message.text()) && blocked.push(message.text())),
    );
    await page.evaluate(`(() => {
      const add = (make) => { const element = make(); document.body.append(element); };
      add(() => Object.assign(document.createElement("script"), { textContent: "window.ran = 'inline'" }));
      add(() => Object.assign(document.createElement("script"), { src: "data:text/javascript,window.ran='data'" }));
      add(() => Object.assign(document.createElement("script"), { src: "http://127.0.0.1:9/evil.js" }));
      const box = document.createElement("div");
      box.innerHTML = "<img src=x onerror=\\"window.ran = 'handler'\\"><a href=\\"javascript:window.ran='link'\\">x</a>";
      document.body.append(box);
      box.querySelector("a").click();
    })()`);
    await page.waitForTimeout(500);
    assert.equal(await page.evaluate("window.ran"), undefined);
    assert.ok(blocked.length >= 4, `the policy blocked ${blocked.length} attempts`);
    // Requests to other origins are blocked too.
    const result = await page.evaluate<string>(
      `fetch("http://127.0.0.1:9/steal").then(() => "sent", (error) => String(error))`,
    );
    assert.match(result, /Failed to fetch/);
    await context.close();
  });

  test("the search of the docs works under their policy and finds the page of a word first", async () => {
    const { page, context, errors } = await openPage(browser);
    await page.goto(`${fixture.server.url}/docs/quickstart`);
    await page.getByRole("button", { name: "Search" }).first().click();
    await page.getByRole("searchbox").fill("budget");
    const hit = page.locator("#localsearch-list a").first();
    await hit.waitFor();
    assert.match((await hit.textContent()) ?? "", /^#Budgets/);
    assert.deepEqual(errors, []);
    await context.close();
  });

  test("opening a sign-in link does nothing until the button is pressed, and the page shows whose link it is", async () => {
    const link = await makeSignInLink(fixture.db.owner, {
      email: demo.ownerEmail,
      publicUrl: fixture.server.url,
      ttlMinutes: 5,
      act: testAct,
    });
    assert.ok(link);
    const sent: string[] = [];
    // A mail scanner opens the page, runs its scripts and leaves.
    for (let visits = 0; visits < 2; visits += 1) {
      const { page, context } = await openPage(browser);
      page.on("request", (request) => void (request.method() !== "GET" && sent.push(request.url())));
      await page.goto(link);
      await page.getByText(`This link signs you in as ${demo.ownerEmail}.`).waitFor();
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await page.waitForLoadState("networkidle");
      assert.deepEqual(await context.cookies(), []);
      assert.ok(!page.url().includes("token"), "the token is removed from the address bar");
      await context.close();
    }
    assert.deepEqual(sent, []);
    const { page, context } = await openPage(browser);
    await page.goto(link);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(/\/console\/w\//);
    await context.close();
  });

  test("a link for another person shows who is signed in, and keeps that session until the button is pressed", async () => {
    const { page, context } = await openPage(browser);
    await fixture.signIn(page, demo.ownerEmail);
    const [session] = await context.cookies();
    const other = "mallory@example.org";
    await fixture.db.owner.query("select pb.find_or_create_person($1, 'Mallory')", [other]);
    const link = await makeSignInLink(fixture.db.owner, {
      email: other,
      publicUrl: fixture.server.url,
      ttlMinutes: 5,
      act: testAct,
    });
    assert.ok(link);
    await page.goto(link);
    await page.getByText(`You're signed in as ${demo.ownerEmail}`).waitFor();
    await page.getByText(`This link signs you in as ${other}.`).waitFor();
    assert.equal((await context.cookies())[0]?.value, session?.value);
    await context.close();
  });

  test("scripts cannot read the session cookie, and API responses are not cached", async () => {
    const { page, context } = await openPage(browser);
    const cached: string[] = [];
    page.on("response", (response) => {
      const { "cache-control": cache = "" } = response.headers();
      if (response.url().includes("/console/api/") && cache !== "no-store") cached.push(`${response.url()}: ${cache}`);
    });
    await fixture.signIn(page, demo.ownerEmail);
    for (const path of ["", "/keys", "/ledger", "/top-up", "/alerts", "/team"]) {
      await page.goto(`${fixture.server.url}/console/w/${demo.walletId}${path}`);
      await page.waitForLoadState("networkidle");
    }
    assert.deepEqual(cached, []);
    assert.equal(await page.evaluate("document.cookie"), "");
    const cookies = await context.cookies();
    assert.deepEqual(
      cookies.map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite })),
      [{ httpOnly: true, sameSite: "Lax" }],
    );
    const stored = await page.evaluate<string>("JSON.stringify({ ...localStorage, ...sessionStorage })");
    assert.doesNotMatch(stored, /pb_(?:live|test|mgmt)_/);
    await context.close();
  });

  test("a stale session cannot create a key", async () => {
    await fixture.visit(async (page) => {
      await fixture.signIn(page, demo.ownerEmail);
      await fixture.db.owner.query("update pb.sessions set authenticated_at = authenticated_at - interval '1 hour'");
      const before = await countKeys();
      const answer = await page.request.post(`${fixture.server.url}/console/api/wallets/${demo.walletId}/keys`, {
        headers: { "x-pennyblack-csrf": "1", origin: fixture.server.url },
        data: { mode: "live", name: "mine now" },
      });
      assert.equal(answer.status(), 403);
      assert.equal(((await answer.json()) as { code: string }).code, "reauthentication_required");
      assert.equal(await countKeys(), before);

      await page.goto(`${fixture.server.url}/console/w/${demo.walletId}/keys`);
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByLabel("Name").fill("mine now");
      await page.getByRole("button", { name: "Create key" }).last().click();
      await page.getByText("Confirm your identity").waitFor();
      assert.equal(await countKeys(), before);
    });
  });

  async function countKeys(): Promise<bigint> {
    const { rows } = await fixture.db.owner.query<{ count: bigint }>("select count(*) from pb.keys");
    return rows[0]?.count ?? 0n;
  }
});
