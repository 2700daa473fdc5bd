import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seal, unseal } from "../../src/lib/seal.ts";
import { type Browser, createConsoleFixture, publicUrl, someone } from "../support/console-fixture.ts";
import { startOpenidProvider, type Visitor } from "../support/services/openid-provider.ts";
import { type Reply, testSecrets } from "../support/services/server.ts";

// Sign-in through a real OpenID Connect provider on loopback.

const provider = await startOpenidProvider(publicUrl);
const fixture = await createConsoleFixture(provider.settings);
const { db } = fixture;

after(async () => {
  await fixture.close();
  await provider.close();
});

function visitorOf(email: string): Visitor {
  return { email, cookies: new Map(), logins: 0 };
}

/** Starts a sign-in and returns the provider's authorization URL. */
async function startSignIn(browser: Browser, query = ""): Promise<string> {
  const { status, headers } = await browser.get(`sign-in/oidc${query}`);
  assert.equal(status, 302);
  return headers.get("location") ?? "";
}

/** Follows the provider's redirect. */
function followRedirect(browser: Browser, url: string): Promise<Reply> {
  assert.ok(url.startsWith(`${publicUrl}/console/api/sign-in/oidc/callback?`), url);
  return browser.open(url.slice(publicUrl.length));
}

async function signIn(browser: Browser, visitor: Visitor, query = ""): Promise<Reply> {
  return followRedirect(browser, await provider.visit(await startSignIn(browser, query), visitor));
}

function assertRejected(reply: Reply, error: string): void {
  assert.equal(reply.status, 302);
  assert.equal(reply.headers.get("location"), `${publicUrl}/console/sign-in?error=${error}`);
  assert.ok(!reply.headers.getSetCookie().some((line) => /^pennyblack=[^;]/.test(line)), "a session was created");
}

async function email(browser: Browser): Promise<string | undefined> {
  return (await browser.get("session")).body.person?.email;
}

test("signs in with the verified address and returns to the requested page", async () => {
  const address = someone("ada");
  await fixture.openAccount(address);
  const browser = fixture.openBrowser();
  assert.deepEqual((await browser.get("session")).body.sign_in.oidc, { name: "OpenID Connect" });
  const url = new URL(await startSignIn(browser, "?return_to=/console/keys"));
  assert.equal(url.origin, provider.issuer);
  assert.equal(url.searchParams.get("code_challenge_method"), "S256");
  for (const name of ["state", "nonce", "code_challenge"])
    assert.ok((url.searchParams.get(name) ?? "").length > 40, name);
  const reply = await followRedirect(browser, await provider.visit(url.href, visitorOf(address)));
  assert.equal(reply.headers.get("location"), `${publicUrl}/console/keys`);
  assert.match(reply.headers.getSetCookie().join("\n"), /pennyblack=[\w-]{43};.*HttpOnly; SameSite=Lax/);
  assert.equal(await email(browser), address);
  assert.equal(browser.cookies.has("pennyblack-oidc"), false, "the pending sign-in is deleted");
});

test("an unverified address cannot sign in", async () => {
  const victim = someone("victim");
  await fixture.openAccount(victim);
  provider.unverified.add(victim);
  const browser = fixture.openBrowser();
  assertRejected(await signIn(browser, visitorOf(victim)), "email_not_verified");
  assert.equal(await email(browser), undefined);
});

test("rejects a callback with a wrong state, nonce or cookie, and a replayed one", async () => {
  const address = someone("ada");
  await fixture.openAccount(address);
  const [browser, other] = [fixture.openBrowser(), fixture.openBrowser()];

  const changed = new URL(await provider.visit(await startSignIn(browser), visitorOf(address)));
  changed.searchParams.set("state", "x".repeat(43));
  assertRejected(await followRedirect(browser, changed.href), "failed");

  // The nonce of the authorization request must match the one in the ID token.
  const authorization = new URL(await startSignIn(browser));
  authorization.searchParams.set("nonce", "chosen by an attacker");
  assertRejected(await followRedirect(browser, await provider.visit(authorization.href, visitorOf(address))), "failed");

  const answer = await provider.visit(await startSignIn(browser), visitorOf(address));
  assertRejected(await followRedirect(fixture.openBrowser(), answer), "failed");
  await startSignIn(other);
  assertRejected(await followRedirect(other, answer), "failed");
  const cookie = browser.cookies.get("pennyblack-oidc") ?? "";
  browser.cookies.set("pennyblack-oidc", `${cookie.slice(0, -2)}AA`);
  assertRejected(await followRedirect(browser, answer), "failed");

  browser.cookies.set("pennyblack-oidc", cookie);
  assert.equal((await followRedirect(browser, answer)).headers.get("location"), `${publicUrl}/console`);
  browser.cookies.set("pennyblack-oidc", cookie);
  assertRejected(await followRedirect(browser, answer), "failed");
  assert.equal(await email(browser), address, "the existing session is unchanged");
});

test("return_to cannot redirect to another site", async () => {
  for (const path of [
    "https://evil.test/",
    "//evil.test",
    "/console//evil.test",
    "/console/../evil",
    "/console/%2e%2e/evil",
    "/consoleevil",
    "/console\\evil",
    "/console/\nSet-Cookie:x",
    "/console/api/session",
    "/v1/keys",
    "javascript:alert(1)",
    "",
  ]) {
    const { status, body } = await fixture.openBrowser().get(`sign-in/oidc?return_to=${encodeURIComponent(path)}`);
    assert.deepEqual([status, body?.code], [400, "invalid_request"], path);
  }
  for (const path of ["/console", "/console/keys?mode=test", "/console/wallets/1/ledger"]) {
    assert.equal(
      (await fixture.openBrowser().get(`sign-in/oidc?return_to=${encodeURIComponent(path)}`)).status,
      302,
      path,
    );
  }
});

test("a remembered login is not fresh, and a fresh sign-in requires a new login", async () => {
  const address = someone("ada");
  const { walletId } = await fixture.openAccount(address);
  const [browser, visitor] = [fixture.openBrowser(), visitorOf(address)];
  await signIn(browser, visitor);
  await signIn(browser, visitor);
  assert.equal(visitor.logins, 1, "the second sign-in needed no login");
  assert.equal((await browser.get("session")).body.fresh_until, null);
  const make = () => browser.send("POST", `wallets/${walletId}/keys`, { mode: "test", name: "key" });
  assert.equal((await make()).body.code, "reauthentication_required");
  await signIn(browser, visitor, "?fresh=1");
  assert.equal(visitor.logins, 2);
  assert.ok((await browser.get("session")).body.fresh_until);
  assert.equal((await make()).status, 200);
});

test("rejects an old login when a fresh one was requested", async () => {
  const address = someone("ada");
  await fixture.openAccount(address);
  const [browser, visitor] = [fixture.openBrowser(), visitorOf(address)];
  await signIn(browser, visitor);
  const authorization = new URL(await startSignIn(browser, "?fresh=1"));
  assert.deepEqual(
    [authorization.searchParams.get("prompt"), authorization.searchParams.get("max_age")],
    ["login", "0"],
  );
  // Without these parameters the provider does not return auth_time.
  authorization.searchParams.delete("prompt");
  authorization.searchParams.delete("max_age");
  assertRejected(await followRedirect(browser, await provider.visit(authorization.href, visitor)), "not_fresh");
  assert.equal(visitor.logins, 1);

  // Move the start ten minutes into the future, so that the login is too old.
  const answer = await provider.visit(await startSignIn(browser, "?fresh=1"), visitor);
  const cookie = Buffer.from(browser.cookies.get("pennyblack-oidc") ?? "", "base64url");
  const pending = JSON.parse(unseal(testSecrets, "oidc sign-in", cookie));
  pending.startedMs += 600_000;
  const moved = seal(testSecrets, "oidc sign-in", JSON.stringify(pending)).toString("base64url");
  browser.cookies.set("pennyblack-oidc", moved);
  assertRejected(await followRedirect(browser, answer), "not_fresh");
});

test("unknown people cannot sign in while sign-up is closed", async () => {
  const stranger = someone("stranger");
  const browser = fixture.openBrowser();
  assertRejected(await signIn(browser, visitorOf(stranger)), "unknown_person");
  const { rowCount } = await db.owner.query("select from pb.people where email = $1", [stranger]);
  assert.equal(rowCount, 0);
});

test("an unavailable provider redirects to the sign-in page with an error", async () => {
  const unavailable = await createConsoleFixture({
    ...provider.settings,
    PENNYBLACK_OIDC_ISSUER: "http://127.0.0.1:1",
  });
  try {
    assertRejected(await unavailable.openBrowser().get("sign-in/oidc"), "unavailable");
  } finally {
    await unavailable.close();
  }
});
